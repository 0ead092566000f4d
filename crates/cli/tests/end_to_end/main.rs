//! The `hushtable` command as users meet it.

// Helpers outside of test functions may panic as tests do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod assess;
mod assess_microdata;
mod assess_tables;
mod audits;
mod budgets;
mod calc;
mod checks;
mod drafts;
mod examples;
mod instructions;
mod kills;
mod learnt;
mod ledgers;
mod local;
mod losses;
mod mechanisms;
mod models;
mod outputs;
mod pace;
mod plots;
mod populations;
mod protected;
mod quantiles;
mod queries;
mod shells;
mod sources;
mod statements;
mod summaries;
mod support;
mod surroundings;
mod terminals;
mod words;
mod workloads;
