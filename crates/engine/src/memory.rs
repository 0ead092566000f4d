//! The memory that queries may take.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool, UnboundedMemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use hushtable_query::Refusal;

use crate::error::EngineError;

/// Units of memory, by their names in lower case.
const UNITS: [(&str, u64); 10] = [
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("", 1),
];

/// The least limit: a query that reads one file needs some.
const LEAST: u64 = 1 << 20;

/// Most bytes that all queries of a session may take at once, as `4GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryLimit(u64);

impl MemoryLimit {
    /// The number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl FromStr for MemoryLimit {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        let wrong = || {
            Refusal::new(
                format!("`{text}` is not an amount of memory of 1MiB or more"),
                "give a whole number and its unit, such as 512MiB or 4GiB",
            )
        };
        let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at_checked(end).ok_or_else(wrong)?;
        let unit = unit.trim_start().to_ascii_lowercase();
        let (_, size) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let bytes = number.parse().ok().and_then(|number: u64| number.checked_mul(*size));
        bytes.filter(|bytes| *bytes >= LEAST).map(Self).ok_or_else(wrong)
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = UNITS.iter().filter(|(name, size)| {
            (name.ends_with("ib") || *size == 1) && self.0.is_multiple_of(*size)
        });
        let (name, size) = whole.max_by_key(|(_, size)| *size).unwrap_or(&("b", 1));
        let name = match *name {
            "kib" => "KiB",
            "mib" => "MiB",
            "gib" => "GiB",
            "tib" => "TiB",
            _ => "bytes",
        };
        let blank = if name == "bytes" { " " } else { "" };
        write!(f, "{}{blank}{name}", self.0 / size)
    }
}

/// The pool that operators take their memory from. Nothing is written to disk where it does not
/// suffice: that would be a plain copy of protected rows.
#[derive(Clone)]
pub(crate) struct Memory {
    tasks: Arc<TaskContext>,
    limit: Option<MemoryLimit>,
}

impl Memory {
    /// A pool with that limit.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn new(limit: Option<MemoryLimit>) -> Result<Self, EngineError> {
        let pool: Arc<dyn MemoryPool> = match limit {
            Some(MemoryLimit(bytes)) => {
                let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
                Arc::new(GreedyMemoryPool::new(bytes))
            }
            None => Arc::new(UnboundedMemoryPool::default()),
        };
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(pool)
            .with_disk_manager_builder(disk)
            .build_arc()?;
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime);
        Ok(Self { tasks: context.task_ctx(), limit })
    }

    /// The context that plans run in.
    pub(crate) fn tasks(&self) -> Arc<TaskContext> {
        Arc::clone(&self.tasks)
    }

    /// An error of a plan, which says the limit where there is too little memory.
    pub(crate) fn explained(&self, error: impl Into<EngineError>) -> EngineError {
        match error.into() {
            EngineError::Memory { .. } => EngineError::Memory { limit: self.limit },
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_shown() {
        for (text, bytes, shown) in [
            ("4GiB", 4 << 30, "4GiB"),
            ("1500 mib", 1500 << 20, "1500MiB"),
            ("2GB", 2_000_000_000, "1953125KiB"),
            ("1048577", 1_048_577, "1048577 bytes"),
            ("1048576b", 1 << 20, "1MiB"),
        ] {
            let limit: MemoryLimit = text.parse().unwrap();
            assert_eq!((limit.bytes(), limit.to_string().as_str()), (bytes, shown));
        }
        for text in
            ["", "GiB", "4", "-1GiB", "1.5GiB", "4 parsecs", "99999999999TiB", "1023KiB", "é"]
        {
            let error = text.parse::<MemoryLimit>().unwrap_err();
            assert!(error.what.contains("is not an amount of memory"), "{error}");
        }
    }
}
