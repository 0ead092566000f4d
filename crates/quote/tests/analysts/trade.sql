SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price, SUM(l_extendedprice * (1 - l_discount), contribution_bounds_per_row => (0, 105000)) AS sum_disc_price, AVG(l_quantity) AS avg_qty, AVG(l_discount) AS avg_disc, COUNT(*) AS count_order FROM lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus

SELECT o_orderpriority, COUNT(*) AS order_count FROM orders WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) GROUP BY o_orderpriority ORDER BY o_orderpriority

SELECT n_name, SUM(l_extendedprice * (1 - l_discount), contribution_bounds_per_row => (0, 105000)) AS revenue FROM customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey GROUP BY n_name ORDER BY revenue DESC

SELECT SUM(l_extendedprice * l_discount, contribution_bounds_per_row => (0, 10500)) AS revenue FROM lineitem WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24

SELECT l_shipmode, SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high, SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low FROM orders, lineitem WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') GROUP BY l_shipmode

SELECT c_count, COUNT(*) AS custdist FROM (SELECT c_custkey, COUNT(o_orderkey) AS c_count FROM customer LEFT OUTER JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%' GROUP BY c_custkey) AS c_orders GROUP BY c_count ORDER BY custdist DESC, c_count DESC

SELECT 100.00 * SUM(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END, contribution_bounds_per_row => (0, 105000)) / SUM(l_extendedprice * (1 - l_discount), contribution_bounds_per_row => (0, 105000)) AS promo_revenue FROM lineitem, part WHERE l_partkey = p_partkey

SELECT SUBSTRING(c_phone FROM 1 FOR 2) AS cntrycode, COUNT(*) AS numcust, SUM(c_acctbal) AS totacctbal FROM customer WHERE SUBSTRING(c_phone FROM 1 FOR 2) IN ('13', '31', '23') AND c_acctbal > (SELECT AVG(c_acctbal) FROM customer WHERE c_acctbal > 0.00) AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey) GROUP BY cntrycode ORDER BY cntrycode

SELECT EXTRACT(YEAR FROM o_orderdate) AS year, SUM(o_totalprice) AS total, SUM(o_totalprice) / LAG(SUM(o_totalprice)) OVER (ORDER BY EXTRACT(YEAR FROM o_orderdate)) - 1 AS growth FROM orders GROUP BY year ORDER BY year

SELECT c_mktsegment, o_orderstatus, COUNT(*) AS n FROM customer JOIN orders ON c_custkey = o_custkey GROUP BY CUBE (c_mktsegment, o_orderstatus) ORDER BY GROUPING(c_mktsegment), GROUPING(o_orderstatus), n DESC

SELECT c_mktsegment, AVG(c_acctbal) AS mean, MEDIAN(c_acctbal) AS median FROM customer GROUP BY c_mktsegment HAVING COUNT(*) > 100

SELECT p_brand, SUM(l_quantity) AS sold FROM lineitem JOIN part ON p_partkey = l_partkey WHERE p_size IN (1, 14, 23) GROUP BY p_brand ORDER BY sold DESC LIMIT 5

WITH yearly AS (SELECT EXTRACT(YEAR FROM o_orderdate) AS y, o_orderpriority AS p, COUNT(*) AS n FROM orders GROUP BY 1, 2) SELECT y, p, n, n / SUM(n) OVER (PARTITION BY y) AS share FROM yearly ORDER BY y, share DESC

SELECT MOD(l_quantity, 10) AS rest, COUNT(*) FROM lineitem GROUP BY rest
