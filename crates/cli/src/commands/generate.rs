//! `hushtable generate`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};
use hushtable::Engine;
use hushtable::output::{PendingFile, ProtectedFiles, refuse_precious};
use hushtable::query::Contract;

use crate::arguments::{Cli, GenerateArguments, GenerateCommand};
use crate::failure::Failure;
use crate::{delayed_effects, stdio, surroundings};

pub(crate) fn run(arguments: &GenerateArguments) -> Result<(), Failure> {
    match &arguments.what {
        GenerateCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "hushtable", &mut script);
            stdio::print(&script)
        }
        GenerateCommand::Man { out } => {
            let mut command = Cli::command();
            command.build();
            let mut all = Vec::new();
            pages(&command, "hushtable", out, &mut all)?;
            // Nothing is written unless all of the pages may be.
            let protected = nearby();
            for (path, _) in &all {
                protected
                    .as_ref()
                    .map_or_else(|| refuse_precious(path), |files| files.refuse(path))?;
            }
            fs::create_dir_all(out).map_err(|e| {
                Failure::new(
                    format!("cannot create the folder `{}`: {e}", out.display()),
                    "give --out a folder that exists, or one that can be created",
                )
            })?;
            let pending = all.iter().map(|(path, _)| PendingFile::replacing(path));
            let pending = pending.collect::<Result<Vec<_>, _>>()?;
            for (file, (path, page)) in pending.into_iter().zip(all) {
                delayed_effects::write(file, page)?;
                stdio::print(format!("{}\n", path.display()).as_bytes())?;
            }
            Ok(())
        }
        GenerateCommand::Reference => {
            let mut page = String::from(
                "# Commands\n\nThis page is the output of `hushtable generate reference`; \
                 `hushtable help COMMAND` shows the same.\n",
            );
            let mut command = Cli::command();
            command.build();
            sections(&command, "hushtable", &mut page);
            stdio::print(page.as_bytes())
        }
        GenerateCommand::Schema => stdio::print(Contract::SCHEMA.as_bytes()),
    }
}

/// The files of the contract that a command here would take, if there is one that can be read.
fn nearby() -> Option<ProtectedFiles> {
    let engine = Engine::open(surroundings::contract_if_any()?).ok()?;
    Some(engine.protected())
}

/// The page of a command and those of its commands: `hushtable-calc-noise.1`.
fn pages(
    command: &Command,
    name: &str,
    folder: &Path,
    all: &mut Vec<(PathBuf, Vec<u8>)>,
) -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(|e| {
        Failure::new(
            format!("cannot write the page of `{name}`: {e}"),
            "this is a fault in Hushtable: please report it, without data",
        )
    })?;
    all.push((folder.join(format!("{name}.1")), page));
    let commands = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
    commands.into_iter().try_for_each(|subcommand| {
        pages(subcommand, &format!("{name}-{}", subcommand.get_name()), folder, all)
    })
}

/// The help of a command and of those below it, under headings.
fn sections(command: &Command, name: &str, page: &mut String) {
    let mut copy = command.clone().bin_name(name).term_width(90);
    let help = copy.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    *page += &format!("\n## `{name}`\n\n```text\n{}\n```\n", lines.join("\n"));
    for subcommand in command.get_subcommands().filter(|below| below.get_name() != "help") {
        sections(subcommand, &format!("{name} {}", subcommand.get_name()), page);
    }
}
