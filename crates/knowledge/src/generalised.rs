//! Values of published microdata that stand for several: ranges, stars and sets.

/// A value as a table of generalised microdata has it: one value, or several that a record's true
/// value is one of.
///
/// - An empty text, `*`, or stars alone: any value.
/// - `130**`: each star is one character. `3*` is also any number from 30 to 39.
/// - `20-29`, `20–29`, `20..29`, `[20,29]`: a range with both ends; `[20,30)` and `[20,30[` are
///   without 30.
/// - `<30`, `<=30`, `≤30`, `>40`, `>=40`, `≥40`, `40+`: the numbers on one side.
/// - `a|b` or `{a, b}`: either of these, each of which may be generalised itself.
/// - Everything else is a single value.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneralisedValue {
    text: String,
    /// One of these; none for any value.
    forms: Vec<GeneralisedForm>,
}

/// One value, one pattern, or one range.
#[derive(Clone, Debug, PartialEq)]
enum GeneralisedForm {
    Text(String),
    Number {
        text: String,
        value: f64,
    },
    /// Stars stand for a character each.
    Mask {
        pattern: Vec<char>,
        numbers: Option<Mask>,
    },
    Span(GeneralisedRange),
}

/// The least and the largest number that a pattern of digits and stars matches.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mask {
    least: f64,
    most: f64,
    /// Whether all stars come last, so that it matches all numbers between.
    is_range: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct GeneralisedRange {
    low: f64,
    high: f64,
    has_low: bool,
    has_high: bool,
}

impl GeneralisedValue {
    /// Any value.
    pub fn any() -> Self {
        Self { text: "*".to_owned(), forms: Vec::new() }
    }

    /// Reads a value from its text.
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let braces = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let texts: Vec<&str> = match braces {
            Some(list) => list.split(',').collect(),
            None => text.split('|').collect(),
        };
        let forms: Option<Vec<GeneralisedForm>> =
            texts.into_iter().map(|text| GeneralisedForm::new(text.trim())).collect();
        match forms {
            Some(forms) => Self { text: text.to_owned(), forms },
            None => Self::any(),
        }
    }

    /// The text of the value; `*` for any value.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it stands for any value.
    pub fn is_any(&self) -> bool {
        self.forms.is_empty()
    }

    /// Whether some value belongs to both. A range and a text that is no number are not compared:
    /// they may be the same. Two single values are the same if they are spelled alike, or are the
    /// same number.
    pub fn meets(&self, other: &Self) -> bool {
        let any = self.is_any() || other.is_any();
        any || self.forms.iter().any(|one| other.forms.iter().any(|two| one.meets(two)))
    }
}

impl GeneralisedForm {
    /// `None` for any value.
    fn new(text: &str) -> Option<Self> {
        if text.chars().all(|c| c == '*') {
            return None;
        }
        if text.contains('*') {
            let pattern: Vec<char> = text.chars().collect();
            let numbers = Mask::of(&pattern);
            return Some(Self::Mask { pattern, numbers });
        }
        let owned = text.to_owned();
        Some(match (number(text), GeneralisedRange::of(text)) {
            (Some(value), _) => Self::Number { text: owned, value },
            (None, Some(span)) => Self::Span(span),
            (None, None) => Self::Text(owned),
        })
    }

    fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Number { value: one, .. }, Self::Number { value: two, .. }) => one == two,
            (Self::Text(_), Self::Number { .. }) | (Self::Number { .. }, Self::Text(_)) => false,
            (Self::Mask { pattern: one, .. }, Self::Mask { pattern: two, .. }) => {
                one.len() == two.len()
                    && one.iter().zip(two).all(|(a, b)| a == b || *a == '*' || *b == '*')
            }
            (Self::Mask { pattern, .. }, Self::Text(text))
            | (Self::Text(text), Self::Mask { pattern, .. }) => matches(pattern, text),
            (Self::Mask { pattern, numbers }, Self::Number { text, value })
            | (Self::Number { text, value }, Self::Mask { pattern, numbers }) => {
                matches(pattern, text) || numbers.is_some_and(|numbers| numbers.has(*value))
            }
            (Self::Span(one), Self::Span(two)) => one.meets(*two),
            (Self::Span(span), Self::Number { value, .. })
            | (Self::Number { value, .. }, Self::Span(span)) => {
                span.meets(GeneralisedRange::point(*value))
            }
            (Self::Span(span), Self::Mask { numbers, .. })
            | (Self::Mask { numbers, .. }, Self::Span(span)) => numbers.is_none_or(|numbers| {
                span.meets(GeneralisedRange::closed(numbers.least, numbers.most))
            }),
            (Self::Span(_), Self::Text(_)) | (Self::Text(_), Self::Span(_)) => true,
        }
    }
}

fn matches(pattern: &[char], text: &str) -> bool {
    let mut left = text.chars();
    pattern.iter().all(|p| left.next().is_some_and(|c| *p == '*' || *p == c))
        && left.next().is_none()
}

impl Mask {
    fn of(pattern: &[char]) -> Option<Self> {
        let with = |star: char| -> Option<f64> {
            let filled = pattern.iter().map(|c| if *c == '*' { star } else { *c });
            let filled: String = filled.collect();
            filled.bytes().all(|c| c.is_ascii_digit()).then(|| filled.parse().ok())?
        };
        let is_range = pattern.iter().skip_while(|c| **c != '*').all(|c| *c == '*');
        Some(Self { least: with('0')?, most: with('9')?, is_range })
    }

    /// Whether it stands for a number, or for the whole part of one.
    fn has(self, value: f64) -> bool {
        self.is_range && self.least <= value && value < self.most + 1.0
    }
}

impl GeneralisedRange {
    fn closed(low: f64, high: f64) -> Self {
        Self { low, high, has_low: true, has_high: true }
    }

    fn point(value: f64) -> Self {
        Self::closed(value, value)
    }

    fn of(text: &str) -> Option<Self> {
        let below = |high, has_high| Self { low: f64::NEG_INFINITY, has_low: true, high, has_high };
        let above = |low, has_low| Self { low, has_low, high: f64::INFINITY, has_high: true };
        for (sign, with) in [("<=", true), ("≤", true), ("<", false)] {
            if let Some(rest) = text.strip_prefix(sign) {
                return number(rest).map(|high| below(high, with));
            }
        }
        for (sign, with) in [(">=", true), ("≥", true), (">", false)] {
            if let Some(rest) = text.strip_prefix(sign) {
                return number(rest).map(|low| above(low, with));
            }
        }
        if let Some(rest) = text.strip_suffix('+') {
            return number(rest).map(|low| above(low, true));
        }
        let (has_low, rest) = match text.strip_prefix('[') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix(['(', ']']).unwrap_or(text)),
        };
        if rest.len() == text.len() {
            return ["..", "–", "-"].iter().find_map(|between| Self::ends(text, between));
        }
        let (has_high, inner) = match rest.strip_suffix(']') {
            Some(inner) => (true, inner),
            None => (false, rest.strip_suffix([')', '['])?),
        };
        let span = [",", ";", "..", "–", "-"].iter().find_map(|by| Self::ends(inner, by))?;
        Some(Self { has_low, has_high, ..span })
    }

    /// Two numbers in rising order, with something between them.
    fn ends(text: &str, between: &str) -> Option<Self> {
        // A minus at the beginning is that of the first number.
        let separators = text.match_indices(between).map(|(at, _)| at).filter(|at| *at > 0);
        separators.into_iter().find_map(|at| {
            let low = number(text.get(..at)?)?;
            let high = number(text.get(at + between.len()..)?)?;
            (low <= high).then(|| Self::closed(low, high))
        })
    }

    fn meets(self, other: Self) -> bool {
        let before = |one: Self, two: Self| {
            one.high < two.low || (one.high == two.low && !(one.has_high && two.has_low))
        };
        !before(self, other) && !before(other, self)
    }
}

/// A decimal number, as tables have them.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let value: f64 = is_number.then(|| text.parse().ok())??;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meet(one: &str, other: &str) -> bool {
        let (one, other) = (GeneralisedValue::new(one), GeneralisedValue::new(other));
        assert_eq!(one.meets(&other), other.meets(&one), "{one:?} {other:?}");
        one.meets(&other)
    }

    #[test]
    fn generalised_values_meet_where_some_value_is_both() {
        for (one, other) in [
            ("", "x"),
            ("*", "<30"),
            ("*****", "13012"),
            ("130**", "13012"),
            ("130**", "1**12"),
            ("3*", "35"),
            ("3*", "35.5"),
            ("3*", "<35"),
            ("3*", "[30,31)"),
            ("1*5", "120-130"),
            ("A*", "AB"),
            ("A*", "*B"),
            ("20-29", "29"),
            ("20–29", "29..40"),
            ("[20,30)", "29.9"),
            ("[20, 30[", "20"),
            ("]20, 30]", "30"),
            ("(20;30)", "21"),
            ("-10--5", "-7"),
            ("-10-5", "0"),
            ("<30", ">=29"),
            ("≤30", "≥30"),
            ("40+", ">90"),
            ("28", "28.0"),
            ("a|b", "b|c"),
            ("{a, b}", "b"),
            ("{20-29, 40-49}", ">45"),
            // No range, and what cannot be compared.
            ("12345-6789", "12345-6789"),
            ("<30 years", "<30 years"),
            ("n/a", "<30"),
            ("B*", "<30"),
        ] {
            assert!(meet(one, other), "{one} {other}");
        }
        for (one, other) in [
            ("130**", "13112"),
            ("130**", "130123"),
            ("130**", "1301"),
            ("130**", "13*"),
            ("3*", "40"),
            ("3*", "3"),
            ("3*", ">=40"),
            ("3*", "<30"),
            ("1*5", "140"),
            ("20-29", "30-39"),
            ("20-29", "29.5"),
            ("[20,30)", "30"),
            ("[20, 30[", "≥30"),
            ("]20, 30]", "20"),
            ("<30", "30"),
            ("<30", "≥30"),
            (">40", "40"),
            ("a|b", "c|d"),
            ("28", "280"),
            ("28", "x"),
            ("Europe", "France"),
            ("2020-01-05", "2020"),
        ] {
            assert!(!meet(one, other), "{one} {other}");
        }
        assert!(GeneralisedValue::new("a|*").is_any() && GeneralisedValue::new(" ** ").is_any());
        assert_eq!(GeneralisedValue::new("a|*").text(), "*");
        assert_eq!(GeneralisedValue::new(" 3* ").text(), "3*");
    }
}
