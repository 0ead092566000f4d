//! The most memory that queries may take.

use std::fmt;
use std::str::FromStr;

use hushtable_lang::Refusal;

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
