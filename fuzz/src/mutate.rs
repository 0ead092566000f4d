//! Inputs made of others.

/// Longest input: a query has at most as many bytes.
const MAX_BYTES: usize = 65_536;

/// Pieces of the languages that are read, and openings with their ends.
const WORDS: [&str; 40] = [
    "SELECT ",
    "FROM t ",
    "WHERE ",
    "GROUP BY ",
    "CASE WHEN ",
    " THEN ",
    " ELSE ",
    " END",
    "NOT ",
    "CAST(",
    " AS INT64)",
    "IN (",
    "BETWEEN ",
    " AND ",
    " OR ",
    "INTERVAL ",
    "ARRAY[",
    "ARRAY<",
    "STRUCT<",
    "EXTRACT(",
    "SUBSTRING(",
    "((SELECT ",
    "NULL",
    "''",
    "`",
    "\"\"\"",
    "/*",
    "--",
    "\\",
    "= ",
    "[[",
    "]]",
    "{",
    "}",
    "\n",
    "\r\n",
    "\u{feff}",
    "9999999999999999999",
    "1e308",
    "-",
];
const PAIRS: [(&str, &str); 16] = [
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("CAST(", " AS INT64)"),
    ("SAFE_CAST(", " AS STRING)"),
    ("CASE WHEN ", " THEN 1 END"),
    ("CASE x WHEN 1 THEN ", " END"),
    ("NOT (", ")"),
    ("POSITION(", ")"),
    ("INTERVAL (", ") DAY"),
    ("((SELECT * FROM ", "))"),
    ("x IN ((SELECT ", "))"),
    ("a[1].", ""),
    ("a.", ""),
    ("f(", ")"),
    ("NULLIF(", ", 1)"),
];

/// Bytes at the ends of ranges.
const BYTES: [u8; 8] = [0x00, 0x01, 0x7f, 0x80, 0xff, b'0', b'9', b'-'];

/// A small generator: what is found must be found again from the same seed.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        // xorshift64*.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Below `end`; 0 where that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// Another input, from one of the pool and parts of others.
pub(crate) fn mutated(pool: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = chosen(pool, random).to_vec();
    for _ in 0..=random.below(6) {
        change(&mut input, pool, random);
        input.truncate(MAX_BYTES);
    }
    input
}

fn chosen<'a>(pool: &'a [Vec<u8>], random: &mut Random) -> &'a [u8] {
    pool.get(random.below(pool.len())).map_or(&[], Vec::as_slice)
}

fn change(input: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(64)).min(input.len());
    let times = 1 << random.below(8);
    match random.below(13) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            let byte = random.below(256) as u8;
            input.insert(at, byte);
        }
        2 => drop(input.drain(at..end)),
        3 => {
            let piece = input[at..end].repeat(times);
            input.splice(at..at, piece);
        }
        4 | 5 => {
            let word = WORDS[random.below(WORDS.len())];
            input.splice(at..at, word.bytes());
        }
        6 => {
            let (open, close) = PAIRS[random.below(PAIRS.len())];
            let close = if random.below(4) == 0 { "" } else { close };
            input.splice(end..end, close.repeat(times).into_bytes());
            input.splice(at..at, open.repeat(times).into_bytes());
        }
        7 => {
            let other = chosen(pool, random);
            let start = random.below(other.len() + 1);
            let slice = other[start..].iter().copied().take(random.below(512)).collect::<Vec<_>>();
            input.splice(at..at, slice);
        }
        8 => input.truncate(at),
        // In place, as lengths stand before many parts of binary formats.
        9 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = BYTES[random.below(BYTES.len())];
            }
        }
        10 | 11 => {
            let digit = b'0' + random.below(10) as u8;
            let next = input.iter_mut().skip(at).find(|byte| byte.is_ascii_digit());
            next.into_iter().for_each(|byte| *byte = digit);
        }
        _ => {
            let from = random.below(input.len() + 1);
            let length = random.below(32).min(input.len() - from.max(at));
            input.copy_within(from..from + length, at);
        }
    }
}
