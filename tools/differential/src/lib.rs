//! Random SQL in two spellings, ours and another engine's, and what ours answers.

pub mod asking;

pub mod made_up_tables;
pub mod pending;
pub mod random_expressions;
pub mod relations_of_rows;
pub mod spelling;
pub mod whole_statements;

/// Errors of this tool, for people.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
