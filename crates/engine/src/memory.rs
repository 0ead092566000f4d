//! The memory that queries may take, and the backend that runs them.

use std::sync::Arc;

use datafusion::execution::TaskContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool, UnboundedMemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;

use crate::backend::{Backend, Embedded};
use crate::error::EngineError;
use crate::memory_limit::MemoryLimit;
use crate::pinned;

/// The pool that operators take their memory from. Nothing is written to disk where it does not
/// suffice: that would be a plain copy of protected rows. And the backend that runs plans, in this
/// pool by default.
#[derive(Clone)]
pub(crate) struct QueryMemory {
    tasks: Arc<TaskContext>,
    limit: Option<MemoryLimit>,
    backend: Arc<dyn Backend>,
}

impl QueryMemory {
    /// A pool with that limit.
    ///
    /// # Errors
    /// Only by a fault of this program.
    pub(crate) fn new(limit: Option<MemoryLimit>) -> Result<Self, EngineError> {
        let pool: Arc<dyn MemoryPool> = match limit {
            Some(limit) => {
                let bytes = usize::try_from(limit.bytes()).unwrap_or(usize::MAX);
                Arc::new(GreedyMemoryPool::new(bytes))
            }
            None => Arc::new(UnboundedMemoryPool::default()),
        };
        let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(pool)
            .with_disk_manager_builder(disk)
            .build_arc()?;
        let context = SessionContext::new_with_config_rt(pinned::config(), runtime);
        Ok(Self { tasks: context.task_ctx(), limit, backend: Arc::new(Embedded) })
    }

    /// With another backend.
    pub(crate) fn with_backend(self, backend: Arc<dyn Backend>) -> Self {
        Self { backend, ..self }
    }

    /// The backend that runs plans.
    pub(crate) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    /// The context that plans run in.
    pub(crate) fn tasks(&self) -> Arc<TaskContext> {
        Arc::clone(&self.tasks)
    }

    /// An error of a plan, which says the limit where there is too little memory.
    #[track_caller]
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
