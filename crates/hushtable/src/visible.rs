//! Characters that steer a terminal, or cannot be seen on it.
//!
//! Keys come from the data, names from files and contracts, queries from analysts: any of them may
//! hold what moves the cursor, turns the direction of writing around, or makes two texts look the
//! same.

/// `text` on one line, with such characters as escapes.
pub fn visible(text: &str) -> String {
    escaped(text, |c, out| out.extend(c.escape_default()), is_plain)
}

/// The lines of a text, each [`visible`].
pub fn visible_lines(text: &str) -> String {
    escaped(text, |c, out| out.extend(c.escape_default()), |c| c == '\n' || is_plain(c))
}

/// JSON with such characters as JSON's own escapes, so that it says the same.
pub fn visible_json(text: &str) -> String {
    let escape = |c: char, out: &mut String| {
        let mut units = [0; 2];
        for unit in c.encode_utf16(&mut units) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    };
    escaped(text, escape, |c| c == '\n' || is_plain(c))
}

fn escaped(
    text: &str,
    escape: impl Fn(char, &mut String),
    is_plain: impl Fn(char) -> bool,
) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_plain(c) {
            out.push(c);
        } else {
            escape(c, &mut out);
        }
    }
    out
}

fn is_plain(c: char) -> bool {
    c == ' ' || !(c.is_control() || c.is_whitespace() || is_unseen(c) || is_blank(c))
}

/// Whether a character has a width and no ink, and is no white space by Unicode's properties: the
/// pattern of Braille without dots, the musical head of a null note, the blanks of Egyptian
/// hieroglyphs, the filler of Khitan's small script.
fn is_blank(c: char) -> bool {
    matches!(c, '\u{2800}' | '\u{13441}'..='\u{13442}' | '\u{16fe4}' | '\u{1d159}')
}

/// Whether a character has no width, breaks lines or turns the direction of writing around:
/// Unicode's default ignorable code points, its line separators, its interlinear annotations and
/// the controls of hieroglyphs.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffc}'
            | '\u{13430}'..='\u{13440}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control sequence, a line, a turn of direction, zero width, a tag, and what is harmless.
    const TEXT: &str = "a\u{1b}[2Jb\nc\u{202e}d\u{200b}\u{feff}\u{e0041}\u{9b} é 日";

    #[test]
    fn what_steers_a_terminal_is_shown() {
        let escaped = "a\\u{1b}[2Jb\\nc\\u{202e}d\\u{200b}\\u{feff}\\u{e0041}\\u{9b} é 日";
        assert_eq!(visible(TEXT), escaped);
        assert_eq!(visible_lines(TEXT), escaped.replace("\\n", "\n"));
        assert_eq!(visible(escaped), escaped);
    }

    /// Unicode's Default_Ignorable_Code_Point and White_Space, and what has a width and no ink.
    #[test]
    fn what_looks_like_nothing_or_like_a_space_is_shown() {
        let ignorable = [
            0xad..=0xad,
            0x34f..=0x34f,
            0x61c..=0x61c,
            0x115f..=0x1160,
            0x17b4..=0x17b5,
            0x180b..=0x180f,
            0x200b..=0x200f,
            0x202a..=0x202e,
            0x2060..=0x206f,
            0x3164..=0x3164,
            0xfe00..=0xfe0f,
            0xfeff..=0xfeff,
            0xffa0..=0xffa0,
            0xfff0..=0xfff8,
            0x1bca0..=0x1bca3,
            0x1d173..=0x1d17a,
            0xe0000..=0xe0fff,
        ];
        let spaces = [
            0x85..=0x85,
            0xa0..=0xa0,
            0x1680..=0x1680,
            0x2000..=0x200a,
            0x2028..=0x2029,
            0x202f..=0x202f,
            0x205f..=0x205f,
            0x3000..=0x3000,
        ];
        let blanks = [0x2800..=0x2800, 0x13441..=0x13442, 0x16fe4..=0x16fe4, 0x1d159..=0x1d159];
        let all = ignorable.into_iter().chain(spaces).chain(blanks).flatten();
        for c in all.filter_map(char::from_u32) {
            let escaped = format!("a{}b", c.escape_unicode());
            assert_eq!(visible(&format!("a{c}b")), escaped);
            assert_eq!(visible_lines(&format!("a{c}b")), escaped);
        }
        // Letters, signs and a space stay, in every script.
        let text = "Zoë's 25 °C, Ω≠א ک ก ฿ ༀ 語 ⠁ ● 👍 \u{fffd}";
        assert_eq!(visible(text), text);
    }

    #[test]
    fn json_stays_the_same_value() {
        let json = serde_json::Value::from(TEXT).to_string();
        let shown = visible_json(&json);
        assert!(shown.chars().all(is_plain), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), TEXT);
    }
}
