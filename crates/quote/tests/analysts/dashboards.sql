WITH per_user AS (SELECT user_id, variant, MAX(IF(name = 'purchase', 1, 0)) AS converted FROM events GROUP BY user_id, variant) SELECT variant, COUNT(*) AS users, AVG(converted) AS conversion FROM per_user GROUP BY variant

WITH per_user AS (SELECT user_id, COUNTIF(name = 'error') AS errors, COUNT(*) AS n FROM events GROUP BY user_id) SELECT COUNTIF(errors > 0) / COUNT(*) AS users_with_errors, AVG(LEAST(n, 100)) AS events_each FROM per_user

SELECT SUM(y) AS doubled, AVG(y) AS mean FROM (SELECT user_id, duration_ms * 2 AS y FROM events)

SELECT platform, SAFE_DIVIDE(COUNTIF(name = 'crash'), COUNT(*)) AS crash_rate FROM events GROUP BY platform

SELECT platform, COUNT(*) FILTER (WHERE name = 'purchase') AS bought, COUNT(*) FILTER (WHERE name IN ('visit', 'view')) AS looked FROM events GROUP BY platform

SELECT plan, SUM(CASE WHEN country = 'DE' THEN 1 ELSE 0 END) AS german, SUM(CASE WHEN referred_by IS NULL THEN 0 ELSE 1 END) AS referred FROM users GROUP BY plan

SELECT plan, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM users GROUP BY plan

WITH base AS (SELECT * FROM events WHERE at >= TIMESTAMP '2026-01-01 00:00:00'), days AS (SELECT user_id, DATE(at) AS day FROM base), active AS (SELECT user_id, COUNT(DISTINCT day) AS active_days FROM days GROUP BY user_id) SELECT CASE WHEN active_days >= 20 THEN 'power' WHEN active_days BETWEEN 5 AND 19 THEN 'regular' ELSE 'casual' END AS kind, COUNT(*) AS users FROM active GROUP BY kind ORDER BY users DESC

SELECT DATE_TRUNC(DATE(paid_at), QUARTER) AS quarter, currency, ROUND(SUM(amount), 2) AS revenue FROM payments GROUP BY quarter, currency ORDER BY quarter, currency

SELECT TIMESTAMP_TRUNC(at, HOUR) AS hour, COUNT(*) AS n FROM events GROUP BY hour HAVING COUNT(*) > 100 ORDER BY hour

SELECT TIMESTAMP_DIFF(TIMESTAMP '2026-06-01 00:00:00', signed_up_at, DAY) AS age_days, COUNT(*) AS users FROM users GROUP BY age_days

SELECT COUNT(DISTINCT user_id) AS wau FROM events WHERE at >= TIMESTAMP_SUB(TIMESTAMP '2026-06-08 00:00:00', INTERVAL 7 DAY) AND at < TIMESTAMP '2026-06-08 00:00:00'

SELECT FORMAT_TIMESTAMP('%Y-%m-%d', at) AS day, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1

SELECT to_char(at, 'YYYY-MM') AS month, COUNT(*) AS n FROM events GROUP BY 1 ORDER BY 1

SELECT date_trunc('week', at)::date AS week, COUNT(DISTINCT user_id) FILTER (WHERE name = 'purchase')::float / NULLIF(COUNT(DISTINCT user_id), 0) AS rate FROM events GROUP BY 1 ORDER BY 1

SELECT COALESCE(NULLIF(TRIM(country), ''), 'unknown') AS country, COUNT(*) AS users FROM users GROUP BY 1 ORDER BY users DESC

SELECT IFNULL(referred_by, 'nobody') = 'nobody' AS organic, COUNT(*) AS users FROM users GROUP BY organic

SELECT UPPER(LEFT(version, 1)) AS major, COUNT(*) AS n FROM events GROUP BY major

SELECT STARTS_WITH(path, '/app') AS in_app, ENDS_WITH(path, '.html') AS page, COUNT(*) AS n FROM events GROUP BY in_app, page

SELECT REPLACE(LOWER(name), '_', ' ') AS event, COUNT(*) AS n FROM events GROUP BY event ORDER BY n DESC LIMIT 20

SELECT SPLIT(path, '/')[SAFE_OFFSET(1)] AS section, COUNT(*) AS n FROM events GROUP BY section

SELECT platform, AVG(duration_ms) / 1000 AS seconds, STDDEV(duration_ms) AS spread, MEDIAN(duration_ms) AS middle FROM events WHERE duration_ms BETWEEN 0 AND 600000 GROUP BY platform

SELECT platform, APPROX_QUANTILES(duration_ms, 4)[OFFSET(1)] AS q1, APPROX_QUANTILES(duration_ms, 4)[OFFSET(3)] AS q3 FROM events GROUP BY platform

SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY duration_ms) AS p99 FROM events

SELECT name, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY COUNT(*) DESC) / SUM(COUNT(*)) OVER () AS cumulative FROM events GROUP BY name ORDER BY n DESC

SELECT name, platform, COUNT(*) AS n FROM events GROUP BY name, platform QUALIFY ROW_NUMBER() OVER (PARTITION BY platform ORDER BY n DESC) <= 5

WITH ranked AS (SELECT user_id, name, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY at DESC) AS r FROM events) SELECT name AS last_event, COUNT(*) AS users FROM ranked WHERE r = 1 GROUP BY name HAVING COUNT(*) >= 10

WITH steps AS (SELECT user_id, MAX(CASE WHEN name = 'visit' THEN 1 ELSE 0 END) AS visited, MAX(CASE WHEN name = 'signup' THEN 1 ELSE 0 END) AS signed, MAX(CASE WHEN name = 'purchase' THEN 1 ELSE 0 END) AS bought FROM events GROUP BY user_id) SELECT SUM(visited) AS visited, SUM(visited * signed) AS signed, SUM(visited * signed * bought) AS bought FROM steps

WITH totals AS (SELECT user_id, SUM(amount) AS total FROM payments WHERE currency = 'EUR' GROUP BY user_id) SELECT AVG(total) AS arppu, MEDIAN(total) AS typical, COUNTIF(total > 100) / COUNT(*) AS whales FROM totals

SELECT u.plan, AVG(COALESCE(p.total, 0)) AS arpu FROM users u LEFT JOIN (SELECT user_id, SUM(amount) AS total FROM payments GROUP BY user_id) p ON p.user_id = u.user_id GROUP BY u.plan

SELECT DATE_TRUNC(u.signed_up_at, MONTH) AS cohort, AVG(IF(p.n > 0, 1, 0)) AS paid FROM users u LEFT JOIN (SELECT user_id, COUNT(*) AS n FROM payments GROUP BY user_id) p USING (user_id) GROUP BY cohort ORDER BY cohort

SELECT variant, AVG(spent) AS mean, VARIANCE(spent) AS variance FROM (SELECT e.user_id, MAX(e.variant) AS variant, MAX(p.amount) AS spent FROM events e JOIN payments p USING (user_id) GROUP BY e.user_id) GROUP BY variant

SELECT COUNT(*) AS users FROM users WHERE email LIKE '%@example.com' AND plan IN ('pro', 'team') AND signed_up_at BETWEEN TIMESTAMP '2026-01-01' AND TIMESTAMP '2026-03-31'

SELECT EXTRACT(DAYOFWEEK FROM paid_at) IN (1, 7) AS weekend, SUM(amount) AS revenue, COUNT(*) AS n FROM payments GROUP BY weekend

SELECT country, COUNT(*) AS n FROM users WHERE country IN UNNEST(['DE', 'FR', 'IT']) GROUP BY country

SELECT COUNT(*) FROM events WHERE name = ANY(ARRAY['visit', 'view'])

SELECT AVG(sessions) AS sessions_each FROM (SELECT user_id, LEAST(COUNT(DISTINCT DATE(at)), 31) AS sessions FROM events GROUP BY user_id)

SELECT CAST(FLOOR(duration_ms / 1000) AS INT64) AS seconds, COUNT(*) AS n FROM events WHERE duration_ms < 60000 GROUP BY seconds ORDER BY seconds

SELECT DATE_ADD(DATE(at), INTERVAL 1 DAY) AS next_day, COUNT(*) AS n FROM events GROUP BY next_day

SELECT GREATEST(LEAST(AVG(duration_ms), 100000), 0) AS mean FROM events

SELECT AVG(LENGTH(url)) AS url_length, AVG(LENGTH(title)) AS title_length, AVG(LENGTH(search_phrase)) AS phrase_length FROM hits

SELECT COUNT(DISTINCT url), COUNT(DISTINCT referer), COUNT(DISTINCT title), COUNT(DISTINCT session_id), COUNT(DISTINCT client_ip), COUNT(DISTINCT region_id), COUNT(DISTINCT os), COUNT(DISTINCT phone_model), COUNT(DISTINCT utm_source), COUNT(DISTINCT utm_campaign), COUNT(DISTINCT country), COUNT(DISTINCT event_date), COUNT(DISTINCT LOWER(search_phrase)), COUNT(DISTINCT CONCAT(os, ' ', phone_model)) FROM hits

SELECT SUM(resolution_width), SUM(resolution_width + 1), SUM(resolution_width + 2), SUM(resolution_width + 3), SUM(resolution_width * 2) FROM hits

SELECT region_id, AVG(CASE WHEN is_mobile THEN 1 ELSE 0 END) AS mobile, AVG(CASE WHEN adv_engine_id <> 0 THEN 1.0 ELSE 0.0 END) AS paid, AVG(IF(search_phrase = '', 0, 1)) AS searched FROM hits GROUP BY region_id

SELECT REGEXP_EXTRACT(referer, r'^https?://([^/]+)') AS host, COUNT(*) AS n, AVG(LENGTH(referer)) AS mean_length FROM hits WHERE referer <> '' GROUP BY host HAVING n > 1000 ORDER BY n DESC

SELECT resolution_width * resolution_height AS pixels, COUNT(*) AS n FROM hits GROUP BY pixels ORDER BY n DESC LIMIT 10

SELECT AVG(resolution_width / NULLIF(resolution_height, 0)) AS ratio FROM hits WHERE resolution_width BETWEEN 100 AND 4000 AND resolution_height BETWEEN 100 AND 4000

SELECT user_agent ~* 'firefox' AS firefox, COUNT(*) FROM hits GROUP BY 1

WITH visits AS (SELECT user_id, session_id, COUNT(*) AS pages, MAX(load_ms) AS slowest FROM hits GROUP BY user_id, session_id) SELECT AVG(IF(pages = 1, 1, 0)) AS bounce, AVG(LEAST(pages, 50)) AS depth, AVG(slowest) AS slowest FROM visits

SELECT TIMESTAMP_TRUNC(event_time, DAY) AS day, COUNTIF(load_ms > 3000) / COUNT(*) AS slow FROM hits GROUP BY day

SELECT ward, AVG(DATE_DIFF(discharged, admitted, DAY)) AS days FROM stays WHERE DATE_DIFF(discharged, admitted, DAY) BETWEEN 0 AND 365 GROUP BY ward

SELECT ward, SUM(CASE WHEN died THEN 1 ELSE 0 END) / COUNT(*) AS mortality, SUM(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS elderly FROM stays GROUP BY ward HAVING COUNT(*) > 20

WITH readmitted AS (SELECT patient_id, DATE_DIFF(admitted, LAG(discharged) OVER (PARTITION BY patient_id ORDER BY admitted), DAY) AS gap FROM stays) SELECT AVG(IF(gap BETWEEN 0 AND 30, 1, 0)) AS readmission_rate FROM readmitted WHERE gap IS NOT NULL

SELECT sex, FLOOR(DATE_DIFF(DATE '2026-01-01', birth_date, YEAR) / 10) * 10 AS decade, COUNT(*) AS patients, AVG(bmi) AS bmi FROM patients GROUP BY sex, decade ORDER BY 1, 2

SELECT SUBSTR(icd10, 1, 1) AS chapter, COUNT(DISTINCT patient_id) AS patients, AVG(cost) AS cost, SUM(cost) / COUNT(DISTINCT patient_id) AS cost_each FROM stays GROUP BY chapter

SELECT test, AVG(SAFE_CAST(written AS FLOAT64), contribution_bounds_per_row => (0, 500)) AS written, AVG(value) AS value FROM labs GROUP BY test

SELECT p.county, AVG(s.times) AS stays_each FROM patients p JOIN (SELECT patient_id, LEAST(COUNT(*), 10) AS times FROM stays GROUP BY patient_id) s USING (patient_id) GROUP BY p.county

SELECT smoker, AVG(POWER(bmi - 25, 2)) AS spread FROM patients WHERE bmi BETWEEN 15 AND 45 GROUP BY smoker

SELECT w.speciality, COUNT(*) AS stays, AVG(s.cost) AS cost FROM stays s JOIN wards w ON s.ward = w.ward WHERE s.admitted >= DATE '2025-01-01' GROUP BY w.speciality ORDER BY stays DESC

SELECT l_returnflag, l_linestatus, SUM(l_extendedprice * (1 - l_discount)) AS disc_price, SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus

SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24

SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END) / SUM(l_extendedprice * (1 - l_discount)) AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= DATE '1995-09-01'

SELECT c_mktsegment, AVG(c_acctbal) AS balance, AVG(IF(c_acctbal < 0, 1, 0)) AS in_debt FROM customer GROUP BY c_mktsegment

SELECT AVG(orders) FROM (SELECT c.c_custkey, LEAST(COUNT(o.o_orderkey), 40) AS orders FROM customer c LEFT JOIN orders o ON o.o_custkey = c.c_custkey GROUP BY c.c_custkey)
