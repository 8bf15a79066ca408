//! The command line of the `tidegate-gate` binary and of `tidegate gate`.

mod observe;
mod remote;
mod top;
mod up;

use crate::config::default_gate;
use crate::config::oversubscription;
use crate::config::promises;
use crate::config::source::Source;
use crate::config::unmatched;
use crate::error::GateError;
use crate::runtime::WaitMode;
use crate::sys::log::log;
use crate::sys::privileges;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use tidegate_core::units::Span;
use tidegate_formats::units::{parse_rate, parse_time, show_rate};
use tidegate_formats::{Fail, GateFile};

/// Exit code when a gate does not start, or stops with an error.
const FAILED: u8 = 1;
/// Exit code for wrong arguments.
const USAGE: u8 = 2;

/// Half of the lateness that a link makes up for.
const MAX_COALESCE: Span = Span::from_millis(10);

/// The parts of a help text in the order of the other `tidegate` commands.
const HELP: &str = "{usage-heading} {usage}\n\n  {about}\n\n{all-args}{after-help}";
/// Maximum number of columns of a help text, as of the other `tidegate` commands.
const WIDTH: usize = 80;

/// Run, monitor and reconfigure a gate on a real link.
#[derive(Parser)]
#[command(name = "tidegate-gate", version, max_term_width = WIDTH)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Forward between a file's interfaces until SIGINT or SIGTERM, then report.
    #[command(after_help = "With `fail = \"open\"`, traffic then passes unshaped through a bridge.")]
    Up(Up),
    /// Measure the traffic without touching a packet, then print the file with reservations.
    Observe(Observe),
    /// Check a gate file and summarise it.
    Check(Check),
    /// Stop a running gate and remove the bridge that it made: then nothing passes.
    Down(Asked),
    /// Print a report of a running gate.
    Status(Status),
    /// Show every second what each flow sends and how long it waits.
    Top(Top),
    /// Make a running gate follow its file as it is now: all of it, or nothing.
    Reload(Asked),
}

#[derive(Args)]
struct Observe {
    #[command(flatten)]
    source: File,
    /// Stop after this time, for example 60s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Span>,
    /// Print the report and the suggested reservations as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Running {
    /// Gate file, or the name of the gate.
    gate: PathBuf,
}

/// A command of which the answer can be JSON.
#[derive(Args)]
struct Asked {
    #[command(flatten)]
    running: Running,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Check {
    #[command(flatten)]
    source: File,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Status {
    #[command(flatten)]
    running: Running,
    /// Print instead the counters of every circuit that has had packets, by bytes sent, the most
    /// first.
    #[arg(long)]
    circuits: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Top {
    #[command(flatten)]
    running: Running,
    /// Stop after so many tables.
    #[arg(long, value_name = "COUNT")]
    times: Option<u32>,
    /// Print JSON, a document on a line of its own for each table.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct File {
    /// Gate file.
    file: PathBuf,
    /// Override one value, for example gate.up=20mbit. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    set: Vec<(String, String)>,
}

/// A gate file, or a line without one.
#[derive(Args)]
struct Line {
    /// Gate file.
    #[arg(required_unless_present = "inside")]
    file: Option<PathBuf>,
    /// In place of a file, with --outside and --rate: the interface towards the hosts that the link
    /// serves. The gate is fair by host, and what a host marks as a call waits for nothing else
    /// that the host sends.
    #[arg(long, value_name = "INTERFACE", requires_all = ["outside", "rate"], conflicts_with_all = ["file", "keep"])]
    inside: Option<String>,
    /// Interface towards the rest of the world.
    #[arg(long, value_name = "INTERFACE", requires = "inside")]
    outside: Option<String>,
    /// Rate in each direction, a little below what the line carries, for example 50mbit.
    #[arg(long, value_name = "RATE", value_parser = parse_line_rate, requires = "inside")]
    rate: Option<u64>,
    /// Override one value, for example gate.up=20mbit. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    set: Vec<(String, String)>,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    source: Line,
    /// Stop after this time, for example 10s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Span>,
    /// Poll without sleeping: takes a whole core, and frames leave less late.
    #[arg(long)]
    busy: bool,
    /// Do not request real-time scheduling: other processes get more of the core, and frames leave
    /// later under load.
    #[arg(long, conflicts_with = "busy")]
    no_real_time: bool,
    /// Sleep for so long after each time that something was sent, for example 2ms, at most 10 ms:
    /// takes less of the processor, and frames leave together, up to so much late.
    #[arg(long, value_name = "TIME", value_parser = parse_coalesce, conflicts_with = "busy")]
    coalesce: Option<Span>,
    /// Keep the last good file in this folder, and start with that one when FILE has mistakes.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
}

fn parse_override(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("write KEY=VALUE, for example gate.up=20mbit")?;
    Ok((path.to_owned(), value.to_owned()))
}

fn parse_line_rate(text: &str) -> Result<u64, String> {
    parse_rate(text).map_err(|complaint| complaint.to_string())
}

fn parse_duration(text: &str) -> Result<Span, String> {
    parse_time(text).map_err(|complaint| complaint.to_string())
}

fn parse_coalesce(text: &str) -> Result<Span, String> {
    let span = parse_duration(text)?;
    match span <= MAX_COALESCE {
        true => Ok(span),
        false => Err("at most 10ms: later departures would waste capacity".to_owned()),
    }
}

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
        Command::Check(asked) => check(&asked),
        Command::Down(asked) => remote::down(&asked),
        Command::Status(status) => remote::status(&status),
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

impl File {
    fn source(&self) -> Source {
        Source { path: self.file.clone(), text: None, overrides: self.set.clone() }
    }
}

impl Line {
    fn source(&self) -> Source {
        let overrides = self.set.clone();
        let path = self.file.clone().unwrap_or_else(|| "(command line)".into());
        let text = match (&self.inside, &self.outside, self.rate) {
            (Some(inside), Some(outside), Some(rate)) => Some(default_gate::text(inside, outside, rate)),
            _ => None,
        };
        Source { path, text, overrides }
    }
}

fn check(asked: &Check) -> Result<String, GateError> {
    let file = &asked.source;
    let read = file.source().load()?;
    let warnings: String =
        unmatched::warnings(&read).iter().map(|warning| format!("warning: {warning}\n")).collect();
    let promised: String = promises::lines(&read).iter().map(|line| format!("{line}\n")).collect();
    let summary = promised + &oversubscription::summary(&read);
    if asked.json {
        let [up, down] = read.rates.map(|rate| rate.bits_per_second().round() as u64);
        let document = serde_json::json!({
            "file": file.file.to_string_lossy(), "inside": read.inside, "outside": read.outside,
            "up": up, "down": down, "fail": fails(&read), "warnings": unmatched::warnings(&read), "notes": summary.lines().collect::<Vec<_>>(),
        });
        return Ok(format!("{document:#}\n"));
    }
    Ok(format!("{}: in order\n{}\n{warnings}{summary}", file.file.display(), describe(&read)))
}

/// One line about the interfaces, the rates and the failover of a file.
fn describe(file: &GateFile) -> String {
    let [up, down] = file.rates.map(|rate| show_rate(rate.bits_per_second().round() as u64));
    let GateFile { inside, outside, .. } = file;
    format!("{inside} -> {outside} at {up}, {outside} -> {inside} at {down}, fails {}", fails(file))
}

fn fails(file: &GateFile) -> &'static str {
    match file.fail {
        Fail::Open => "open",
        Fail::Closed => "closed",
    }
}

/// Drops the privileges of this thread and of those that it starts: to be called before a second
/// thread exists.
fn drop_privileges(wait_mode: WaitMode) -> Result<(), GateError> {
    privileges::drop_all(wait_mode == WaitMode::RealTime)
        .map_err(|error| GateError::system("dropping privileges", error))
}
