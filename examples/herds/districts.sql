SELECT state, district, SUM(cows, weight => 2) AS cows, AVG(rent) AS rent
FROM farms
GROUP BY state, district
ORDER BY cows DESC
LIMIT 20
