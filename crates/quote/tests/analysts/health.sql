SELECT sex, COUNT(*) AS patients, AVG(bmi) AS bmi FROM patients GROUP BY sex

SELECT CASE WHEN age < 18 THEN '0-17' WHEN age BETWEEN 18 AND 64 THEN '18-64' ELSE '65+' END AS age_group, COUNT(*) AS stays, AVG(IF(died, 1, 0)) AS mortality FROM stays GROUP BY age_group

SELECT LEFT(icd10, 1) AS chapter, COUNT(*) AS n, SUM(cost) AS cost FROM stays GROUP BY chapter ORDER BY cost DESC

SELECT ward, AVG(DATE_DIFF(discharged, admitted, DAY), contribution_bounds_per_row => (0, 60)) AS days FROM stays GROUP BY ward

SELECT w.speciality, COUNT(DISTINCT s.patient_id) AS patients FROM stays s JOIN wards w ON s.ward = w.ward GROUP BY w.speciality

SELECT county, COUNT(*) * 100000 / SUM(COUNT(*)) OVER () AS per_100k FROM patients GROUP BY county

SELECT EXTRACT(YEAR FROM admitted) AS year, EXTRACT(QUARTER FROM admitted) AS quarter, COUNT(*) AS n FROM stays GROUP BY ROLLUP (year, quarter) ORDER BY 1, 2

SELECT test, AVG(value), STDDEV(value), MEDIAN(value) FROM labs GROUP BY test

SELECT COUNT(DISTINCT patient_id) AS readmitted FROM (SELECT patient_id, DATE_DIFF(admitted, LAG(discharged) OVER (PARTITION BY patient_id ORDER BY admitted), DAY) AS gap FROM stays) WHERE gap <= 30

SELECT p.sex, s.ward, COUNT(DISTINCT s.patient_id) AS n FROM stays AS s INNER JOIN patients AS p ON p.patient_id = s.patient_id WHERE s.admitted >= DATE '2025-01-01' GROUP BY p.sex, s.ward HAVING COUNT(DISTINCT s.patient_id) >= 20

SELECT IF(smoker, 'smoker', 'other') AS g, APPROX_QUANTILES(bmi, 4)[OFFSET(2)] AS median FROM patients GROUP BY g

SELECT icd10, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM stays GROUP BY icd10 QUALIFY place <= 10

SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM stays WHERE icd10 LIKE 'E11%') AND patient_id IN (SELECT patient_id FROM labs WHERE test = 'hba1c' AND value > 48)

SELECT SUBSTRING(postcode, 1, 2) AS area, SUM(cost) / COUNT(DISTINCT patient_id) AS cost_each FROM stays JOIN patients USING (patient_id) GROUP BY area

SELECT DATE_TRUNC('month', admitted) AS month, COUNT(*) AS stays, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', admitted)) AS running FROM stays GROUP BY 1 ORDER BY 1

SELECT n, COUNT(*) AS patients FROM (SELECT patient_id, COUNT(*) AS n FROM stays GROUP BY patient_id) GROUP BY n ORDER BY n

WITH old AS (SELECT patient_id, sex FROM patients WHERE birth_date < DATE '1950-01-01') SELECT sex, COUNT(*) AS stays, SUM(CASE WHEN died THEN 1 ELSE 0 END) AS deaths FROM stays JOIN old USING (patient_id) GROUP BY sex

SELECT REGEXP_CONTAINS(icd10, r'^[IJ][0-9]{2}') AS heart_or_lung, COUNT(*) FROM stays GROUP BY 1

SELECT test, SAFE_CAST(REPLACE(written, ',', '.') AS FLOAT64) > 100 AS high, COUNT(*) FROM labs GROUP BY test, high

SELECT county, sex, COUNT(*) AS n FROM patients GROUP BY CUBE (county, sex)

SELECT COALESCE(county, 'unknown') AS county, COUNT(*) AS n FROM patients GROUP BY COALESCE(county, 'unknown')

SELECT COUNT(*) FROM stays WHERE discharged IS NULL OR discharged > CURRENT_DATE

SELECT ward, COUNT(*) AS n FROM stays WHERE cost > (SELECT AVG(cost) FROM stays) GROUP BY ward

SELECT ROUND(bmi) AS bmi, COUNT(*) FROM patients WHERE bmi BETWEEN 15 AND 45 GROUP BY ROUND(bmi)

SELECT PARSE_DATE('%Y-%m', SUBSTR(written, 1, 7)) AS month, COUNT(*) FROM labs GROUP BY month

SELECT COVAR_POP(bmi, IF(smoker, 1, 0)), CORR(bmi, IF(smoker, 1, 0)) FROM patients
