//! `hushtable shell`: one statement after another, each with its price before it is charged.

mod command;
mod history;
mod input;
mod words;

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use futures::executor::block_on;
use hushtable::privacy::Loss;
use hushtable::query::{IntervalRequest, MAX_QUERY_BYTES, statement_end};
use hushtable::{Analyst, Answer, Engine, Plan, Progress, Purpose, QuestionQuote};

use self::command::ShellCommand;
use self::input::{Input, InputLine};
use self::words::Completions;
use super::note_file::NoteFile;
use super::query::{account_of, by_extension};
use super::{engine, within};
use crate::arguments::ShellArguments;
use crate::delayed_effects;
use crate::failure::Failure;
use crate::interruption::Interruption;
use crate::pace::Pace;
use crate::progress::watched;
use crate::render::grid::visible;
use crate::render::intervals::TableView;
use crate::render::{self, TableStyle, budget, quoted};
use crate::table_format::TableFormat;
use crate::{stdio, surroundings};

/// The prompt of a statement's further lines.
const CONTINUED: &str = "        -> ";
const QUESTION: &str = "ask it, and charge this? [y/n] ";

pub(crate) fn run(arguments: &ShellArguments) -> Result<(), Failure> {
    let delay = arguments.pace.at_least_seconds.clone();
    let pace = Pace::of(delay.as_deref(), Instant::now())?;
    let path = arguments.contract.path();
    // With a delay, messages of the ledger wait for the end of a statement's.
    let (engine, effects) =
        pace.keep(|_| (), || engine(&path).and_then(|engine| within(engine, &arguments.memory)));
    effects.into_iter().try_for_each(|effect| effect())?;
    let engine = engine?;
    let analyst = engine.analyst(surroundings::analyst(arguments.analyst.as_deref()).as_deref());
    let left = left(&analyst)?;
    let interactive = io::stdin().is_terminal();
    let mut input = input::input(Completions::of(engine.contract()), &engine.protected())?;
    if interactive {
        stdio::note("a statement ends with `;`; \\help lists the commands\n");
        stdio::note(&input.history().map(|history| history.message()).unwrap_or_default());
    }
    let mut shell = Shell {
        engine,
        analyst,
        delay,
        auto: arguments.auto,
        intervals: None,
        output: None,
        left,
        text: String::new(),
        put_back: None,
        done: 0,
        failed: 0,
    };
    shell.converse(input.as_mut())?;
    match shell.failed {
        0 => Ok(()),
        // At a terminal, each failure was printed when it happened.
        _ if interactive => Ok(()),
        failed => Err(Failure::new(
            format!("{failed} of {} statements and commands failed", shell.done),
            "see the errors above; the others were answered",
        )),
    }
}

/// The state between statements.
struct Shell {
    engine: Engine,
    analyst: Analyst,
    delay: Option<String>,
    /// Whether statements are charged without asking.
    auto: bool,
    intervals: Option<IntervalRequest>,
    /// The file of the next result.
    output: Option<PathBuf>,
    /// The rest of each budget, by its population.
    left: Vec<(String, Loss)>,
    /// The lines of a statement that is not complete.
    text: String,
    /// A line that was no answer to a question.
    put_back: Option<String>,
    done: usize,
    failed: usize,
}

impl Shell {
    /// Reads lines and does what they say, until there are none or `\q`. Failures are reported, and
    /// end nothing, unless nobody reads any more.
    fn converse(&mut self, input: &mut dyn Input) -> Result<(), Failure> {
        loop {
            let is_begun = !self.text.trim().is_empty();
            let prompt = if is_begun { CONTINUED.to_owned() } else { self.prompt() };
            match self.line(input, &prompt)? {
                InputLine::GivenUp => self.text.clear(),
                InputLine::Text(line) => {
                    self.text += &line;
                    self.text.push('\n');
                }
                InputLine::End => {
                    // The last statement may do without its end.
                    let last = std::mem::take(&mut self.text);
                    if !last.trim().is_empty() {
                        self.whole(input, last.trim())?;
                    }
                    return Ok(());
                }
            }
            if self.work(input)? {
                return Ok(());
            }
        }
    }

    /// Does everything that is complete. Returns whether the shell ends.
    fn work(&mut self, input: &mut dyn Input) -> Result<bool, Failure> {
        loop {
            let first = self.text.trim_start().lines().next();
            if first.is_some_and(command::is_command) {
                let text = std::mem::take(&mut self.text);
                let (line, rest) = text.trim_start().split_once('\n').unwrap_or((&text, ""));
                self.text = rest.to_owned();
                input.remember(line);
                let command = command::parse(line);
                if matches!(command, Ok(ShellCommand::Quit)) {
                    return Ok(true);
                }
                let done = command.and_then(|command| self.command(command, input));
                self.report(done)?;
            } else if let Some(end) = statement_end(&self.text, self.engine.contract().quoted_names)
            {
                let rest = self.text.split_off(end);
                let text = std::mem::replace(&mut self.text, rest);
                self.whole(input, text.trim())?;
            } else {
                break;
            }
        }
        if self.text.trim().is_empty() {
            self.text.clear();
        }
        if self.text.len() > MAX_QUERY_BYTES {
            self.text.clear();
            self.report(Err(Failure::new(
                format!(
                    "the statement has more than {MAX_QUERY_BYTES} bytes, but no `;` at its end"
                ),
                "end each statement with `;`",
            )))?;
        }
        Ok(false)
    }

    /// A whole statement, or an `EXPLAIN` of one.
    fn whole(&mut self, input: &mut dyn Input, text: &str) -> Result<(), Failure> {
        if text.trim_matches(|c: char| c == ';' || c.is_whitespace()).is_empty() {
            return Ok(());
        }
        input.remember(text);
        let done = match command::explained(text) {
            Some(sql) => self.explain(sql),
            None => self.ask(input, text),
        };
        self.report(done)
    }

    /// Reports a failure and goes on, unless standard output is closed.
    fn report(&mut self, done: Result<(), Failure>) -> Result<(), Failure> {
        self.done += 1;
        match done {
            Err(Failure::ClosedPipe) => Err(Failure::ClosedPipe),
            Err(failure) => {
                self.failed += 1;
                stdio::note(&failure.to_string());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn line(&mut self, input: &mut dyn Input, prompt: &str) -> Result<InputLine, Failure> {
        match self.put_back.take() {
            Some(line) => Ok(InputLine::Text(line)),
            None => input.line(prompt),
        }
    }

    /// The prompt, with the rest of the budget.
    fn prompt(&self) -> String {
        let left: Vec<String> = match self.left.as_slice() {
            [] => return "hushtable> ".to_owned(),
            [(_, left)] => vec![left.to_string()],
            several => {
                several.iter().map(|(of, left)| format!("{}: {left}", visible(of))).collect()
            }
        };
        format!("hushtable [left: {}]> ", left.join("; "))
    }

    fn command(&mut self, command: ShellCommand, input: &mut dyn Input) -> Result<(), Failure> {
        let contract = self.engine.contract();
        match command {
            ShellCommand::Describe(None) => stdio::print(render::tables::list(contract).as_bytes()),
            ShellCommand::Describe(Some(name)) => {
                let table = contract.named_table(&name)?;
                stdio::print(render::tables::describe(contract, table).as_bytes())
            }
            ShellCommand::Auto(on) => {
                self.auto = on.unwrap_or(!self.auto);
                stdio::note(match self.auto {
                    true => "auto: statements are charged without asking\n",
                    false => "auto: off; each statement asks before it is charged\n",
                });
                Ok(())
            }
            ShellCommand::Intervals(intervals) => {
                self.intervals = intervals;
                Ok(())
            }
            ShellCommand::Output(file) => {
                self.output = file;
                Ok(())
            }
            ShellCommand::Budget => {
                let lines = block_on(self.analyst.budget(None))?;
                stdio::print(budget::text(&lines, &[]).as_bytes())
            }
            ShellCommand::History(switch) => {
                let message = match input.history() {
                    Some(history) => {
                        if let Some(on) = switch {
                            history.switch(on);
                        }
                        history.message()
                    }
                    None => "history: not kept without a terminal\n".to_owned(),
                };
                stdio::note(&message);
                Ok(())
            }
            ShellCommand::Help => stdio::print(command::help().as_bytes()),
            ShellCommand::Quit => Ok(()),
        }
    }

    /// Shows a statement's promise and price.
    fn explain(&self, sql: &str) -> Result<(), Failure> {
        let analyst = &self.analyst;
        let _interruption = Interruption::of(&Progress::default());
        self.paced(|| {
            let text = quoted::text(&block_on(analyst.explain(sql))?, false);
            stdio::print(text.as_bytes())
        })
    }

    /// Prints a statement's price, and runs it if the budget suffices and the user agrees, where a
    /// charge needs that.
    fn ask(&mut self, input: &mut dyn Input, sql: &str) -> Result<(), Failure> {
        let progress = Progress::default();
        let _interruption = Interruption::of(&progress);
        let (plan, quote) = self.paced(|| self.price(sql, &progress))?;
        stdio::note(&quoted::price(&quote));
        if !quote.is_affordable() {
            return Err(Failure::new(
                "the budget does not suffice; nothing is charged",
                "ask for less, as in OPTIONS (epsilon = 0.1), or see \\budget",
            ));
        }
        if !quote.is_free() && !self.auto && !self.agreed(input)? {
            stdio::note("not asked: nothing is charged\n");
            return Ok(());
        }
        let answered = self.paced(|| self.answered(plan, &progress));
        if answered.is_ok() {
            self.output = None;
        }
        // A failure may come after the charge.
        self.left = match &answered {
            Ok(answer) => rest(&self.left, answer),
            Err(_) => left(&self.analyst)?,
        };
        answered.map(|_| ())
    }

    /// A statement's plan and price, from its structure and the ledger alone.
    fn price(&self, sql: &str, progress: &Progress) -> Result<(Plan, QuestionQuote), Failure> {
        let plan = block_on(self.analyst.plan(sql, Purpose::Quote, progress))?;
        for (_, warning) in plan.warnings() {
            stdio::note(&render::warnings::note(warning, None));
        }
        let quote = plan.quoted()?;
        Ok((plan, quote))
    }

    /// Whether the next line is a yes. A line that is neither yes nor no is the next statement's,
    /// and no consent.
    fn agreed(&mut self, input: &mut dyn Input) -> Result<bool, Failure> {
        match input.line(QUESTION)? {
            InputLine::Text(answer) => match answer.trim().to_lowercase().as_str() {
                "y" | "yes" => Ok(true),
                "" | "n" | "no" => Ok(false),
                _ => {
                    self.put_back = Some(answer);
                    Ok(false)
                }
            },
            InputLine::GivenUp | InputLine::End => Ok(false),
        }
    }

    /// Answers a statement, and prints the answer.
    fn answered(&self, plan: Plan, progress: &Progress) -> Result<Answer, Failure> {
        // A file that cannot be written is found before the budget is touched.
        let output = self.output.as_deref();
        let protected = self.engine.protected();
        let pending = output.map(|path| protected.pending(path)).transpose()?;
        let on_terminal = output.is_none() && stdio::stdout_is_terminal();
        let format = match output {
            Some(path) => by_extension(path).unwrap_or(TableFormat::Csv),
            None if on_terminal => TableFormat::Table,
            None => TableFormat::Csv,
        };
        let noted = output.filter(|_| format.has_note_file());
        let notes = noted.map(|path| NoteFile::beside(path, &protected)).transpose()?.flatten();
        let style = TableStyle::new(format, false, on_terminal)?;
        let answer = watched("reading", progress, || block_on(plan.answer()))?;
        // From here on the charge stands, so it is reported whatever happens to the file.
        stdio::note(&account_of(&answer, &self.engine));
        let view = TableView::of(&answer.output, self.intervals)?;
        let result = render::result(&view, style)?;
        stdio::note(&view.beside_result(format));
        if let Some(notes) = notes {
            notes.write(&view.beside_result(format))?;
        }
        match (pending, output) {
            (Some(pending), Some(path)) => {
                delayed_effects::write(pending, result)?;
                stdio::note(&format!("wrote {}\n", path.display()));
            }
            _ => stdio::print(&result)?,
        }
        Ok(answer)
    }

    /// Does some work with the delay that the option or the environment asks for.
    fn paced<T>(&self, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let pace = Pace::of(self.delay.as_deref(), Instant::now())?;
        let (ended, effects) = pace.keep(thread::sleep, work);
        let printed = effects.into_iter().try_for_each(|effect| effect());
        ended.and_then(|value| printed.map(|()| value))
    }
}

/// The rest of each of the analyst's budgets, by population.
fn left(analyst: &Analyst) -> Result<Vec<(String, Loss)>, Failure> {
    let budgets = block_on(analyst.budget(None))?;
    Ok(budgets.into_iter().map(|line| (line.table, line.account.left)).collect())
}

/// The rest of each budget after an answer.
fn rest(before: &[(String, Loss)], answer: &Answer) -> Vec<(String, Loss)> {
    let after = |population: &String| {
        let mut accounts = answer.charges.accounts.iter();
        Some(accounts.find(|account| account.population == *population)?.account.left)
    };
    let each = before.iter().map(|(of, left)| (of.clone(), after(of).unwrap_or(*left)));
    each.collect()
}
