//! Tests of what hostile input can do to each reader: targets, and a harness that runs them on
//! stable Rust.

mod harness;
mod mutate;
mod seeds;
mod targets;

pub use harness::{Failed, LIMIT, Target, fuzz, replay};
pub use targets::{TARGETS, arrow, contract, csv, model_file, parquet, sql, workload};
