//! The segments of a LIKE pattern.

/// The segments of a pattern between its `%`, one at least: of each the bytes that a text must have
/// there, with `None` for `_`, which is one character of any number of bytes.
///
/// A backslash makes the character after it stand for itself.
pub fn like_segments(pattern: &str) -> Vec<Vec<Option<u8>>> {
    let mut done = Vec::new();
    let mut segment = Vec::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        let itself = match c {
            '%' => {
                done.push(std::mem::take(&mut segment));
                continue;
            }
            '_' => {
                segment.push(None);
                continue;
            }
            '\\' => characters.next().unwrap_or('\\'),
            c => c,
        };
        segment.extend(itself.encode_utf8(&mut [0; 4]).bytes().map(Some));
    }
    done.push(segment);
    done
}
