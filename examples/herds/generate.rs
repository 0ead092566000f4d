//! Makes `farms.csv`: 36,000 farms with milk cows, in the shape of the census of 2022.
//! Nobody is in it.
//!
//! ```text
//! cargo run --release --example herds > examples/herds/farms.csv
//! ```

use std::io::Write as _;

fn main() {
    // A closed pipe is the reader's business.
    let _ = std::io::stdout().write_all(hushtable_experiments::herds::csv(1).as_bytes());
}
