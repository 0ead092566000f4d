//! Makes `visits.csv`: what fictional customers bought in a fictional chain of shops.
//!
//! The file is in the repository, so this need not be run. It is here so that everybody can see
//! that the data are made up, and make more of them:
//!
//! ```text
//! cargo run --example shop > examples/shop/visits.csv
//! ```

use std::fmt::Write as _;
use std::io::Write as _;

const CUSTOMERS: u64 = 1_500;

/// Towns with the share of customers who live there, in thousandths: a few large ones, and some so
/// small that to be named in a result would point at their customers.
const TOWNS: [(&str, u64); 12] = [
    ("Harbourton", 320),
    ("Millbrook", 240),
    ("Ashford", 160),
    ("Kingsley", 110),
    ("Northvale", 70),
    ("Elmstead", 45),
    ("Ravenhill", 27),
    ("Saltmarsh", 14),
    ("Thornby", 7),
    ("Wick", 4),
    ("Little Dunmow", 2),
    ("Far Isle", 1),
];

/// Products with their share of purchases, in hundredths, and their price in cents.
const PRODUCTS: [(&str, u64, u64); 6] = [
    ("bread", 34, 320),
    ("coffee", 24, 890),
    ("cheese", 18, 1_150),
    ("honey", 12, 740),
    ("wine", 9, 1_490),
    ("truffles", 3, 6_900),
];

/// Marsaglia's xorshift64 with a multiplication: small, and the same everywhere.
struct Random(u64);

impl Random {
    /// A number below `end`. The bias of the remainder is no matter here.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32) % end
    }

    /// An index into `shares`, each as probable as its share.
    fn index(&mut self, shares: impl Iterator<Item = u64> + Clone) -> usize {
        let mut at = self.below(shares.clone().sum());
        for (i, share) in shares.enumerate() {
            if at < share {
                return i;
            }
            at -= share;
        }
        0
    }
}

/// The whole file.
pub fn csv(seed: u64) -> String {
    let mut random = Random(seed);
    let mut out = String::from("customer_id,day,town,product,quantity,amount\n");
    for customer in 0..CUSTOMERS {
        // Most come a few times, some often.
        let mut visits = 1 + random.below(4);
        if random.below(20) == 0 {
            visits += random.below(25);
        }
        let home = random.index(TOWNS.iter().map(|(_, share)| *share));
        for _ in 0..visits {
            // One purchase in eight is made somewhere else, in one of the larger towns.
            let away = random.below(8) == 0;
            let town = if away { random.below(5) as usize } else { home };
            let product = random.index(PRODUCTS.iter().map(|(_, share, _)| *share));
            let (month, day) = (1 + random.below(12), 1 + random.below(28));
            let quantity = 1 + random.below(3) * random.below(2);
            // Prices vary by a tenth from shop to shop.
            let cents = quantity * PRODUCTS[product].2 * (90 + random.below(21)) / 100;
            let _ = writeln!(
                out,
                "{},2025-{month:02}-{day:02},{},{},{quantity},{}.{:02}",
                10_000 + customer * 7,
                TOWNS[town].0,
                PRODUCTS[product].0,
                cents / 100,
                cents % 100,
            );
        }
    }
    out
}

/// The seed of the file in the repository.
pub const SEED: u64 = 20_250_101;

#[allow(dead_code, reason = "the test includes this file as a module")]
fn main() {
    // A closed pipe is the reader's business.
    let _ = std::io::stdout().write_all(csv(SEED).as_bytes());
}
