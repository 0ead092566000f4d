//! Tests of what hostile input can do to each reader: targets, and a harness that runs them on
//! stable Rust.

mod harness;
mod mutate;
mod seeds;
mod stress;
mod targets;

pub use harness::{Cost, Failed, Limits, Target, fuzz, measured, replay};
pub use stress::statements;
pub use targets::{TARGETS, arrow, contract, csv, explain, model_file, parquet, sql, workload};
