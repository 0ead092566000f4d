//! Makes `visits.csv`: visits to fictional clinics, exported the way that old systems export.
//!
//! Semicolons, windows-1252, decimal commas, points between thousands, days before months, three
//! ways to say that there is nothing, blanks where nobody wanted them, and lines that are there
//! twice. The file is in the repository, so this need not be run:
//!
//! ```text
//! cargo run --example clinics > examples/clinics/visits.csv
//! ```

use std::io::Write as _;

const PATIENTS: u64 = 2_400;

/// Districts with the share of patients who live there, in thousandths.
const DISTRICTS: [(&str, u64); 11] = [
    ("Köslitz", 260),
    ("Altenhöfen", 210),
    ("Moorbach", 170),
    ("Grünwald", 130),
    ("Nordheim", 95),
    ("Seefeld", 60),
    ("Brückenau", 40),
    ("Hinterzell", 20),
    ("Öd", 10),
    ("Kaltenbrunn", 4),
    ("Einsiedel", 1),
];

/// Reasons with their share of visits, in hundredths, and their usual cost in cents.
const REASONS: [(&str, u64, u64); 6] = [
    ("check-up", 38, 6_500),
    ("infection", 27, 8_200),
    ("injury", 16, 31_000),
    ("vaccination", 11, 3_900),
    ("surgery", 5, 420_000),
    ("therapy", 3, 96_000),
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

/// Cents as `1.234,50`.
fn money(cents: u64) -> String {
    let (whole, rest) = (cents / 100, cents % 100);
    if whole < 1_000 {
        format!("{whole},{rest:02}")
    } else {
        format!("{}.{:03},{rest:02}", whole / 1_000, whole % 1_000)
    }
}

/// The text of the file.
fn text(seed: u64) -> String {
    let mut random = Random(seed);
    let mut out = String::from("patient_no;birth_year;district;visit_date;reason;cost\r\n");
    for patient in 0..PATIENTS {
        let born = 1935 + random.below(85);
        let home = DISTRICTS[random.index(DISTRICTS.iter().map(|(_, share)| *share))].0;
        let mut visits = 1 + random.below(3);
        if random.below(15) == 0 {
            visits += random.below(20);
        }
        for _ in 0..visits {
            let reason = random.index(REASONS.iter().map(|(_, share, _)| *share));
            let cents = REASONS[reason].2 * (70 + random.below(60)) / 100;
            let (day, month) = (1 + random.below(28), 1 + random.below(12));
            let district = match random.below(60) {
                0 => "n/a".to_owned(),
                1 => "-".to_owned(),
                2 => format!(" {home}"),
                3 => home.to_uppercase(),
                _ => home.to_owned(),
            };
            let cost = match random.below(50) {
                0 => "n/a".to_owned(),
                1 => format!("{} €", money(cents)),
                _ => money(cents),
            };
            let line = format!(
                "P{:05};{born};{district};{day:02}.{month:02}.2024;{};{cost}\r\n",
                10_000 + patient * 13,
                REASONS[reason].0,
            );
            out.push_str(&line);
            if random.below(90) == 0 {
                out.push_str(&line);
            }
        }
    }
    out
}

/// The whole file, in windows-1252.
pub fn csv(seed: u64) -> Vec<u8> {
    // Its letters and the euro sign are all that the text has beyond ASCII.
    let byte = |c: char| if c == '€' { 0x80 } else { c as u32 as u8 };
    text(seed).chars().map(byte).collect()
}

/// The seed of the file in the repository.
pub const SEED: u64 = 20_240_101;

#[allow(dead_code, reason = "the test includes this file as a module")]
fn main() {
    // A closed pipe is the reader's business.
    let _ = std::io::stdout().write_all(&csv(SEED));
}
