SELECT DATE(at) AS day, COUNT(DISTINCT user_id) AS dau FROM events GROUP BY day ORDER BY day

SELECT DATE_TRUNC(at, WEEK) AS week, platform, COUNT(DISTINCT user_id) AS users FROM events GROUP BY week, platform ORDER BY 1, 2

WITH daily AS (SELECT DATE(at) AS day, COUNT(DISTINCT user_id) AS dau FROM events GROUP BY day), monthly AS (SELECT COUNT(DISTINCT user_id) AS mau FROM events WHERE at >= TIMESTAMP '2026-01-01') SELECT day, dau / mau AS stickiness FROM daily CROSS JOIN monthly

SELECT variant, COUNT(DISTINCT user_id) AS users, AVG(IF(name = 'purchase', 1, 0)) AS rate FROM events GROUP BY variant

WITH per_user AS (SELECT user_id, variant, MAX(IF(name = 'purchase', 1, 0)) AS converted FROM events GROUP BY user_id, variant) SELECT variant, COUNT(*) AS users, AVG(converted, contribution_bounds_per_row => (0, 1)) AS conversion FROM per_user GROUP BY variant

SELECT COUNT(DISTINCT IF(name = 'visit', user_id, NULL)) AS visited, COUNT(DISTINCT CASE WHEN name = 'signup' THEN user_id END) AS signed, COUNT(DISTINCT user_id) FILTER (WHERE name = 'purchase') AS bought FROM events

SELECT plan, COUNT(*) AS n, ROUND(100 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent FROM users GROUP BY plan

SELECT DATE_TRUNC(u.signed_up_at, MONTH) AS cohort, DATE_DIFF(e.at, u.signed_up_at, MONTH) AS month, COUNT(DISTINCT e.user_id) AS active FROM events e JOIN users u ON e.user_id = u.user_id GROUP BY cohort, month ORDER BY cohort, month

SELECT c.continent, COUNT(DISTINCT u.user_id) AS users FROM users AS u LEFT JOIN countries AS c ON u.country = c.country GROUP BY c.continent

SELECT currency, SUM(amount) AS revenue, COUNT(*) AS payments, SUM(amount) / COUNT(DISTINCT user_id) AS arpu FROM payments WHERE NOT refunded GROUP BY currency

SELECT COUNT(*) FROM users WHERE user_id NOT IN (SELECT user_id FROM payments)

SELECT COUNT(*) AS churned FROM users u WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.user_id = u.user_id AND e.at >= TIMESTAMP '2026-06-01')

SELECT SPLIT_PART(version, '.', 1) AS major, COUNT(DISTINCT user_id) FROM events GROUP BY major ORDER BY 2 DESC

SELECT CASE WHEN n = 0 THEN 'none' WHEN n < 5 THEN 'some' ELSE 'many' END AS activity, COUNT(*) AS users FROM (SELECT u.user_id, COUNT(e.event_id) AS n FROM users u LEFT JOIN events e USING (user_id) GROUP BY u.user_id) GROUP BY activity

SELECT platform, MEDIAN(duration_ms) AS typical, PERCENTILE_CONT(duration_ms, 0.95) AS slow FROM events GROUP BY platform

SELECT name, COUNT(*) AS n FROM events GROUP BY name HAVING n > 1000 ORDER BY n DESC LIMIT 50

SELECT DATE_TRUNC(paid_at, MONTH) AS month, SUM(amount) AS mrr, SUM(amount) - LAG(SUM(amount)) OVER (ORDER BY DATE_TRUNC(paid_at, MONTH)) AS change FROM payments GROUP BY month

SELECT plan, platform, COUNT(DISTINCT e.user_id) AS users FROM users u JOIN events e USING (user_id) GROUP BY GROUPING SETS ((plan, platform), (plan), ())

SELECT REGEXP_EXTRACT(email, r'@(.+)$') AS domain, COUNT(*) AS n FROM users GROUP BY domain ORDER BY n DESC LIMIT 20

SELECT FLOOR(DATE_DIFF(CURRENT_DATE, birth_date, YEAR) / 10) * 10 AS decade, COUNT(*) FROM users GROUP BY decade ORDER BY decade

WITH firsts AS (SELECT user_id, name, at, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY at) AS place FROM events) SELECT name, COUNT(*) AS first_event FROM firsts WHERE place = 1 GROUP BY name

SELECT AVG(gap, contribution_bounds_per_row => (0, 90)) AS mean_days_between FROM (SELECT user_id, DATE_DIFF(at, LAG(at) OVER (PARTITION BY user_id ORDER BY at), DAY) AS gap FROM events)

SELECT 'paid' AS what, COUNT(DISTINCT user_id) AS n FROM payments UNION ALL SELECT 'all', COUNT(*) FROM users

SELECT country, COUNT(*) AS n FROM users WHERE country IN (SELECT country FROM countries WHERE population > 50000000) GROUP BY country

SELECT EXTRACT(ISODOW FROM at) AS weekday, COUNT(*) / COUNT(DISTINCT user_id) AS each_user FROM events GROUP BY weekday ORDER BY weekday

SELECT CORR(duration_ms, EXTRACT(HOUR FROM at)) FROM events

SELECT country, SUM(amount) FILTER (WHERE refunded) / NULLIF(SUM(amount), 0) AS refund_rate FROM payments JOIN users USING (user_id) GROUP BY country

SELECT DISTINCT version FROM events

SELECT COUNT(*) FROM events WHERE path LIKE '/checkout/%' AND at >= '2026-01-01' AND at < '2026-02-01'

SELECT plan, AVG(amount) AS mean, VAR_SAMP(amount) AS variance FROM users JOIN payments USING (user_id) GROUP BY plan
