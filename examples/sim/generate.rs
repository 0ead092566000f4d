//! Makes `records.csv`: 100,000 records in 1000 categories, with two values of heavy tails.
//! Nobody is in it.
//!
//! ```text
//! cargo run --release --example sim > examples/sim/records.csv
//! ```

use std::io::Write as _;

fn main() {
    // A closed pipe is the reader's business.
    let _ = std::io::stdout().write_all(hushtable_experiments::sim::csv(1).as_bytes());
}
