//! DataFusion's options that decide which rows a plan reads, set one by one.
//!
//! Some optimisations of DataFusion gave wrong rows in silence (its issues 24355, 24352 and 22941,
//! and 24056): filters that come up while a plan runs, files of which a part is left out by its
//! statistics or by a LIMIT, joins by sorting that spill. Nothing here needs them, and a wrong row
//! is a wrong promise, so that none begins with a new version's defaults.

use datafusion::prelude::SessionConfig;

/// The configuration of every session.
pub(crate) fn config() -> SessionConfig {
    let mut config = SessionConfig::new();
    let options = config.options_mut();
    let optimizer = &mut options.optimizer;
    // Filters that a join, an ORDER BY with a LIMIT or an aggregate makes of the rows so far. The
    // first switch sets the others only where it is set by its name.
    optimizer.enable_dynamic_filter_pushdown = false;
    optimizer.enable_join_dynamic_filter_pushdown = false;
    optimizer.enable_topk_dynamic_filter_pushdown = false;
    optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // Limits and orders that are taken past other operators.
    optimizer.enable_topk_aggregation = false;
    optimizer.enable_topk_repartition = false;
    optimizer.enable_window_limits = false;
    optimizer.enable_window_topn = false;
    optimizer.enable_distinct_aggregation_soft_limit = false;
    optimizer.enable_sort_pushdown = false;
    // Joins are by hashes: those by sorting are the ones that spill rows of one side.
    optimizer.prefer_hash_join = true;
    optimizer.enable_piecewise_merge_join = false;
    // No table here is a file to DataFusion. If one were, it would be read as a whole.
    let execution = &mut options.execution;
    execution.collect_statistics = false;
    execution.parquet.pruning = false;
    execution.parquet.enable_page_index = false;
    execution.parquet.bloom_filter_on_read = false;
    execution.parquet.pushdown_filters = false;
    config
}
