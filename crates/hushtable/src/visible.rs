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
    !c.is_control() && !is_unseen(c)
}

/// Whether a character has no width, breaks lines or turns the direction of writing around:
/// Unicode's default ignorable code points, its line separators and its interlinear annotations.
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
            | '\u{fff0}'..='\u{fffb}'
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

    #[test]
    fn json_stays_the_same_value() {
        let json = serde_json::Value::from(TEXT).to_string();
        let shown = visible_json(&json);
        assert!(shown.chars().all(is_plain), "{shown}");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), TEXT);
    }
}
