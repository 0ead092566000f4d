SELECT county, SUM(pay) AS pay
FROM establishments
GROUP BY county
ORDER BY pay DESC
