//! Patterns against the `regex` crate, and what they look at.

use proptest::prelude::*;

use super::*;

fn find(pattern: &str, text: &str) -> Option<Range<usize>> {
    Pattern::new(pattern).unwrap().find(text, 0, &mut 0)
}

#[test]
fn patterns_are_found() {
    for (pattern, text, want) in [
        ("b+", "abbc", Some(1..3)),
        ("b+?", "abbc", Some(1..2)),
        ("^b", "ab", None),
        ("c$", "abc", Some(2..3)),
        ("a|ab", "ab", Some(0..1)),
        ("(?i)B", "ab", Some(1..2)),
        ("", "é", Some(0..0)),
        ("é", "aé", Some(1..3)),
        (r"\bx", "ax x", Some(3..4)),
        (r"\w+", "é_9", Some(2..4)),
        (r"\d", "٣3", Some(2..3)),
        ("[^a]", "aé", Some(1..3)),
        (r"\.(com|org)$", "x.org", Some(1..5)),
    ] {
        assert_eq!(find(pattern, text), want, "{pattern} {text}");
    }
}

#[test]
fn groups_are_found() {
    let group = |pattern: &str, text: &str, group: usize| {
        let pattern = Pattern::new(pattern).unwrap();
        let whole = pattern.find(text, 0, &mut 0)?;
        let range = pattern.group(&mut GroupCache::default(), text, whole, group)?;
        Some(text[range].to_owned())
    };
    assert_eq!(group("://([^/]+)", "http://a.b/c", 1).as_deref(), Some("a.b"));
    assert_eq!(group("(a)|(b)", "cb", 2).as_deref(), Some("b"));
    assert_eq!(group("(a)|(b)", "cb", 1), None);
    assert_eq!(group("^https?://([^/]+).*", "https://a.b/c?d", 1).as_deref(), Some("a.b"));
    assert_eq!(group("(.*)@(.*)", "a@b@c", 1).as_deref(), Some("a@b"));
    assert_eq!(group("(.*?)@(.*)", "a@b@c", 2).as_deref(), Some("b@c"));
}

/// Where a character can be in several pieces of the pattern, groups are those of the `regex`
/// crate.
#[test]
fn groups_are_those_of_a_library() {
    let texts = [
        "http://www.a.b/c",
        "https://a.b/c/d",
        "https://www./x",
        "http://www.x",
        "ftp://a/b",
        "http://wwwww.www.www/",
        "https://www/www.a/",
        "http:///",
        "aab",
        "aaab",
        "ab",
        "abc",
        "first\nsecond @ third\r\n",
        "é@ü.ß@x",
        "2024-01-31-05",
        "_a a_ a",
        "",
    ];
    for pattern in [
        r"^https?://(?:www\.)?([^/]+)/.*$",
        r"https?://(?:www\.)??([^/]+)/",
        r"^(http|https)://(?:www\.)?([^/]+)",
        r"^a(?:a)?(a*)b",
        r"^a(?:a)??(a*)b",
        "^(?:a|ab)(?:b)?(.*)c",
        r"^https?://([^/]+).*",
        r"^https?://([^/]+).*$",
        r"(.*)@(.*)",
        r"^(.+)-(.+)$",
        r"^(.+?)-(.+?)",
        r"(\w*)(\w*)",
        r"((a|b)*)(b*)",
        r"(a*)*(b)?",
        r"(?:(a)|(b)|(/))*",
        r"(?m)^(.*)$",
        r"(?mR)^(.*)$",
        r"(?s)^(.*)(.)$",
        r"\b(\w+)\b(.*)\b(\w+)\b",
        r"(^)?(.*)($)?",
        r"()(a|)(|a)",
    ] {
        let compiled = Pattern::new(pattern).unwrap();
        assert!(compiled.finds_groups(), "{pattern}");
        // The library's words are those of Unicode by default.
        let library =
            regex::Regex::new(&pattern.replace(r"\b", r"(?-u:\b)").replace(r"\w", "[0-9A-Za-z_]"));
        let library = library.unwrap();
        for text in texts {
            let mut cache = GroupCache::default();
            let whole = compiled.find(text, 0, &mut 0);
            let captures = library.captures(text);
            for group in 0..=compiled.groups() {
                let range =
                    whole.clone().and_then(|at| compiled.group(&mut cache, text, at, group));
                let want = captures.as_ref().and_then(|c| c.get(group)).map(|m| m.range());
                assert_eq!(range, want, "{pattern} {text} {group}");
            }
        }
    }
    // Its tables would be large, and nobody needs them where no group is wanted.
    let large =
        Pattern::new(r"((\w{1,30}[^/]{1,20}){1,3}).*").map(|pattern| pattern.finds_groups());
    assert!(!large.unwrap_or(false));
}

#[test]
fn large_and_odd_patterns_are_refused() {
    for pattern in ["(", "(?=a)", r"(a)\1", r"(?-u:\xFF)", "a{1000}{100}", "(a|b)*a(a|b){12}"] {
        assert!(Pattern::new(pattern).is_err(), "{pattern}");
    }
    for pattern in
        [r"[a-zß\d]+@[a-z.]+", r"(?i)^https?://(www\.)?([^/?#]+)", r"\b(flu|covid|cold)\b"]
    {
        assert!(Pattern::new(pattern).is_ok(), "{pattern}");
    }
    assert!(Pattern::new(r"[\p{L}\d]+@").is_ok());
    assert!(Pattern::new(r"[\p{L}\d]{40}@").is_err());
    let deep = format!("{}a{}", "(?:".repeat(50), ")".repeat(50));
    assert!(Pattern::new(&deep).is_err());
}

#[test]
fn templates_name_groups() {
    use TemplatePiece as P;
    let text = |text: &str| P::Text(text.to_owned());
    let want = vec![text("a"), P::Group(1), text("\\b"), P::Group(0)];
    assert_eq!(template(r"a\1\\b\0"), Some(want));
    assert_eq!(template(r"a\b"), None);
    assert_eq!(template("\\"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Matches are those of the `regex` crate, and no byte is looked at more than twice for one.
    #[test]
    fn matches_are_those_of_a_library(
        pattern in "(\\^|\\(|\\)|a|b|é|\\.|\\*|\\+|\\?|\\||\\.\\*|\\(a\\|b\\)|\\(\\.\
                    |\\[ab\\]|\\[\\^a\\]|\\\\b|\\$|x\\{1,2\\}){0,9}",
        text in "[abxé .]{0,12}",
    ) {
        // The library's words are those of Unicode by default.
        let library = regex::Regex::new(&pattern.replace("\\b", "(?-u:\\b)"));
        let compiled = Pattern::new(&pattern);
        prop_assert_eq!(library.is_ok(), compiled.is_ok(), "{}", pattern);
        let (Ok(library), Ok(compiled)) = (library, compiled) else { return Ok(()) };
        for (from, _) in text.char_indices().chain([(text.len(), ' ')]) {
            let mut looks = 0;
            let found = compiled.find(&text, from, &mut looks);
            let want = library.find_at(&text, from).map(|m| m.range());
            prop_assert_eq!(&found, &want, "{} {} {}", pattern, text, from);
            prop_assert!(looks <= 2 * (text.len() - from));
            let Some(captures) = library.captures_at(&text, from) else { continue };
            let mut cache = GroupCache::default();
            for group in 0..=compiled.groups() {
                let range = compiled.group(&mut cache, &text, found.clone().unwrap(), group);
                let want = captures.get(group).map(|m| m.range());
                prop_assert_eq!(range, want, "{} {} {}", pattern, text, group);
            }
        }
        let mut looks = 0;
        prop_assert_eq!(compiled.is_in(&text, &mut looks), library.is_match(&text));
        prop_assert!(looks <= text.len());
    }
}

/// These hold within characters, after each of which a search would begin anew.
#[test]
fn assertions_within_characters_are_refused() {
    for odd in [r"[^z]*z|\B", r"(?-u:\B)", r"\b{start-half}a", r"a\b{end-half}"] {
        let refused = Pattern::new(odd).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("not supported"), "{odd}: {refused}");
    }
    for fine in [r"\ba\b", r"\b{start}a", r"a\b{end}", "^a$"] {
        assert!(Pattern::new(fine).is_ok(), "{fine}");
    }
}
