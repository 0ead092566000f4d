# JSON as the command writes it.

value <- hushtable:::json_value
columns <- hushtable:::json_columns
column <- hushtable:::column_of

stopifnot(identical(value("[]"), list()), identical(value("{}"), list()))
found <- value(c("{\"a\": [1, -2.5e-3, true, null],", " \"b\": {\"\": \"x\"}, \"c\": null}"))
stopifnot(identical(found$a, list(1, -2.5e-3, TRUE, NULL)), "c" %in% names(found))
stopifnot(identical(found$b[[1]], "x"), is.null(found$c))
text <- function(token) value(token)
stopifnot(identical(text("\"a\\\"\\\\\\/\\n\\t\\u00e9 {[,:]}\""), "a\"\\/\n\t\u00e9 {[,:]}"))
stopifnot(identical(text("\"\\ud83d\\ude00 \\\\u0041\""), "\U1F600 \\u0041"))
stopifnot(identical(text("\"\\u0000\""), "\ufffd"), identical(text("\"\""), ""))

rows <- columns(c(
  "[", "  {\"k\": \"a,b\", \"n\": 1, \"n\": null},", "  {\"k\": null, \"n\": 2, \"n\": \"{\"}", "]"
))
stopifnot(identical(names(rows), c("k", "n", "n")), identical(rows[[2]], c("1", "2")))
stopifnot(identical(column(rows[[1]]), c("a,b", NA)), identical(column(rows[[3]]), c(NA, "{")))
stopifnot(identical(columns("[]"), list()))

stopifnot(identical(column(c("1", "null")), c(1L, NA)), is.double(column("3000000000")))
stopifnot(identical(column(c("1.0", "2")), c(1, 2)))
stopifnot(identical(column(c("1", "2"), "float"), c(1, 2)))
stopifnot(identical(column(c("\"Infinity\"", "1"), "float"), c(Inf, 1)))
stopifnot(identical(column(c("1", "\"9007199254740993\"")), c("1", "9007199254740993")))
stopifnot(identical(column(c("\"12345678901234567.25\"", "1.5"), "decimal(2)")[2], 1.5))
stopifnot(identical(column(c("true", "null", "false")), c(TRUE, NA, FALSE)))
stopifnot(identical(column("\"2024-02-29\""), as.Date("2024-02-29")))
stopifnot(identical(column("\"2024-02-29\"", "string"), "2024-02-29"))
at <- column("\"2024-02-29T01:02:03\"")
stopifnot(inherits(at, "POSIXct"), format(at, tz = "UTC") == "2024-02-29 01:02:03")
stopifnot(identical(column(c("\"2024-02-29\"", "\"x\"")), c("2024-02-29", "x")))
stopifnot(identical(column(c("null", "null")), c(NA, NA)))

# Times as parameters.
moment <- hushtable:::moment
for (text in c("2024-01-01 00:00:00.100000", "1969-12-31 23:59:59.500000", "2024-02-29 01:02:03.000000")) {
  stopifnot(identical(moment(as.POSIXct(text, tz = "UTC")), text))
}
