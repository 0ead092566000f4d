SELECT COUNT(*) FROM hits

SELECT COUNT(*) FROM hits WHERE adv_engine_id <> 0

SELECT SUM(adv_engine_id), COUNT(*), AVG(resolution_width) FROM hits

SELECT COUNT(DISTINCT user_id) FROM hits

SELECT COUNT(DISTINCT search_phrase) FROM hits

SELECT adv_engine_id, COUNT(*) FROM hits WHERE adv_engine_id <> 0 GROUP BY adv_engine_id ORDER BY COUNT(*) DESC

SELECT region_id, COUNT(DISTINCT user_id) AS u FROM hits GROUP BY region_id ORDER BY u DESC LIMIT 10

SELECT region_id, SUM(adv_engine_id), COUNT(*) AS c, AVG(resolution_width), COUNT(DISTINCT user_id) FROM hits GROUP BY region_id ORDER BY c DESC LIMIT 10

SELECT phone_model, COUNT(DISTINCT user_id) AS u FROM hits WHERE phone_model <> '' GROUP BY phone_model ORDER BY u DESC LIMIT 10

SELECT is_mobile, phone_model, COUNT(DISTINCT user_id) AS u FROM hits WHERE phone_model <> '' GROUP BY is_mobile, phone_model ORDER BY u DESC LIMIT 10

SELECT search_engine_id, search_phrase, COUNT(*) AS c FROM hits WHERE search_phrase <> '' GROUP BY search_engine_id, search_phrase ORDER BY c DESC LIMIT 10

SELECT EXTRACT(MINUTE FROM event_time) AS m, search_phrase, COUNT(*) FROM hits GROUP BY m, search_phrase ORDER BY COUNT(*) DESC LIMIT 10

SELECT COUNT(*) FROM hits WHERE url LIKE '%google%'

SELECT search_phrase, COUNT(*) AS c, COUNT(DISTINCT user_id) FROM hits WHERE title LIKE '%Google%' AND url NOT LIKE '%.google.%' AND search_phrase <> '' GROUP BY search_phrase ORDER BY c DESC LIMIT 10

SELECT counter_id, AVG(LENGTH(url), contribution_bounds_per_row => (0, 400)) AS l, COUNT(*) AS c FROM hits WHERE url <> '' GROUP BY counter_id HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25

SELECT REGEXP_REPLACE(referer, r'^https?://(?:www\.)?([^/]+)/.*$', r'\1') AS k, AVG(LENGTH(referer), contribution_bounds_per_row => (0, 400)) AS l, COUNT(*) AS c FROM hits WHERE referer <> '' GROUP BY k HAVING COUNT(*) > 1000 ORDER BY l DESC LIMIT 25

SELECT SUM(resolution_width), SUM(resolution_width + 1, contribution_bounds_per_row => (0, 4001)), SUM(resolution_width + 2, contribution_bounds_per_row => (0, 4002)) FROM hits

SELECT search_engine_id, client_ip, COUNT(*) AS c, SUM(is_refresh), AVG(resolution_width) FROM hits WHERE search_phrase <> '' GROUP BY search_engine_id, client_ip ORDER BY c DESC LIMIT 10

SELECT 1, url, COUNT(*) AS c FROM hits GROUP BY 1, url ORDER BY c DESC LIMIT 10

SELECT client_ip, client_ip - 1, client_ip - 2, COUNT(*) AS c FROM hits GROUP BY client_ip, client_ip - 1, client_ip - 2 ORDER BY c DESC LIMIT 10

SELECT url, COUNT(*) AS page_views FROM hits WHERE counter_id = 62 AND event_date >= '2013-07-01' AND event_date <= '2013-07-31' AND NOT is_mobile AND is_refresh = 0 AND url <> '' GROUP BY url ORDER BY page_views DESC LIMIT 10

SELECT trafic_source_id, search_engine_id, adv_engine_id, CASE WHEN (search_engine_id = 0 AND adv_engine_id = 0) THEN referer ELSE '' END AS src, url AS dst, COUNT(*) AS page_views FROM hits WHERE counter_id = 62 GROUP BY trafic_source_id, search_engine_id, adv_engine_id, src, dst ORDER BY page_views DESC LIMIT 10 OFFSET 1000

SELECT DATE_TRUNC('minute', event_time) AS m, COUNT(*) AS page_views FROM hits WHERE event_date BETWEEN '2013-07-14' AND '2013-07-15' GROUP BY DATE_TRUNC('minute', event_time) ORDER BY DATE_TRUNC('minute', event_time) LIMIT 10 OFFSET 1000

SELECT COUNT(DISTINCT url) AS urls, COUNT(DISTINCT referer) AS referers, COUNT(DISTINCT title) AS titles, COUNT(DISTINCT search_phrase) AS phrases, COUNT(DISTINCT region_id) AS regions, COUNT(DISTINCT os) AS systems, COUNT(DISTINCT phone_model) AS models, COUNT(DISTINCT user_agent) AS agents, COUNT(DISTINCT client_ip) AS ips, COUNT(DISTINCT session_id) AS sessions, COUNT(DISTINCT counter_id) AS counters, COUNT(DISTINCT country) AS countries, COUNT(DISTINCT utm_source) AS sources, COUNT(DISTINCT utm_campaign) AS campaigns, COUNT(DISTINCT event_date) AS days, COUNT(DISTINCT resolution_width) AS widths, COUNT(DISTINCT resolution_height) AS heights, COUNT(DISTINCT search_engine_id) AS engines, COUNT(DISTINCT adv_engine_id) AS ads, COUNT(DISTINCT trafic_source_id) AS traffic, COUNT(DISTINCT DATE_TRUNC(event_time, HOUR)) AS hours, COUNT(DISTINCT LOWER(title)) AS folded, COUNT(DISTINCT watch_id) AS hits, COUNT(DISTINCT user_id) AS users FROM hits

SELECT country, COUNTIF(is_mobile) / COUNT(*) AS mobile_share FROM hits GROUP BY country HAVING COUNT(*) > 100 ORDER BY mobile_share DESC

SELECT SPLIT(REGEXP_REPLACE(url, r'^https?://', ''), '/')[SAFE_OFFSET(0)] AS host, COUNT(*) AS n FROM hits GROUP BY host ORDER BY n DESC LIMIT 20

SELECT REGEXP_EXTRACT(url, r'utm_source=([^&]*)') AS source, COUNT(DISTINCT user_id) AS users FROM hits GROUP BY source ORDER BY users DESC

SELECT CASE WHEN user_agent ILIKE ANY ('%bot%', '%spider%', '%crawler%') THEN 'bot' WHEN is_mobile THEN 'mobile' ELSE 'desktop' END AS device, COUNT(*) AS hits, COUNT(DISTINCT user_id) AS users FROM hits GROUP BY device

SELECT event_date, COUNT(*) AS n, AVG(COUNT(*)) OVER (ORDER BY event_date ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week_mean FROM hits GROUP BY event_date ORDER BY event_date

SELECT FORMAT_DATE('%Y-%m', event_date) AS month, COUNT(DISTINCT user_id) AS mau FROM hits GROUP BY month ORDER BY month

SELECT os, APPROX_QUANTILES(load_ms, 100)[OFFSET(50)] AS p50, APPROX_QUANTILES(load_ms, 100)[OFFSET(95)] AS p95 FROM hits GROUP BY os

SELECT country, os, COUNT(*) AS n FROM hits GROUP BY ROLLUP (country, os) ORDER BY country, os

SELECT EXTRACT(HOUR FROM event_time) AS hour, EXTRACT(DAYOFWEEK FROM event_time) AS day, COUNT(*) AS n FROM hits GROUP BY ALL

WITH per_session AS (SELECT user_id, session_id, COUNT(*) AS pages FROM hits GROUP BY user_id, session_id) SELECT LEAST(pages, 10) AS pages, COUNT(*) AS sessions FROM per_session GROUP BY 1 ORDER BY 1

WITH per_session AS (SELECT user_id, session_id, COUNT(*) AS pages FROM hits GROUP BY user_id, session_id) SELECT COUNTIF(pages = 1) / COUNT(*) AS bounce_rate FROM per_session

SELECT utm_source, utm_campaign, COUNT(DISTINCT user_id) AS users, COUNT(DISTINCT user_id) / SUM(COUNT(DISTINCT user_id)) OVER (PARTITION BY utm_source) AS share FROM hits WHERE utm_source IS NOT NULL GROUP BY 1, 2 QUALIFY ROW_NUMBER() OVER (PARTITION BY utm_source ORDER BY users DESC) <= 3

SELECT WIDTH_BUCKET(load_ms, 0, 10000, 20) AS bucket, COUNT(*) FROM hits GROUP BY bucket ORDER BY bucket

SELECT SUBSTR(country, 1, 2) AS cc, SUM(CASE WHEN search_phrase <> '' THEN 1 ELSE 0 END) * 100.0 / COUNT(*) AS searched FROM hits GROUP BY cc

SELECT DATE_DIFF(DATE '2013-08-01', event_date, DAY) AS days_ago, COUNT(*) FROM hits WHERE event_date > DATE_SUB(DATE '2013-08-01', INTERVAL 30 DAY) GROUP BY days_ago

SELECT COUNT(*) FROM hits WHERE REGEXP_CONTAINS(search_phrase, r'(?i)\b(buy|cheap|price)\b')
