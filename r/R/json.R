# JSON, as the command writes it, to R: without another package.

json_pattern <- paste0(
  "\"[^\"\\\\]*(?:\\\\.[^\"\\\\]*)*\"",
  "|-?[0-9][0-9.eE+-]*|true|false|null|[{}\\[\\],:]"
)

# The tokens of some lines of text. By bytes, as R finds characters in long text slowly.
json_tokens <- function(lines) {
  Encoding(lines) <- "bytes"
  found <- gregexpr(json_pattern, lines, perl = TRUE, useBytes = TRUE)
  tokens <- as.character(unlist(regmatches(lines, found)))
  Encoding(tokens) <- "UTF-8"
  tokens
}

# What texts in quotes say.
json_text <- function(tokens) {
  texts <- substr(tokens, 2L, nchar(tokens) - 1L)
  escaped <- grepl("\\", texts, fixed = TRUE)
  texts[escaped] <- vapply(texts[escaped], unescape, "", USE.NAMES = FALSE)
  texts
}

unescape <- function(text) {
  pattern <- paste0(
    "\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}",
    "|\\\\u[0-9a-fA-F]{4}|\\\\."
  )
  found <- gregexpr(pattern, text, perl = TRUE)
  regmatches(text, found)[[1L]] <- vapply(regmatches(text, found)[[1L]], escape_says, "")
  text
}

escape_says <- function(escape) {
  units <- strtoi(substring(escape, c(3L, 9L), c(6L, 12L)), 16L)
  switch(
    substr(escape, 2L, 2L),
    b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
    # R's texts cannot hold a zero.
    u = if (nchar(escape) > 6L) {
      intToUtf8(0x10000L + (units[1L] - 0xd800L) * 0x400L + (units[2L] - 0xdc00L))
    } else if (units[1L] == 0L || (units[1L] >= 0xd800L && units[1L] <= 0xdfffL)) {
      "\ufffd"
    } else {
      intToUtf8(units[1L])
    },
    substr(escape, 2L, 2L)
  )
}

# A whole text: objects and arrays as lists.
json_value <- function(lines) {
  tokens <- json_tokens(lines)
  at <- 0L
  take <- function() {
    at <<- at + 1L
    if (at > length(tokens)) stop("JSON ends too early")
    tokens[at]
  }
  value <- function() {
    token <- take()
    switch(
      token,
      "{" = members(),
      "[" = elements(),
      "true" = TRUE,
      "false" = FALSE,
      "null" = NULL,
      if (startsWith(token, "\"")) json_text(token) else as.numeric(token)
    )
  }
  members <- function() {
    all <- list()
    repeat {
      token <- take()
      if (token == "}") return(all)
      if (token == ",") next
      take()
      # As a list, so that NULL is a value.
      all[json_text(token)] <- list(value())
    }
  }
  elements <- function() {
    all <- list()
    repeat {
      token <- take()
      if (token == "]") return(all)
      if (token != ",") {
        at <<- at - 1L
        all[length(all) + 1L] <- list(value())
      }
    }
  }
  value()
}

# An array of rows, each an object of plain values with the same keys: the tokens of each column.
json_columns <- function(lines) {
  tokens <- json_tokens(lines)
  rows <- sum(tokens == "{")
  tokens <- tokens[!tokens %in% c("{", "}", "[", "]", ":", ",")]
  if (rows == 0L) return(list())
  tokens <- matrix(tokens, ncol = rows)
  keys <- seq(1L, nrow(tokens), by = 2L)
  columns <- lapply(keys + 1L, function(row) tokens[row, ])
  names(columns) <- json_text(tokens[keys, 1L])
  columns
}

# A column of the type that the statement says; without one, of the type that its values have.
column_of <- function(tokens, type = NULL) {
  missing <- tokens == "null"
  quoted <- startsWith(tokens, "\"")
  values <- tokens
  values[quoted] <- json_text(tokens[quoted])
  values[missing] <- NA_character_
  if (is.null(type)) type <- type_of(values[!missing], quoted[!missing])
  switch(
    sub("\\(.*", "", type),
    bool = values == "true",
    int = whole_numbers(values, quoted),
    decimal = ,
    float = as.numeric(values),
    date = as.Date(values, format = "%Y-%m-%d"),
    timestamp = as.POSIXct(values, format = "%Y-%m-%dT%H:%M:%OS", tz = "UTC"),
    none = rep(NA, length(values)),
    values
  )
}

type_of <- function(values, quoted) {
  all_are <- function(pattern) all(grepl(pattern, values))
  day <- "^[0-9]{4}-[0-9]{2}-[0-9]{2}"
  if (length(values) == 0L) return("none")
  if (!any(quoted)) {
    if (all(values %in% c("true", "false"))) return("bool")
    return(if (all_are("^-?[0-9]+$")) "int" else "float")
  }
  # A number that a float would alter is text.
  if (!all(quoted)) return(if (all_are("^-?[0-9]+$")) "int" else "float")
  if (all_are(paste0(day, "$"))) return("date")
  if (all_are(paste0(day, "T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?$"))) return("timestamp")
  "string"
}

# Integers where R has them, else doubles; but text where doubles would alter a value, as two keys
# could become one.
whole_numbers <- function(values, quoted) {
  if (any(quoted)) return(values)
  numbers <- as.numeric(values)
  fits <- all(is.na(numbers) | abs(numbers) <= .Machine$integer.max)
  if (fits) as.integer(numbers) else numbers
}
