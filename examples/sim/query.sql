SELECT category, SUM(ht1) AS ht1
FROM records
GROUP BY category
ORDER BY ht1 DESC
LIMIT 10
