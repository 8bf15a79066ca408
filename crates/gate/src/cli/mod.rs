//! The command line of the `tidegate-gate` binary and of `tidegate gate`.

mod arguments;
mod check;
mod import;
mod observe;
mod privileges;
mod remote;
mod summary;
mod top;
mod up;

use crate::sys::log::log;
use arguments::{Cli, Command, HELP};
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::io::Write;

/// Exit code when a gate does not start, or stops with an error.
const FAILED: u8 = 1;
/// Exit code for wrong arguments.
const USAGE: u8 = 2;

/// Runs the command in `args`, of which the first is the program's name. Returns the exit code: 0,
/// 1 for a failure, 2 for wrong arguments. Results go to standard output, everything else to
/// standard error.
pub fn cli(args: impl IntoIterator<Item = OsString>) -> u8 {
    let command = Cli::command().help_template(HELP).mut_subcommands(|one| one.help_template(HELP));
    let parsed = command.try_get_matches_from(args).and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are not errors, and go to standard output.
            let failed = error.use_stderr();
            let printed = error.print().is_ok();
            return if failed || !printed { USAGE } else { 0 };
        }
    };
    let outcome = match cli.command {
        Command::Up(up) => up::run(&up),
        Command::Observe(observe) => observe::run(&observe),
        Command::Check(asked) => check::run(&asked),
        Command::Import(asked) => import::run(&asked),
        Command::Down(asked) => remote::down(&asked),
        Command::Status(status) => remote::status(&status),
        Command::Explain(asked) => remote::explain(&asked),
        Command::Top(top) => remote::connect(&top.running)
            .and_then(|mut client| top::run(&mut client, top.times, top.json))
            .map(|()| String::new()),
        Command::Reload(asked) => remote::reload(&asked),
    };
    match outcome {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => 0,
            Err(_) => FAILED,
        },
        Err(error) => {
            log(&error.to_string());
            FAILED
        }
    }
}
