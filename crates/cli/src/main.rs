//! The program `hushtable`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(hushtable_cli::run(std::env::args_os()))
}
