//! The ledger from outside: budgets, races, crashes, files.

// Clippy knows the functions marked as tests, but not their helpers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backups;
mod budget;
mod crash;
mod files;
mod parts;
mod populations;
mod property;
mod race;
mod size_limit;
mod support;
