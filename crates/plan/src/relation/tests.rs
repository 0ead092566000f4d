//! Only what keeps units apart is a relation, whether a query or a file says it.

use hushtable_lang::{BinaryOp, ExprKind, Value};

use super::*;

fn scan(table: &str, protection: Protection) -> Relation {
    let columns = vec![
        ("unit".to_owned(), ColumnType::Int),
        ("key".to_owned(), ColumnType::Int),
        ("x".to_owned(), ColumnType::Float),
    ];
    let column_bytes = vec![0; columns.len()];
    let table = table.to_owned();
    Relation::new(Operator::Scan {
        table,
        columns,
        names_in_files: BTreeMap::new(),
        column_bytes,
        csv: None,
        protection,
    })
    .unwrap()
}

fn person() -> Protection {
    Protection::Unit { population: "person".to_owned(), column: 0 }
}

fn protected() -> Relation {
    scan("people", person())
}

fn public() -> Relation {
    scan("towns", Protection::Public)
}

fn referring() -> Relation {
    let references = Origin { table: "people".to_owned(), column: "key".to_owned() };
    let protection =
        Protection::Reference { population: "person".to_owned(), column: 1, references };
    scan("claims", protection)
}

fn int(column: usize) -> Expr {
    Expr::column(column, ColumnType::Int)
}

fn join(
    kind: JoinKind,
    left: Relation,
    right: Relation,
    on: &[(usize, usize)],
) -> Result<Relation, Refusal> {
    let on = on.iter().map(|&(l, r)| (int(l), int(r))).collect();
    Relation::new(Operator::Join { kind, left, right, on, condition: None, max_rows: None })
}

/// Rows that are units; the fourth column tells them apart.
fn rows() -> Relation {
    scan("rows", Protection::Rows { population: "rows".to_owned(), row: 3 })
}

const ALL: [JoinKind; 4] = [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti];

#[test]
fn joins_know_whose_their_rows_are() {
    for kind in ALL {
        let on_unit = join(kind, protected(), protected(), &[(1, 1), (0, 0)]).unwrap();
        assert_eq!(*on_unit.protection(), person());
        let lookup = join(kind, protected(), public(), &[(1, 1)]).unwrap();
        assert_eq!(*lookup.protection(), person());
        let publicly = join(kind, public(), public(), &[(1, 1)]).unwrap();
        assert_eq!(*publicly.protection(), Protection::Public);
        let owner_first = join(kind, protected(), referring(), &[(1, 1)]).unwrap();
        assert_eq!(*owner_first.protection(), person());
        // Rows that do not know their units yet still refer to them beside public ones.
        let looked_up = join(kind, referring(), public(), &[(0, 0)]).unwrap();
        assert_eq!(looked_up.protection(), referring().protection());
        let joined = join(JoinKind::Inner, looked_up, protected(), &[(1, 1)]).unwrap();
        assert!(joined.protection().unit().is_some());
    }
    let looked_up = join(JoinKind::Inner, public(), referring(), &[(1, 1)]).unwrap();
    assert!(matches!(looked_up.protection(), Protection::Reference { column: 4, .. }));
    let unit = |r: Relation| r.protection().unit();
    assert_eq!(unit(join(JoinKind::Inner, public(), protected(), &[(1, 1)]).unwrap()), Some(3));
    assert_eq!(unit(join(JoinKind::Inner, referring(), protected(), &[(1, 1)]).unwrap()), Some(3));
}

/// The unit may have several columns: each keeps units apart, and any of them may be left out.
#[test]
fn the_unit_is_a_set_of_columns() {
    let named = |column: usize| NamedExpr { name: format!("c{column}"), expr: int(column) };
    let project = |input: &Relation, indexes: &[usize]| {
        let columns = indexes.iter().map(|&column| named(column)).collect();
        Relation::new(Operator::Project { input: input.clone(), columns })
    };
    let units = |relation: &Relation| relation.units().iter().copied().collect::<Vec<_>>();
    let twice = project(&protected(), &[0, 1, 0]).unwrap();
    assert_eq!(units(&twice), [0, 2]);
    for retained in [0, 2] {
        let one = project(&twice, &[1, retained]).unwrap();
        assert_eq!((units(&one), one.protection().unit()), (vec![1], Some(1)));
        let by = |keys: &[usize]| {
            let keys = keys.iter().map(|&column| named(column)).collect();
            let (input, aggregates) = (twice.clone(), Vec::new());
            Relation::new(Operator::Aggregate { input, keys, aggregates })
        };
        assert_eq!(units(&by(&[1, retained]).unwrap()), [1]);
        assert_eq!(units(&by(&[retained, 0, 2]).unwrap()), [0, 1, 2]);
        assert!(by(&[1]).is_err());
        let first = |keys| Relation::new(Operator::First { input: twice.clone(), keys });
        assert!(first(vec![retained]).unwrap().has_one([int(2 - retained)].iter()));
        assert!(first(vec![1]).is_err());
        for kind in ALL {
            let joined = join(kind, twice.clone(), protected(), &[(retained, 0)]).unwrap();
            let want = if kind == JoinKind::Inner { vec![0, 2, 3] } else { vec![0, 2] };
            assert_eq!(units(&joined), want, "{kind:?}");
        }
        let union = vec![project(&twice, &[retained, 1, 0]).unwrap(), twice.clone()];
        assert_eq!(units(&Relation::new(Operator::UnionAll { inputs: union }).unwrap()), [0, 2]);
    }
    assert!(project(&twice, &[1]).is_err());
    let apart =
        vec![project(&protected(), &[0, 1]).unwrap(), project(&protected(), &[1, 0]).unwrap()];
    assert!(Relation::new(Operator::UnionAll { inputs: apart }).is_err());
    // A column that is equal to the unit is the unit.
    let equal = Expr::binary(BinaryOp::Eq, int(1), int(0), ColumnType::Bool);
    let other = Expr::binary(BinaryOp::Or, equal.clone(), equal.clone(), ColumnType::Bool);
    let filter = |condition| Relation::new(Operator::Filter { input: protected(), condition });
    assert_eq!(units(&filter(equal).unwrap()), [0, 1]);
    assert_eq!(units(&filter(other).unwrap()), [0]);
    assert_eq!(units(&join(JoinKind::Inner, public(), protected(), &[(1, 0)]).unwrap()), [1, 3]);
    assert_eq!(units(&join(JoinKind::Left, protected(), public(), &[(0, 1)]).unwrap()), [0]);
    assert!(units(&public()).is_empty() && units(&referring()).is_empty());
}

/// A join of two populations is owned by the side that has one row for what is compared, where the
/// other side is bounded; after it, nothing makes several pairs of one or looks at several.
#[test]
fn rows_of_two_populations_are_pairs() {
    let other = |relation: Relation| {
        let Operator::Scan { table, columns, names_in_files, column_bytes, csv, .. } =
            Operator::from(relation)
        else {
            panic!("not a scan")
        };
        let protection = Protection::Unit { population: "firm".to_owned(), column: 0 };
        Relation::new(Operator::Scan {
            table,
            columns,
            names_in_files,
            column_bytes,
            csv,
            protection,
        })
        .unwrap()
    };
    let offers = || other(public());
    let first = |input: Relation, keys: &[usize]| {
        Relation::new(Operator::First { input, keys: keys.to_vec() })
    };
    let taken = |input: Relation| Relation::new(Operator::Take { input, rows: 7 });
    let owned = || first(offers(), &[0, 1]).unwrap();
    let some = || taken(protected()).unwrap();
    let on = [(1, 0), (0, 1)];

    let pairs = join(JoinKind::Inner, some(), owned(), &on).unwrap();
    let firm = |column| Protection::Unit { population: "firm".to_owned(), column };
    let beside = |rows| Beside { population: "person".to_owned(), rows };
    assert_eq!(*pairs.protection(), firm(3));
    assert_eq!(pairs.beside(), Some(&beside(7)));
    let swapped = join(JoinKind::Inner, owned(), some(), &[(0, 1), (1, 0)]).unwrap();
    assert_eq!((swapped.protection(), swapped.beside()), (&firm(0), Some(&beside(7))));
    let fewer = pairs.clone().with_rows_beside(3).unwrap();
    assert_eq!(fewer.beside(), Some(&beside(3)));

    // No bound on persons; several rows of a firm for a row; not its unit among what is compared;
    // no inner join.
    join(JoinKind::Inner, protected(), owned(), &on).unwrap_err();
    join(JoinKind::Inner, some(), offers(), &on).unwrap_err();
    join(JoinKind::Inner, some(), owned(), &[(1, 0)]).unwrap_err();
    join(JoinKind::Inner, some(), owned(), &[(0, 1)]).unwrap_err();
    for kind in [JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        join(kind, some(), owned(), &on).unwrap_err();
    }
    first(offers(), &[1]).unwrap_err();
    taken(public()).unwrap_err();
    taken(rows()).unwrap_err();

    // Public rows with one row for each key, and no others; nothing that looks at several pairs.
    let looked_up = join(JoinKind::Left, pairs.clone(), first(public(), &[1]).unwrap(), &[(1, 1)]);
    assert_eq!(looked_up.unwrap().beside(), Some(&beside(7)));
    let known = join(JoinKind::Semi, pairs.clone(), public(), &[(1, 1)]);
    assert_eq!(known.unwrap().beside(), Some(&beside(7)));
    join(JoinKind::Inner, pairs.clone(), public(), &[(1, 1)]).unwrap_err();
    join(JoinKind::Inner, public(), pairs.clone(), &[(1, 1)]).unwrap_err();
    join(JoinKind::Inner, pairs.clone(), offers(), &[(3, 0)]).unwrap_err();
    join(JoinKind::Semi, pairs.clone(), offers(), &[(3, 0)]).unwrap_err();
    join(JoinKind::Inner, pairs.clone(), pairs.clone(), &[(3, 3)]).unwrap_err();
    Relation::new(Operator::UnionAll { inputs: vec![pairs.clone(), pairs.clone()] }).unwrap_err();
    first(pairs.clone(), &[3]).unwrap_err();
    taken(pairs.clone()).unwrap_err();
    let keys = vec![NamedExpr { name: "unit".to_owned(), expr: int(3) }];
    let aggregates = vec![("rows".to_owned(), UnitAggregate::Rows)];
    Relation::new(Operator::Aggregate { input: pairs.clone(), keys, aggregates }).unwrap_err();
    let columns = vec![WindowedColumn {
        name: "place".to_owned(),
        function: WindowFunction::RowNumber,
        partition_by: vec![int(3)],
        order_by: Vec::new(),
        frame: None,
    }];
    Relation::new(Operator::Window { input: pairs, columns }).unwrap_err();
}

/// Rows that are units stay so where none is repeated; elsewhere their positions name the units.
#[test]
fn rows_are_told_apart_where_they_may_be_repeated() {
    let first = |keys: &[usize]| {
        Relation::new(Operator::First { input: public(), keys: keys.to_vec() }).unwrap()
    };
    let filtered = |input: Relation| {
        let condition = Expr::new(ExprKind::IsNull(Box::new(int(0))), ColumnType::Bool);
        Relation::new(Operator::Filter { input, condition }).unwrap()
    };
    let once = |row| Protection::Rows { population: "rows".to_owned(), row };
    let repeated = |column| Protection::Unit { population: "rows".to_owned(), column };
    let cases = [
        (join(JoinKind::Inner, rows(), public(), &[(1, 1)]), repeated(3)),
        (join(JoinKind::Left, rows(), public(), &[(1, 1)]), repeated(3)),
        (join(JoinKind::Inner, public(), rows(), &[(1, 1)]), repeated(6)),
        (join(JoinKind::Semi, rows(), public(), &[(1, 1)]), once(3)),
        (join(JoinKind::Anti, rows(), public(), &[(1, 1)]), once(3)),
        (join(JoinKind::Left, rows(), first(&[1]), &[(1, 1)]), once(3)),
        (join(JoinKind::Inner, rows(), filtered(first(&[1])), &[(0, 0), (1, 1)]), once(3)),
        (join(JoinKind::Inner, filtered(first(&[1])), rows(), &[(1, 1)]), once(6)),
        // Not all of the key; a join that may repeat it.
        (join(JoinKind::Inner, rows(), first(&[0, 1]), &[(1, 1)]), repeated(3)),
        (
            join(
                JoinKind::Inner,
                rows(),
                join(JoinKind::Left, first(&[1]), public(), &[(0, 0)]).unwrap(),
                &[(1, 1)],
            ),
            repeated(3),
        ),
        (Relation::new(Operator::UnionAll { inputs: vec![rows(), rows()] }), repeated(3)),
    ];
    for (index, (relation, protection)) in cases.into_iter().enumerate() {
        assert_eq!(*relation.unwrap().protection(), protection, "case {index}");
    }
    Relation::new(Operator::First { input: rows(), keys: vec![1] }).unwrap_err();
    Relation::new(Operator::First { input: protected(), keys: vec![1] }).unwrap_err();
    assert_eq!(
        *Relation::new(Operator::First { input: protected(), keys: vec![0] }).unwrap().protection(),
        person()
    );
    Relation::new(Operator::First { input: public(), keys: vec![3] }).unwrap_err();
    Relation::new(Operator::First { input: public(), keys: Vec::new() }).unwrap_err();
}

#[test]
fn what_brings_units_together_is_refused() {
    for kind in ALL {
        // Not on the unit; on another column than the unit's own; other populations.
        join(kind, protected(), protected(), &[(1, 1)]).unwrap_err();
        join(kind, protected(), protected(), &[(0, 1), (1, 0)]).unwrap_err();
        let other = Protection::Unit { population: "firm".to_owned(), column: 0 };
        join(kind, protected(), scan("firms", other), &[(0, 0)]).unwrap_err();
        // A reference is joined by itself, with the table that it refers to.
        join(kind, protected(), referring(), &[(0, 0)]).unwrap_err();
        join(kind, scan("visits", person()), referring(), &[(1, 1)]).unwrap_err();
        join(kind, referring(), referring(), &[(1, 1)]).unwrap_err();
        if kind != JoinKind::Inner {
            join(kind, public(), protected(), &[(1, 1)]).unwrap_err();
            join(kind, public(), referring(), &[(1, 1)]).unwrap_err();
            join(kind, referring(), protected(), &[(1, 1)]).unwrap_err();
        }
        join(kind, protected(), public(), &[]).unwrap_err();
    }
    for kind in ALL {
        join(kind, rows(), rows(), &[(0, 0)]).unwrap_err();
        join(kind, rows(), rows(), &[(3, 3)]).unwrap_err();
        join(kind, rows(), protected(), &[(0, 0)]).unwrap_err();
        join(kind, protected(), rows(), &[(0, 0)]).unwrap_err();
    }
    join(JoinKind::Left, public(), rows(), &[(1, 1)]).unwrap_err();
    Relation::new(Operator::UnionAll { inputs: vec![protected(), public()] }).unwrap_err();
    Relation::new(Operator::UnionAll { inputs: vec![protected(), protected()] }).unwrap();

    let keyed = |input: Relation, key: usize| {
        let keys = vec![NamedExpr { name: "k".to_owned(), expr: int(key) }];
        let aggregates = vec![("n".to_owned(), UnitAggregate::Rows)];
        Relation::new(Operator::Aggregate { input, keys, aggregates })
    };
    assert_eq!(*keyed(protected(), 0).unwrap().protection(), person());
    assert_eq!(*keyed(public(), 1).unwrap().protection(), Protection::Public);
    for input in [protected(), rows(), referring()] {
        keyed(input, 1).unwrap_err();
    }
    let window = |input: Relation, by: usize| {
        let function = WindowFunction::RowNumber;
        let column = WindowedColumn {
            name: "w".to_owned(),
            function,
            partition_by: vec![int(by)],
            order_by: Vec::new(),
            frame: None,
        };
        Relation::new(Operator::Window { input, columns: vec![column] })
    };
    window(protected(), 0).unwrap();
    window(public(), 1).unwrap();
    for input in [protected(), rows(), referring()] {
        window(input, 1).unwrap_err();
    }
    // A computed value that happens to be the unit is not the unit.
    let sum = Expr::binary(BinaryOp::Add, int(0), Expr::literal(Value::Int(0)), ColumnType::Int);
    let columns = vec![NamedExpr { name: "u".to_owned(), expr: sum }];
    Relation::new(Operator::Project { input: protected(), columns }).unwrap_err();
}

#[test]
fn a_changed_file_is_no_relation() {
    let relation = join(JoinKind::Inner, protected(), protected(), &[(0, 0)]).unwrap();
    let text = serde_json::to_string(&relation).unwrap();
    assert_eq!(serde_json::from_str::<Relation>(&text).unwrap(), relation);
    // Joined on the key in place of the unit; a column that is not there; a type that is not its
    // own.
    let on_unit = r#"[{"kind":{"column":0},"type":"int"},{"kind":{"column":0},"type":"int"}]"#;
    assert!(text.contains(on_unit), "{text}");
    for changed in [
        r#"[{"kind":{"column":1},"type":"int"},{"kind":{"column":1},"type":"int"}]"#,
        r#"[{"kind":{"column":0},"type":"int"},{"kind":{"column":9},"type":"int"}]"#,
        r#"[{"kind":{"column":0},"type":"float"},{"kind":{"column":0},"type":"float"}]"#,
    ] {
        serde_json::from_str::<Relation>(&text.replace(on_unit, changed)).unwrap_err();
    }
    let condition = Expr::new(ExprKind::IsNull(Box::new(int(7))), ColumnType::Bool);
    Relation::new(Operator::Filter { input: protected(), condition }).unwrap_err();
}

#[test]
fn relations_have_a_size() {
    let mut relation = protected();
    let condition = || Expr::new(ExprKind::IsNull(Box::new(int(0))), ColumnType::Bool);
    let refused = (0..MAX_DEPTH).find_map(|_| {
        let input = relation.clone();
        Relation::new(Operator::Filter { input, condition: condition() })
            .map(|next| relation = next)
            .err()
    });
    assert!(refused.unwrap().what.contains("operators"));
}
