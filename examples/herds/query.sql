SELECT state, SUM(cows, weight => 2) AS cows, AVG(rent) AS rent
FROM farms
GROUP BY state
ORDER BY cows DESC
