//! Words, digits, white space and the boundaries of words in a pattern become those of ASCII.

use regex_syntax::ast::{
    Assertion, AssertionKind, Ast, ClassAscii, ClassAsciiKind, ClassBracketed, ClassPerl,
    ClassPerlKind, ClassSet, ClassSetItem, Flag, Flags, FlagsItem, FlagsItemKind, Group, GroupKind,
};

/// Rewrites a pattern in place. Its nesting is bounded by the parser.
pub(super) fn only(syntax: &mut Ast) {
    match syntax {
        Ast::ClassPerl(class) => {
            let bracketed = ClassBracketed {
                span: class.span,
                negated: false,
                kind: ClassSet::Item(ClassSetItem::Ascii(ascii(class))),
            };
            *syntax = Ast::class_bracketed(bracketed);
        }
        Ast::ClassBracketed(class) => set(&mut class.kind),
        Ast::Assertion(assertion) => {
            if let Some(group) = boundary(assertion) {
                *syntax = Ast::group(group);
            }
        }
        Ast::Repetition(repetition) => only(&mut repetition.ast),
        Ast::Group(group) => only(&mut group.ast),
        Ast::Alternation(all) => all.asts.iter_mut().for_each(only),
        Ast::Concat(all) => all.asts.iter_mut().for_each(only),
        Ast::Empty(_) | Ast::Flags(_) | Ast::Literal(_) | Ast::Dot(_) | Ast::ClassUnicode(_) => {}
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

fn set(class: &mut ClassSet) {
    match class {
        ClassSet::Item(item) => set_item(item),
        ClassSet::BinaryOp(op) => {
            set(&mut op.lhs);
            set(&mut op.rhs);
        }
    }
}

fn set_item(item: &mut ClassSetItem) {
    match item {
        ClassSetItem::Perl(class) => *item = ClassSetItem::Ascii(ascii(class)),
        ClassSetItem::Bracketed(inner) => set(&mut inner.kind),
        ClassSetItem::Union(all) => all.items.iter_mut().for_each(set_item),
        ClassSetItem::Empty(_)
        | ClassSetItem::Literal(_)
        | ClassSetItem::Range(_)
        | ClassSetItem::Ascii(_)
        | ClassSetItem::Unicode(_) => {}
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
