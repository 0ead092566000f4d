SELECT sector, COUNT(*) AS establishments, SUM(pay, weight => 2) AS pay, MEDIAN(pay) AS median_pay,
  PERCENTILE_CONT(pay, 0.9) AS high_pay
FROM establishments
GROUP BY sector
ORDER BY pay DESC
