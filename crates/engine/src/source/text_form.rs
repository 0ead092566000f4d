//! The form of a text: where it has digits, letters and signs, but not which.

/// Most characters of a form; the rest is cut off.
const LONGEST: usize = 40;

/// The form of a text. Bytes that are not UTF-8 are `\u{fffd}`.
pub(crate) fn form(bytes: &[u8]) -> String {
    // A character has four bytes at most.
    let start = bytes.get(..(LONGEST + 1) * 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(start);
    let mut form: String = text.chars().take(LONGEST).map(shape).collect();
    if text.chars().nth(LONGEST).is_some() {
        form.push('…');
    }
    form
}

fn shape(c: char) -> char {
    if c.is_numeric() {
        '9'
    } else if c.is_uppercase() {
        'A'
    } else if c.is_alphabetic() {
        'a'
    } else {
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_shows_where_digits_and_letters_are() {
        for (text, want) in [
            ("12.05.2024", "99.99.9999"),
            ("-1,234.50 €", "-9,999.99 €"),
            ("Ännchen O'Neil", "Aaaaaaa A'Aaaa"),
            ("٣٤ 日本", "99 aa"),
            ("", ""),
        ] {
            assert_eq!(form(text.as_bytes()), want);
        }
        assert_eq!(form(b"caf\xe9 7"), "aaa\u{fffd} 9");
        assert_eq!(form("x".repeat(100_000).as_bytes()), format!("{}…", "a".repeat(LONGEST)));
        assert_eq!(form("é".repeat(LONGEST).as_bytes()), "a".repeat(LONGEST));
    }
}
