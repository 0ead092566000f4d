//! Tests of what hostile input can do to each reader: targets, and a harness that runs them on
//! stable Rust.

mod charged_plan;
mod harness;
mod ledger_edits;
mod mutate;
mod reactions;
mod seeds;
mod stored_inputs;
mod stress;
mod targets;

pub use harness::{
    Cost, FuzzFailure, FuzzOutcome, Limits, Target, fuzz, measured, reaction_to, replay,
};
pub use reactions::Reaction;
pub use stored_inputs::{corpus, minimise, store, stored};
pub use stress::statements;
pub use targets::{
    TARGETS, arrow, contract, csv, explain, json_lines, ledger_file, model_file, parquet, plan,
    sql, workload,
};
