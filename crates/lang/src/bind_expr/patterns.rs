//! Functions of regular expressions, which are constants.

use sqlparser::ast;

use super::{Binder, Resolve};
use crate::error::Refusal;
use crate::expr::{Expr, ExprKind, MatchUse};
use crate::pattern::{Pattern, TemplatePiece, template};
use crate::types::{ColumnType, Value};

impl<R: Resolve> Binder<'_, R> {
    /// A function of regular expressions; `None` for others.
    pub(super) fn pattern_function(
        &mut self,
        of_ours: &str,
        name: &str,
        arguments: &[&ast::Expr],
    ) -> Result<Option<Expr>, Refusal> {
        let match_use = match of_ours {
            "REGEXP_CONTAINS" => MatchUse::Contains,
            "REGEXP_COUNT" => MatchUse::Count,
            "REGEXP_EXTRACT" => MatchUse::Extract,
            "REGEXP_REPLACE" => match arguments {
                [_, _, with] => MatchUse::Replace(self.literal_text(with, name)?),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        match (arguments, &match_use) {
            ([text, pattern], _) | ([text, pattern, _], MatchUse::Replace(_)) => {
                self.matching(name, text, pattern, match_use, false).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn literal_text(&mut self, node: &ast::Expr, context: &str) -> Result<String, Refusal> {
        match self.bind(node)?.kind {
            ExprKind::Literal(Value::String(text)) => Ok(text),
            _ => Err(Refusal::new(
                format!("{context} needs a constant text in place of `{node}`"),
                "REGEXP_CONTAINS(x, r'flu|covid')",
            )),
        }
    }

    /// A text and a pattern; with `any_case`, letters in any case.
    pub(super) fn matching(
        &mut self,
        name: &str,
        text: &ast::Expr,
        pattern: &ast::Expr,
        match_use: MatchUse,
        any_case: bool,
    ) -> Result<Expr, Refusal> {
        let value = Box::new(self.text(text, name)?);
        let pattern = self.literal_text(pattern, name)?;
        let pattern = if any_case { format!("(?i:{pattern})") } else { pattern };
        let pattern = Pattern::new(&pattern)?;
        let groups = match &match_use {
            MatchUse::Contains | MatchUse::Count => 0,
            MatchUse::Extract if pattern.groups() > 1 => {
                return Err(Refusal::new(
                    format!("{name} has a pattern with {} groups", pattern.groups()),
                    "use one group for what is wanted, and (?:…) for the others",
                ));
            }
            MatchUse::Extract => pattern.groups(),
            MatchUse::Replace(with) => {
                let odd = || {
                    Refusal::new(
                        format!("the replacement `{with}` has a backslash without a meaning"),
                        r"\1 for the first group, \0 for the match, \\ for a backslash, in r'…'",
                    )
                };
                let pieces = template(with).ok_or_else(odd)?;
                let groups = pieces.iter().map(|piece| match piece {
                    TemplatePiece::Group(group) => *group,
                    TemplatePiece::Text(_) => 0,
                });
                groups.max().unwrap_or(0)
            }
        };
        if groups > pattern.groups() {
            return Err(Refusal::new(
                format!("`{}` has no group {groups}", pattern.text()),
                "put parentheses around the part that the group stands for",
            ));
        }
        if groups > 0 && !pattern.finds_groups() {
            return Err(Refusal::new(
                format!(
                    "the tables that find the groups of `{}` are too large to be bounded in time",
                    pattern.text()
                ),
                "use smaller counts in {…}, and [a-z] in place of \\p{L}; or leave groups out",
            ));
        }
        let column_type = match match_use {
            MatchUse::Contains => ColumnType::Bool,
            MatchUse::Count => ColumnType::Int,
            MatchUse::Extract | MatchUse::Replace(_) => ColumnType::String,
        };
        Ok(Expr::new(ExprKind::Match { value, pattern, wanted: match_use }, column_type))
    }
}
