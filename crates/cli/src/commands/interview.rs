//! The questions of `hushtable init`: who is protected, and how much may be learned.

use std::io::{self, BufRead, Write};

use hushtable::draft::{Decisions, Draft, UndecidedTable, UnitDecision};
use hushtable::privacy::Epsilon;

use crate::failure::Failure;
use crate::render::grid::visible;

const START: &str = "\
Six questions to you, the owner of the data. Enter takes what stands in brackets.
Every answer is in the contract afterwards, and can be changed there.
";

const WHO: &str = "
1. Who is protected?
   Nobody can tell from the answers whether one of them is in the data, with all its rows.
   Protect whoever could be harmed: a person with forty rows is protected forty times less
   where only rows are.
";

const HOW_MANY: &str = "
2. How many of them are there, about?
   Say what is publicly known, never what you counted in the data.
";

const LEARNED: &str = "
3. What may be learned?
   All answers to one analyst together have a limit, epsilon. Somebody who suspects that Ada is in
   the data, at even odds, can believe afterwards at most:
     epsilon 0.5   62.3 %
     epsilon 1     73.2 %     where a leak would hurt, or tables are published
     epsilon 3     95.3 %     where the analysts are known and bound to secrecy
";

const WHOSE: &str = "
4. Who asks?
   Each analyst has a budget of their own. Analysts who talk to each other share one.
";

const GROUPS: &str = "
5. In how many groups of a query does one of them count?
   With GROUP BY product, a person who bought six products is in six groups, and the noise has to
   cover them all: it grows with the number. 1 where each has one value, such as a district; 2 or 3
   where they have several.
";

const ROWS: &str = "
6. How many rows of one of them count in a group?
   COUNT(*) counts rows, and the noise has to cover all rows of a person in a group: further ones
   are left out. 1 where each has one row there; else what all but a few stay below.
";

/// Asks the owner everything that a draft leaves open.
pub(super) fn interview(
    draft: &Draft,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<Decisions, Failure> {
    let mut talk = Talk { input, output };
    talk.say(START)?;
    talk.say(WHO)?;
    let mut units = Vec::new();
    let undecided = draft.undecided();
    if undecided.is_empty() {
        talk.say(
            "   The names of the columns say it: check `unit` of each table in the contract.\n",
        )?;
    }
    for open in undecided {
        let unit = talk.unit(&open)?;
        units.push((open.table, unit));
    }
    talk.say(HOW_MANY)?;
    let size = talk.answer("   units", Some("100000"), |text| {
        let plain: String = text.chars().filter(|c| !matches!(c, ',' | '_' | ' ')).collect();
        plain.parse::<u64>().ok().filter(|size| *size > 0).ok_or("a whole number from 1, as 50000")
    })?;
    let delta = Decisions::delta_for(size);
    talk.say(&format!(
        "   So delta, the probability that the promise fails, is {delta}: \
         well below one in {size}.\n"
    ))?;
    talk.say(LEARNED)?;
    let hurts =
        talk.answer("   published, or would a leak hurt? y/n", Some("y"), |text| {
            match text.to_lowercase().as_str() {
                "y" | "yes" => Ok(true),
                "n" | "no" => Ok(false),
                _ => Err("y or n"),
            }
        })?;
    let recommended = if hurts { "1" } else { "3" };
    let epsilon = talk.answer("   epsilon", Some(recommended), |text| {
        let epsilon = text.parse::<Epsilon>().ok().filter(|budget| !budget.share(10).is_zero());
        epsilon.ok_or("a number above 0, as 1 or 0.5")
    })?;
    talk.say(WHOSE)?;
    let analyst = talk.answer("   analyst", Some("analyst"), |text| Ok(text.to_owned()))?;
    talk.say(GROUPS)?;
    let groups = talk.answer("   groups", Some("3"), |text| {
        let groups = text.parse::<u32>().ok().filter(|groups| (1..=10_000).contains(groups));
        groups.ok_or("a whole number from 1 to 10000")
    })?;
    // A unit that is a row has no other.
    let rows = if units.iter().all(|(_, unit)| *unit == UnitDecision::Row) && !units.is_empty() {
        None
    } else {
        talk.say(ROWS)?;
        Some(talk.answer("   rows", Some("10"), |text| {
            let rows = text.parse::<u32>().ok().filter(|rows| (1..=1_000_000).contains(rows));
            rows.ok_or("a whole number from 1 to 1000000")
        })?)
    };
    Ok(Decisions { units, size, analyst, epsilon, delta, groups, rows })
}

/// A conversation.
struct Talk<'a> {
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
}

impl Talk<'_> {
    fn say(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|error| unfinished(&error.to_string()))
    }

    /// Asks until the answer is valid; `usual` is what no answer means.
    fn answer<T>(
        &mut self,
        question: &str,
        usual: Option<&str>,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Result<T, Failure> {
        loop {
            let brackets = usual.map_or(String::new(), |usual| format!(" [{}]", visible(usual)));
            self.say(&format!("{question}{brackets}: "))?;
            let mut line = String::new();
            let got = self
                .input
                .read_line(&mut line)
                .map_err(|e: io::Error| unfinished(&e.to_string()))?;
            if got == 0 {
                return Err(unfinished("there are no more answers"));
            }
            let given = Some(line.trim()).filter(|text| !text.is_empty()).or(usual);
            let expected = match given.map(&read) {
                Some(Ok(value)) => return Ok(value),
                Some(Err(expected)) => expected,
                None => "one of these names",
            };
            self.say(&format!("   {} is not {expected}\n", visible(given.unwrap_or("nothing"))))?;
        }
    }

    /// Asks whom the rows of a table are about.
    fn unit(&mut self, open: &UndecidedTable) -> Result<UnitDecision, Failure> {
        let columns: Vec<String> = open.columns.iter().map(|name| visible(name)).collect();
        let other = if open.is_alone {
            "`row` if every row is about another one"
        } else {
            "`public` if they are about nobody"
        };
        self.say(&format!(
            "   Whom are rows of {} about? Name the column that says it, \
             or {other}.\n   Columns: {}\n",
            visible(&open.table),
            columns.join(", ")
        ))?;
        self.answer("   unit", open.suggested.as_deref(), |text| {
            if open.columns.iter().any(|column| column == text) {
                return Ok(UnitDecision::Column(text.to_owned()));
            }
            match (text, open.is_alone) {
                ("row", true) => Ok(UnitDecision::Row),
                ("public", false) => Ok(UnitDecision::Public),
                (_, true) => Err("a column of the table, or row"),
                (_, false) => Err("a column of the table, or public"),
            }
        })
    }
}

fn unfinished(why: &str) -> Failure {
    Failure::new(
        format!("not all questions are answered: {why}; nothing was written"),
        "run `hushtable init --yes FILE`, which asks nothing and marks each open decision with \
         TODO",
    )
}

#[cfg(test)]
mod tests {
    use hushtable::query::{Contract, UnitLimit};

    use super::*;

    fn drafted(files: &[(&str, &str)]) -> Draft {
        let folder = tempfile::tempdir().unwrap();
        let paths = files.iter().map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let paths: Vec<String> = paths.collect();
        Draft::of(&paths, folder.path(), false).unwrap()
    }

    /// The conversation, and the contract that comes of it.
    fn converse(draft: &Draft, answers: &str) -> (String, Result<String, Failure>) {
        let mut conversation = Vec::new();
        let decisions = interview(draft, &mut answers.as_bytes(), &mut conversation);
        let contract = decisions.map(|decisions| draft.decided(&decisions));
        (String::from_utf8(conversation).unwrap(), contract)
    }

    #[test]
    fn answers_make_a_contract() {
        let draft = drafted(&[("visits.csv", "customer_id,town,amount\n1,Wick,2\n")]);
        let (conversation, contract) =
            converse(&draft, "nobody\n\n5,000\nno\n2.5\nana\n0\n2\nmany\n4\n");
        insta::assert_snapshot!(conversation);
        let contract = contract.unwrap();
        let settings = contract.split_once("# Defaults of queries.").unwrap().1;
        insta::assert_snapshot!("settings", settings);
        let read = Contract::parse(&contract, "hushtable.toml").unwrap();
        let population = &read.populations["visits"];
        assert_eq!(population.budgets["ana"].to_string(), "epsilon = 2.5, delta = 1e-5");
        assert_eq!(population.defaults.max_groups_contributed, Some(UnitLimit::Most(2)));
        assert_eq!(population.defaults.max_rows_per_group, Some(UnitLimit::Most(4)));
    }

    #[test]
    fn what_is_recommended_suffices() {
        let draft = drafted(&[("visits.csv", "customer_id,town\n1,Wick\n")]);
        let contract = converse(&draft, &"\n".repeat(10)).1.unwrap();
        let read = Contract::parse(&contract, "hushtable.toml").unwrap();
        let budget = read.populations["visits"].budgets["analyst"].to_string();
        assert_eq!(budget, "epsilon = 1, delta = 1e-6");
    }

    #[test]
    fn a_unit_that_is_a_row_has_no_other_rows() {
        let draft = drafted(&[("visits.csv", "town,amount\nWick,2\n")]);
        let (conversation, contract) = converse(&draft, "row\n1000\nn\n3\nana\n1\n");
        assert!(!conversation.contains("6. How many rows"), "{conversation}");
        let contract = contract.unwrap();
        assert!(!contract.contains("\nmax_rows_per_group"), "{contract}");
        Contract::parse(&contract, "hushtable.toml").unwrap();
    }

    #[test]
    fn several_tables_share_one_population() {
        let draft = drafted(&[
            ("visits.csv", "customer_id,town\n1,Wick\n"),
            ("towns.csv", "town,county\nWick,Kent\n"),
        ]);
        let (conversation, contract) = converse(&draft, &format!("row\npublic{}", "\n".repeat(10)));
        assert!(
            conversation.contains("row is not a column of the table, or public"),
            "{conversation}"
        );
        let contract = contract.unwrap();
        let read = Contract::parse(&contract, "hushtable.toml").unwrap();
        assert_eq!(read.populations["customer"].budgets.len(), 1);
    }

    #[test]
    fn an_interview_that_ends_early_writes_nothing() {
        let draft = drafted(&[("visits.csv", "customer_id\n1\n")]);
        insta::assert_snapshot!(converse(&draft, "row\n\n").1.unwrap_err(), @"
        error: not all questions are answered: there are no more answers; nothing was written
          hint: run `hushtable init --yes FILE`, which asks nothing and marks each open \
                decision with TODO
        ");
    }
}
