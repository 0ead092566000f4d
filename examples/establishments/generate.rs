//! Makes `establishments.csv`: 20,000 places of business in 40 counties. Nothing in it is real.
//!
//! ```text
//! cargo run --release --example establishments > examples/establishments/establishments.csv
//! cargo run --release --example establishments -- 1000000 3222 > large.csv
//! ```

use std::io::Write as _;

use hushtable_experiments::establishments::{EXAMPLE, Size, csv, generate};

fn main() {
    let mut asked = std::env::args().skip(1).map(|word| word.parse().ok());
    let rows = asked.next().flatten().map_or(EXAMPLE.rows, |rows: u32| rows as usize);
    let counties = asked.next().flatten().unwrap_or(EXAMPLE.counties);
    // A closed pipe is the reader's business.
    let made = csv(&generate(Size { rows, counties }, 1));
    let _ = std::io::stdout().write_all(made.as_bytes());
}
