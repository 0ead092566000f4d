SELECT * FROM hits WHERE url LIKE '%google%' ORDER BY event_time LIMIT 10

SELECT user_id, COUNT(*) FROM hits GROUP BY user_id ORDER BY COUNT(*) DESC LIMIT 10

SELECT search_phrase FROM hits WHERE search_phrase <> '' ORDER BY event_time LIMIT 10

SELECT MIN(event_date), MAX(event_date) FROM hits

SELECT search_phrase, MIN(url), COUNT(*) AS c FROM hits GROUP BY search_phrase

SELECT user_id FROM hits WHERE user_id = 435090932899640449

SELECT AVG(user_id) FROM hits

SELECT country, STRING_AGG(email) FROM users GROUP BY country

SELECT email, plan FROM users

SELECT plan, ANY_VALUE(email) FROM users GROUP BY plan
