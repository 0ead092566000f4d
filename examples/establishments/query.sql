SELECT sector, COUNT(*) AS establishments, SUM(employees) AS employees, SUM(pay) AS pay
FROM establishments
GROUP BY sector
ORDER BY pay DESC
