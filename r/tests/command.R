# The package over the command itself, on the shop of the examples. Needs HUSHTABLE_COMMAND and
# HUSHTABLE_SHOP, the folder with the contract; `tests/r.sh` sets both.

library(hushtable)

command <- Sys.getenv("HUSHTABLE_COMMAND")
shop <- Sys.getenv("HUSHTABLE_SHOP")
if (nzchar(command) && nzchar(shop)) {
  folder <- file.path(tempdir(), "a shop's $(folder) `x` \u00e9")
  dir.create(folder)
  stopifnot(file.copy(file.path(shop, c("hushtable.toml", "visits.csv")), folder))
  condition_of <- function(expression) tryCatch(expression, condition = identity)

  # A connection.
  con <- ht_open(folder, command = command)
  stopifnot(inherits(con, "hushtable_connection"), identical(con$tables, "visits"))
  stopifnot(any(grepl("tables: visits", capture.output(print(con)))))
  none <- condition_of(ht_open(file.path(folder, "nowhere.toml"), command = command))
  stopifnot(inherits(none, "hushtable_contract"), inherits(none, "hushtable_error"))
  stopifnot(inherits(none, "error"), nzchar(none$hint))
  missing <- condition_of(ht_open(folder, command = "no-such-command"))
  stopifnot(inherits(missing, "hushtable_missing"), grepl("install it", missing$hint))

  # A quote is free.
  sql <- "SELECT town, COUNT(*) AS n FROM visits GROUP BY town ORDER BY n DESC"
  quote <- ht_explain(con, sql)
  stopifnot(inherits(quote, "hushtable_quote"), isTRUE(quote$accounts[[1]]$suffices))
  stopifnot(any(grepl("epsilon = 1", capture.output(print(quote)))))
  stopifnot(identical(ht_budget(con)$spent_epsilon, 0))

  # An answer has types, a statement and a charge, and is free for ever.
  release <- ht_sql(con, sql)
  stopifnot(inherits(release, "data.frame"), identical(names(release), c("town", "n")))
  stopifnot(is.character(release$town), is.integer(release$n), nrow(release) > 3)
  stopifnot(!is.unsorted(-release$n), grepl("\"release_statement\"", attr(release, "statement")))
  stopifnot(any(grepl("charged epsilon = 1", attr(release, "notes"))))
  stopifnot(any(grepl("charged epsilon = 1", capture.output(print(release)))))
  again <- ht_sql(con, sql, intervals = 90)
  stopifnot(identical(again$n, release$n))
  ends <- attr(again, "intervals")
  stopifnot(identical(names(ends), c("n_low", "n_high")))
  stopifnot(all(ends$n_low < ends$n_high), all(again$n < ends$n_high))
  stopifnot(identical(ht_budget(con)$spent_epsilon, 1))
  stopifnot(inherits(release[1:2, ], "data.frame"), inherits(release$n + 1, "numeric"))
  capture.output(print(release[1:2, ]))

  # Types of what is computed around releases, and without rows.
  around <- ht_sql(con, paste(
    "WITH t AS (SELECT town, COUNT(*) AS n FROM visits GROUP BY town)",
    "SELECT town, n, n / 2 AS half, n > 0 AS some, DATE '2024-02-29' AS day,",
    "CAST('2024-02-29 01:02:03.5' AS TIMESTAMP) AS at, NULL AS nothing,",
    "9007199254740993 AS large, '\"\u00e9\\\\' AS text, 3000000000 AS whole FROM t"
  ))
  stopifnot(is.double(around$half), is.logical(around$some))
  stopifnot(identical(unique(around$day), as.Date("2024-02-29")))
  stopifnot(inherits(around$at, "POSIXct"), format(around$at[1], "%OS1") == "03.5")
  stopifnot(all(is.na(around$nothing)), identical(around$large[1], "9007199254740993"))
  stopifnot(identical(around$text[1], "\"\u00e9\\"), identical(around$whole[1], 3e9))
  empty <- ht_sql(con, paste(
    "WITH t AS (SELECT town, COUNT(*) AS n FROM visits GROUP BY town)",
    "SELECT town, n FROM t WHERE n < -1000000"
  ))
  stopifnot(nrow(empty) == 0L)

  # Columns that are called like the ends of intervals are columns.
  alike <- ht_sql(con, paste(
    "WITH t AS (SELECT town, COUNT(*) AS n FROM visits GROUP BY town)",
    "SELECT town AS s, town AS s_low, town AS s_high, n FROM t"
  ), intervals = 90)
  stopifnot(identical(names(alike), c("s", "s_low", "s_high", "n")))
  stopifnot(identical(names(attr(alike, "intervals")), c("n_low", "n_high")))

  # Parameters, with texts that a shell, SQL or the command could misread.
  texts <- c(
    "it's", "$(touch hacked)", "`touch hacked`", "\"; touch hacked; \"", "a\nb", "-x", "'", "\\",
    "NULL", "65", "\u00e9\U1F600", "", " ", "%PATH%", "a=b", "' OR '1'='1"
  )
  for (text in texts) {
    asked <- ht_explain(
      con, "SELECT COUNT(*) AS n FROM visits WHERE town = @t", params = list(t = text)
    )
    # The condition says which text was understood.
    shown <- asked$parts[[1]]$explanation$condition
    expected <- gsub("'", "\\'", gsub("\\", "\\\\", text, fixed = TRUE), fixed = TRUE)
    expected <- gsub("\n", "\\n", expected, fixed = TRUE)
    stopifnot(identical(shown, paste0("town = '", expected, "'")))
  }
  stopifnot(!file.exists("hacked"))
  for (pair in list(
    list("quantity > @v", 2L, "quantity > 2"),
    list("amount > @v", 2.5, "amount > 2.50"),
    list("amount > @v", 1e-7, NULL),
    list("day > @v", as.Date("2025-01-31"), NULL),
    list("CAST(day AS TIMESTAMP) > @v", as.POSIXct("2025-01-31 01:00", tz = "Asia/Tokyo"), NULL),
    list("(quantity > 2) = @v", TRUE, NULL),
    list("IF(quantity > 1, town, @v) = 'x'", NA, NULL),
    list("town = @v", factor("Ashford"), "town = 'Ashford'")
  )) {
    asked <- paste("SELECT COUNT(*) AS n FROM visits WHERE", pair[[1]])
    asked <- ht_explain(con, asked, params = list(v = pair[[2]]))
    if (!is.null(pair[[3]])) {
      stopifnot(identical(asked$parts[[1]]$explanation$condition, pair[[3]]))
    }
  }
  several <- list(list(1), list(a = 1:2), list(a = -Inf), list(a = NaN), list("a b" = 1), list(a = 1i))
  for (wrong in several) {
    refused <- condition_of(ht_explain(con, sql, params = wrong))
    stopifnot(inherits(refused, "hushtable_usage"))
  }
  stopifnot(inherits(condition_of(ht_sql(con, NA_character_)), "hushtable_usage"))

  # Conditions by their classes.
  refused <- condition_of(ht_sql(con, "SELECT MIN(amount) FROM visits"))
  stopifnot(inherits(refused, "hushtable_refused"), nzchar(refused$hint))
  stopifnot(grepl("hint: ", conditionMessage(refused), fixed = TRUE))
  refused <- condition_of(ht_explain(con, "SELECT COUNT(* FROM visits"))
  stopifnot(inherits(refused, "hushtable_refused"), grepl("^", refused$what, fixed = TRUE))
  dear <- "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 9) COUNT(*) AS n FROM visits"
  over <- condition_of(ht_sql(con, dear))
  stopifnot(inherits(over, "hushtable_budget"), grepl("ask", over$hint))
  stopifnot(!isTRUE(ht_explain(con, dear)$accounts[[1]]$suffices))
  other <- ht_open(folder, command = command, analyst = "nobody")
  stopifnot(inherits(condition_of(ht_sql(other, sql)), "hushtable_refused"))
  stopifnot(nrow(ht_budget(other)) == 0L)
  visits <- file.path(folder, "visits.csv")
  file.rename(visits, paste0(visits, ".gone"))
  gone <- condition_of(ht_sql(con, "SELECT COUNT(*) AS n FROM visits"))
  stopifnot(inherits(gone, "hushtable_error"), grepl("visits.csv", gone$what))
  file.rename(paste0(visits, ".gone"), visits)

  # A budget.
  budget <- ht_budget(con)
  stopifnot(identical(budget$analyst, "ana"), identical(budget$population, "visits"))
  stopifnot(budget$total_epsilon == 5, budget$left_epsilon == 4, is.double(budget$left_delta))
  stopifnot(!"total_rho" %in% names(budget))

  # Time that is too short.
  if (.Platform$OS.type == "unix") {
    slow <- file.path(folder, "slow")
    writeLines(c("#!/bin/sh", "exec sleep 30"), slow)
    Sys.chmod(slow, "0755")
    con$command <- slow
    con$timeout <- 1
    started <- Sys.time()
    late <- condition_of(ht_sql(con, sql))
    stopifnot(inherits(late, "hushtable_timeout"), grepl("ht_budget", late$hint))
    stopifnot(difftime(Sys.time(), started, units = "secs") < 25)
  }
}
