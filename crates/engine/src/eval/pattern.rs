//! Regular expressions: whether a text has a match, the first match, and matches replaced. How
//! often a byte is looked at is bounded; `lang::Pattern` says why.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, Int64Array};
use datafusion::arrow::error::ArrowError;
use hushtable_lang::{
    GroupCache, MAX_KEY_BYTES, MatchUse, Pattern, TemplatePiece, looks_allowed, template,
};

use super::counted::count;
use super::text_functions::{builder, texts};
use super::unexpected;

/// A pattern, and what is computed with it.
pub(super) struct Matcher {
    pattern: Pattern,
    output: PatternOutput,
}

enum PatternOutput {
    Any,
    Count,
    /// A group of the first match; group 0 is the match.
    Group(usize),
    Replaced(Vec<TemplatePiece>),
}

impl Matcher {
    pub(super) fn new(pattern: &Pattern, match_use: &MatchUse) -> Result<Self, ArrowError> {
        let output = match match_use {
            MatchUse::Contains => PatternOutput::Any,
            MatchUse::Count => PatternOutput::Count,
            MatchUse::Extract => PatternOutput::Group(pattern.groups().min(1)),
            MatchUse::Replace(with) => {
                PatternOutput::Replaced(template(with).ok_or_else(|| unexpected())?)
            }
        };
        Ok(Self { pattern: pattern.clone(), output })
    }

    pub(super) fn applied(&self, array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let values = texts(array)?;
        Ok(match &self.output {
            PatternOutput::Any => {
                let found: BooleanArray = values.iter().map(|t| Some(self.is_in(t?))).collect();
                Arc::new(found)
            }
            PatternOutput::Count => {
                let counts: Int64Array = values.iter().map(|t| self.number_in(t?)).collect();
                Arc::new(counts)
            }
            PatternOutput::Group(group) => {
                let mut cache = GroupCache::default();
                let mut builder = builder(values.len());
                for value in values {
                    builder.append_option(value.and_then(|text| {
                        let mut looks = 0;
                        let found = self.pattern.find(text, 0, &mut looks);
                        count(|| looks);
                        let found = found?;
                        count(|| if *group == 0 { 0 } else { found.len() });
                        let range = self.pattern.group(&mut cache, text, found, *group)?;
                        count(|| range.len() / 16);
                        text.get(range)
                    }));
                }
                Arc::new(builder.finish())
            }
            PatternOutput::Replaced(pieces) => {
                let mut cache = GroupCache::default();
                let mut builder = builder(values.len());
                let mut line = String::new();
                for value in values {
                    builder.append_option(value.and_then(|text| {
                        line.clear();
                        let most = text.len().max(MAX_KEY_BYTES);
                        let mut end = 0;
                        self.each(text, |found| {
                            line.push_str(text.get(end..found.start)?);
                            end = found.end;
                            for piece in pieces {
                                let replacement = match piece {
                                    TemplatePiece::Text(literal) => literal.as_str(),
                                    TemplatePiece::Group(group) => {
                                        count(|| if *group == 0 { 0 } else { found.len() });
                                        let found = found.clone();
                                        let pattern = &self.pattern;
                                        let range = pattern.group(&mut cache, text, found, *group);
                                        // A group that took no part is empty.
                                        range.and_then(|range| text.get(range)).unwrap_or_default()
                                    }
                                };
                                line.push_str(replacement);
                            }
                            (line.len() <= most).then_some(())
                        })?;
                        line.push_str(text.get(end..)?);
                        count(|| line.len() / 16);
                        (line.len() <= most).then_some(line.as_str())
                    }));
                }
                Arc::new(builder.finish())
            }
        })
    }

    fn is_in(&self, text: &str) -> bool {
        let mut looks = 0;
        let found = self.pattern.is_in(text, &mut looks);
        count(|| looks);
        found
    }

    /// How many matches there are, one after the other.
    fn number_in(&self, text: &str) -> Option<i64> {
        let mut number = 0;
        self.each(text, |_| {
            number += 1;
            Some(())
        })?;
        Some(number)
    }

    /// Takes each match in turn; `None` where `take` wants no more, or where it would take more
    /// looks at the text's bytes than are allowed.
    fn each(
        &self,
        text: &str,
        mut take: impl FnMut(std::ops::Range<usize>) -> Option<()>,
    ) -> Option<()> {
        let allowed = looks_allowed(text.len());
        let (mut from, mut looks) = (0, 0);
        let mut last = None;
        while from <= text.len() {
            let found = self.pattern.find(text, from, &mut looks);
            if looks > allowed {
                count(|| looks);
                return None;
            }
            let Some(found) = found else { break };
            let after = found.end;
            // Nothing right after a match is no match of its own.
            if !found.is_empty() || last != Some(found.start) {
                take(found.clone())?;
                last = Some(after);
            }
            from = if found.is_empty() {
                after + text.get(after..)?.chars().next().map_or(1, char::len_utf8)
            } else {
                after
            };
        }
        count(|| looks);
        Some(())
    }
}
