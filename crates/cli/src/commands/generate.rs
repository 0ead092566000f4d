//! `hushtable generate`.

use std::fs;
use std::path::Path;

use clap::{Command, CommandFactory};
use hushtable::output::PendingFile;
use hushtable::query::Contract;

use crate::arguments::{Cli, GenerateArguments, GenerateCommand};
use crate::failure::Failure;
use crate::{kept_effects, stdio};

pub(crate) fn run(asked: &GenerateArguments) -> Result<(), Failure> {
    match &asked.what {
        GenerateCommand::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "hushtable", &mut script);
            stdio::print(&script)
        }
        GenerateCommand::Man { out } => {
            fs::create_dir_all(out).map_err(|e| {
                Failure::new(
                    format!("cannot create the folder `{}`: {e}", out.display()),
                    "give --out a folder that exists, or one that can be created",
                )
            })?;
            let mut command = Cli::command();
            command.build();
            pages(&command, "hushtable", out)
        }
        GenerateCommand::Schema => stdio::print(Contract::SCHEMA.as_bytes()),
    }
}

/// The page of a command and those of its commands: `hushtable-calc-noise.1`.
fn pages(command: &Command, name: &str, folder: &Path) -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(|e| {
        Failure::new(
            format!("cannot write the page of `{name}`: {e}"),
            "this is a fault in Hushtable: please report it, without data",
        )
    })?;
    let path = folder.join(format!("{name}.1"));
    kept_effects::written(PendingFile::replacing(&path)?, page)?;
    stdio::print(format!("{}\n", path.display()).as_bytes())?;
    let commands = command.get_subcommands().filter(|own| own.get_name() != "help");
    commands
        .into_iter()
        .try_for_each(|own| pages(own, &format!("{name}-{}", own.get_name()), folder))
}
