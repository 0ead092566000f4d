# The command, and its errors as conditions.

# Runs the command, and gives the lines of its output, those of its messages, and its exit code.
run <- function(con, arguments, files = list()) {
  folder <- tempfile("hushtable")
  dir.create(folder, mode = "0700")
  on.exit(unlink(folder, recursive = TRUE))
  for (name in names(files)) {
    path <- file.path(folder, name)
    writeLines(enc2utf8(files[[name]]), path, useBytes = TRUE)
  }
  # `{}` stands for the folder.
  arguments <- sub("^\\{\\}/", paste0(folder, "/"), arguments)
  out <- file.path(folder, "out")
  err <- file.path(folder, "err")
  # The warning of a command that did not end in time says less than the condition.
  code <- suppressWarnings(system2(
    con$command, quoted(arguments),
    stdout = out, stderr = err, stdin = nullfile(), timeout = con$timeout
  ))
  read <- function(path) {
    if (file.exists(path)) readLines(path, encoding = "UTF-8", warn = FALSE) else character()
  }
  statement <- read(file.path(folder, "statement"))
  list(code = code, output = read(out), messages = read(err), statement = statement)
}

# Arguments for a shell that takes none of their characters for its own. As bytes of UTF-8, whatever
# the locale is.
quoted <- function(arguments) {
  arguments <- shQuote(enc2utf8(arguments))
  Encoding(arguments) <- "unknown"
  arguments
}

# The run, or the condition that it ended with.
checked <- function(con, done, kind = NULL) {
  if (done$code == 0L) return(done)
  text <- paste(done$messages, collapse = "\n")
  # The command ends by itself where Ctrl-C came before the charge, and by the signal otherwise:
  # with R's code for that, and without a word.
  gave_up <- grepl("the query was interrupted", text, fixed = TRUE)
  kind <- switch(
    as.character(done$code),
    "1" = if (gave_up) "interrupted" else if (is.null(kind)) "refused" else kind(),
    "2" = if (nzchar(text)) "usage" else "interrupted",
    "101" = "fault",
    "124" = "timeout",
    "127" = "missing",
    "130" = "interrupted",
    "failed"
  )
  hint <- NULL
  if (kind == "timeout" || !nzchar(text)) {
    text <- if (kind == "timeout") {
      sprintf("error: the command did not end within %s seconds", format(con$timeout))
    } else {
      sprintf("error: the command ended with code %d and without an answer", done$code)
    }
    hint <- paste(
      "see what was charged with ht_budget(); an answer that was charged is on record, and the",
      "same question gives it for free"
    )
  }
  if (kind == "missing") {
    text <- sprintf("error: the command `%s` cannot be run", con$command)
    hint <- "install it, or name its path: ht_open(contract, command = \"path/to/hushtable\")"
  }
  stop(condition(kind, text, hint))
}

# A condition of the class hushtable_KIND, and of hushtable_error.
condition <- function(kind, text, hint = NULL) {
  parts <- regmatches(text, regexec("(?s)^(.*?)\n  hint: (.*)$", text, perl = TRUE))[[1L]]
  if (length(parts) == 3L) {
    text <- parts[2L]
    hint <- trimws(parts[3L])
  }
  what <- sub("(?s)^.*?error: ", "", text, perl = TRUE)
  message <- if (is.null(hint)) what else paste0(what, "\n  hint: ", hint)
  structure(
    list(message = message, call = NULL, what = what, hint = hint),
    class = c(paste0("hushtable_", kind), "hushtable_error", "error", "condition")
  )
}

# Why a question failed that the command has not answered: from what it says of the price, which is
# free, and not from words.
why_not <- function(con, arguments, files) {
  function() {
    done <- run(con, c("explain", "--format", "json", arguments), files)
    if (done$code != 0L) return("refused")
    accounts <- json_value(done$output)$accounts
    suffices <- vapply(accounts, function(account) isTRUE(account$suffices), NA)
    if (all(suffices)) "failed" else "budget"
  }
}

# A time in UTC, to the microsecond. `format` cuts digits off, and does not round.
moment <- function(value) {
  micros <- round(as.numeric(as.POSIXct(value)) * 1e6)
  seconds <- floor(micros / 1e6)
  whole <- format(as.POSIXct(seconds, origin = "1970-01-01", tz = "UTC"), "%Y-%m-%d %H:%M:%S")
  sprintf("%s.%06d", whole, as.integer(micros - seconds * 1e6))
}

# A value of R as one for the command's --param.
parameter <- function(name, value) {
  if (!grepl("^[A-Za-z_][A-Za-z0-9_]*$", name)) {
    stop(condition("usage", sprintf("a parameter cannot be called `%s`", name)))
  }
  if (length(value) != 1L) {
    what <- sprintf("the parameter `%s` has %d values, not one", name, length(value))
    stop(condition("usage", what, sprintf("give one value: params = list(%s = 1)", name)))
  }
  text <- if (is.na(value) && !(is.numeric(value) && is.nan(value))) {
    "NULL"
  } else if (inherits(value, "Date")) {
    format(value, "%Y-%m-%d")
  } else if (inherits(value, "POSIXt")) {
    moment(value)
  } else if (is.character(value) || is.factor(value)) {
    # In quotes, so that "65" and "NULL" stay texts.
    paste0("'", as.character(value), "'")
  } else if (is.logical(value)) {
    if (value) "TRUE" else "FALSE"
  } else if (is.numeric(value) && is.finite(value)) {
    format(value, digits = 17L, scientific = abs(value) >= 1e15 || abs(value) < 1e-5)
  } else {
    what <- sprintf("the parameter `%s` has no value that SQL knows", name)
    hint <- "give a number, a text, a logical, a Date or a POSIXct"
    stop(condition("usage", what, hint))
  }
  paste0(name, "=", text)
}

# The arguments of a question, and the file with its SQL.
question <- function(con, sql, params) {
  if (!is.character(sql) || length(sql) == 0L || anyNA(sql)) {
    stop(condition("usage", "`sql` is no text", "give one: \"SELECT COUNT(*) AS n FROM visits\""))
  }
  named <- length(params) == 0L || (!is.null(names(params)) && all(nzchar(names(params))))
  if (!named) {
    stop(condition("usage", "`params` has no names", "params = list(town = \"Ashford\")"))
  }
  values <- mapply(parameter, names(params), params)
  values <- if (length(values) == 0L) character() else as.vector(rbind("--param", values))
  analyst <- if (is.null(con$analyst)) character() else c("--analyst", con$analyst)
  list(
    arguments = c("--contract", con$contract, analyst, values, "--file", "{}/question.sql"),
    files = list(question.sql = sql)
  )
}
