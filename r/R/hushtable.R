# What users call.

ht_open <- function(contract = "hushtable.toml", command = "hushtable", analyst = NULL,
                    timeout = 0) {
  path <- if (dir.exists(contract)) file.path(contract, "hushtable.toml") else contract
  found <- Sys.which(command)
  con <- structure(
    list(
      contract = normalizePath(path, mustWork = FALSE),
      command = if (nzchar(found)) unname(found) else command,
      analyst = analyst,
      timeout = timeout
    ),
    class = "hushtable_connection"
  )
  if (!nzchar(found)) checked(con, list(code = 127L, messages = character()))
  done <- run(con, c("tables", "--format", "json", "--contract", con$contract))
  done <- checked(con, done, function() "contract")
  tables <- json_value(done$output)
  con$tables <- vapply(tables, function(table) as.character(table$table), "")
  con
}

ht_sql <- function(con, sql, params = list(), intervals = NULL) {
  asked <- question(con, sql, params)
  level <- if (is.null(intervals)) character() else paste0("--intervals=", format(intervals))
  arguments <- c("query", "--format", "json", "--statement", "{}/statement", level)
  done <- run(con, c(arguments, asked$arguments), asked$files)
  done <- checked(con, done, why_not(con, asked$arguments, asked$files))
  statement <- paste(done$statement, collapse = "\n")
  fields <- json_value(statement)
  # What an outer SELECT computes has no types there, and its names are those of the same answer as
  # CSV, which is on record now and free.
  outputs <- if (is.null(fields$around)) fields$parts[[1L]]$release$outputs
  types <- vapply(outputs, function(output) output$type, "")
  names(types) <- vapply(outputs, function(output) output$name, "")
  shown <- if (is.null(fields$around)) {
    names(types)
  } else {
    csv <- checked(con, run(con, c("query", "--format", "csv", asked$arguments), asked$files))
    names(utils::read.csv(text = csv$output, check.names = FALSE, nrows = 1L))
  }
  release <- release_of(json_columns(done$output), types, shown, !is.null(intervals))
  attr(release, "statement") <- statement
  warned <- startsWith(done$messages, "warning: ")
  attr(release, "notes") <- done$messages[!warned]
  for (text in sub("^warning: ", "", done$messages[warned])) {
    class <- c("hushtable_warning", "warning", "condition")
    warning(structure(list(message = text, call = NULL), class = class))
  }
  release
}

# The data frame of an answer. Columns that are not `shown` are ends of intervals.
release_of <- function(columns, types, shown, with_intervals) {
  if (length(columns) == 0L) {
    columns <- lapply(types, function(type) character())
  }
  typed <- Map(
    function(tokens, name) column_of(tokens, if (name %in% names(types)) types[[name]]),
    columns, names(columns)
  )
  frame <- function(columns) {
    rows <- if (length(columns) == 0L) 0L else length(columns[[1L]])
    structure(columns, row.names = .set_row_names(rows), class = "data.frame")
  }
  is_end <- !names(columns) %in% shown
  release <- frame(typed[!is_end])
  class(release) <- c("hushtable_release", "data.frame")
  if (with_intervals) attr(release, "intervals") <- frame(typed[is_end])
  release
}

ht_explain <- function(con, sql, params = list()) {
  asked <- question(con, sql, params)
  json <- run(con, c("explain", "--format", "json", asked$arguments), asked$files)
  fields <- json_value(checked(con, json)$output)
  page <- checked(con, run(con, c("explain", asked$arguments), asked$files))
  structure(c(fields, list(page = page$output)), class = "hushtable_quote")
}

ht_budget <- function(con) {
  done <- run(con, c("budget", "--format", "json", "--contract", con$contract))
  accounts <- json_value(checked(con, done, function() "failed")$output)
  if (!is.null(con$analyst)) {
    accounts <- Filter(function(account) identical(account$analyst, con$analyst), accounts)
  }
  text <- function(names) {
    vapply(accounts, function(account) {
      found <- intersect(names, names(account))
      if (length(found) == 0L) NA_character_ else as.character(account[[found[1L]]])
    }, "")
  }
  number <- function(field, currency) {
    vapply(accounts, function(account) {
      value <- account[[field]][[currency]]
      if (is.null(value)) NA_real_ else as.numeric(value)
    }, 0)
  }
  budget <- data.frame(
    analyst = text("analyst"),
    population = text(c("population", "units", "table")),
    stringsAsFactors = FALSE
  )
  for (field in c("total", "spent", "left")) {
    for (currency in c("epsilon", "rho", "delta")) {
      budget[[paste(field, currency, sep = "_")]] <- number(field, currency)
    }
  }
  # Budgets are in epsilon or in rho.
  unused <- vapply(budget, function(column) nrow(budget) > 0L && all(is.na(column)), NA)
  budget[!unused]
}

print.hushtable_connection <- function(x, ...) {
  cat("Hushtable", x$contract, "\n")
  cat("tables:", paste(x$tables, collapse = ", "), "\n")
  if (!is.null(x$analyst)) cat("analyst:", x$analyst, "\n")
  invisible(x)
}

print.hushtable_quote <- function(x, ...) {
  cat(x$page, sep = "\n")
  invisible(x)
}

print.hushtable_release <- function(x, ...) {
  plain <- x
  class(plain) <- "data.frame"
  print(plain, ...)
  notes <- attr(x, "notes")
  if (length(notes) > 0L) cat(notes, sep = "\n")
  invisible(x)
}
