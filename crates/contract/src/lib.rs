//! The contract between the owner of data and those who ask: tables and their columns, privacy
//! units, budgets and defaults, read from TOML and checked. It reads no file, and nothing of the
//! data.

mod contract;
mod interval_request;
mod wishes;

pub use contract::{
    AUTO, Column, Contract, ContractError, CsvSettingError, CsvSettings, DateOrder, Defaults,
    LearntBounds, MAX_GROUPS, MAX_PUBLIC_KEYS, MAX_ROWS, MAX_ROWS_JOINED, NumberFormat, Population,
    Split, SplitBy, Table, TableUnit, TextFormat, UnitLimit, column_of, defaults, loss, read,
    row_expression, stored,
};
pub use interval_request::{IntervalRequest, Level, ReportFormat};
pub use wishes::{NoiseKind, Prefer};
