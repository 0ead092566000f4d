//! Words, digits, white space and the boundaries of words in a pattern become those of ASCII.

use regex_syntax::ast::{
    Assertion, AssertionKind, Ast, ClassAscii, ClassAsciiKind, ClassBracketed, ClassPerl,
    ClassPerlKind, ClassSet, ClassSetItem, Flag, Flags, FlagsItem, FlagsItemKind, Group, GroupKind,
};

/// Rewrites a pattern in place. Its nesting is bounded by the parser. Gives the number of classes
/// that hold many characters: those of Unicode, wide ranges, and all but some.
pub(super) fn only(syntax: &mut Ast) -> u64 {
    match syntax {
        Ast::ClassPerl(class) => {
            let bracketed = ClassBracketed {
                span: class.span,
                negated: false,
                kind: ClassSet::Item(ClassSetItem::Ascii(ascii(class))),
            };
            *syntax = Ast::class_bracketed(bracketed);
            0
        }
        Ast::ClassBracketed(class) => set(&mut class.kind) + u64::from(class.negated),
        Ast::Assertion(assertion) => {
            if let Some(group) = boundary(assertion) {
                *syntax = Ast::group(group);
            }
            0
        }
        Ast::Repetition(repetition) => only(&mut repetition.ast),
        Ast::Group(group) => only(&mut group.ast),
        Ast::Alternation(all) => all.asts.iter_mut().map(only).sum(),
        Ast::Concat(all) => all.asts.iter_mut().map(only).sum(),
        Ast::ClassUnicode(_) => 1,
        Ast::Empty(_) | Ast::Flags(_) | Ast::Literal(_) | Ast::Dot(_) => 0,
    }
}

fn ascii(class: &ClassPerl) -> ClassAscii {
    let kind = match class.kind {
        ClassPerlKind::Digit => ClassAsciiKind::Digit,
        ClassPerlKind::Space => ClassAsciiKind::Space,
        ClassPerlKind::Word => ClassAsciiKind::Word,
    };
    ClassAscii { span: class.span, kind, negated: class.negated }
}

fn set(class: &mut ClassSet) -> u64 {
    match class {
        ClassSet::Item(item) => set_item(item),
        ClassSet::BinaryOp(op) => set(&mut op.lhs) + set(&mut op.rhs),
    }
}

fn set_item(item: &mut ClassSetItem) -> u64 {
    /// Characters of a range that is as much to write out as a class of Unicode, letters in either
    /// case among them.
    const WIDE: u32 = 1_000;
    match item {
        ClassSetItem::Perl(class) => {
            *item = ClassSetItem::Ascii(ascii(class));
            0
        }
        ClassSetItem::Bracketed(inner) => set(&mut inner.kind) + u64::from(inner.negated),
        ClassSetItem::Union(all) => all.items.iter_mut().map(set_item).sum(),
        ClassSetItem::Range(range) => {
            let (from, to) = (u32::from(range.start.c), u32::from(range.end.c));
            u64::from(to.saturating_sub(from) > WIDE)
        }
        ClassSetItem::Unicode(_) => 1,
        ClassSetItem::Empty(_) | ClassSetItem::Literal(_) | ClassSetItem::Ascii(_) => 0,
    }
}

/// The assertion as `(?-u:…)`, where it is about words.
fn boundary(assertion: &Assertion) -> Option<Group> {
    use AssertionKind as A;
    match assertion.kind {
        A::StartLine | A::EndLine | A::StartText | A::EndText => None,
        _ => {
            let span = assertion.span;
            let item = |kind| FlagsItem { span, kind };
            let items =
                vec![item(FlagsItemKind::Negation), item(FlagsItemKind::Flag(Flag::Unicode))];
            let ast = Box::new(Ast::assertion(assertion.clone()));
            Some(Group { span, kind: GroupKind::NonCapturing(Flags { span, items }), ast })
        }
    }
}
