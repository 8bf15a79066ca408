//! The command line of the `tidegate-gate` binary and of `tidegate gate`.

mod observe;
mod remote;
mod top;
mod up;

use crate::config::default_gate;
use crate::config::oversubscription;
use crate::config::source::Source;
use crate::config::unmatched;
use crate::error::GateError;
use crate::runtime::WaitMode;
use crate::sys::log::log;
use crate::sys::privileges;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use tidegate_core::units::Span;
use tidegate_spec::units::{parse_rate, parse_time, show_rate};
use tidegate_spec::{Fail, GateFile};

/// Exit code when a gate does not start, or stops with an error.
const FAILED: u8 = 1;
/// Exit code for wrong arguments.
const USAGE: u8 = 2;

/// Half of the lateness that a link makes up for.
const MAX_COALESCE: Span = Span::from_millis(10);

/// Traffic management on a real link: a bump in the wire between two interfaces.
#[derive(Parser)]
#[command(name = "tidegate-gate", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Forwards between the file's interfaces until SIGINT or SIGTERM, then prints a report.
    ///
    /// With `fail = "open"`, traffic then passes unshaped through a bridge.
    Up(Up),
    /// Measures the traffic between the interfaces without touching a packet, until SIGINT or SIGTERM; then prints
    /// the file with the reservations that it suggests.
    Observe(Observe),
    /// Reads a gate file and reports its mistakes.
    Check(Check),
    /// Stops a running gate and removes the bridge that it made: then nothing passes.
    Down(Asked),
    /// Prints a report of a running gate.
    Status(Status),
    /// Shows every second what each flow sends and how long it waits.
    Top(Top),
    /// Makes a running gate follow its file as it is now: all of it, or nothing.
    Reload(Asked),
}

#[derive(Args)]
struct Observe {
    #[command(flatten)]
    source: File,
    /// Stops after this time, as in 60s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Span>,
    /// Prints the report and the suggested reservations as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Running {
    /// The gate's file, or its name.
    gate: PathBuf,
}

/// A command of which the answer can be JSON.
#[derive(Args)]
struct Asked {
    #[command(flatten)]
    running: Running,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Check {
    #[command(flatten)]
    source: File,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Status {
    #[command(flatten)]
    running: Running,
    /// Prints the counters of every circuit that has had packets instead, by bytes sent, the most first.
    #[arg(long)]
    circuits: bool,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Top {
    #[command(flatten)]
    running: Running,
    /// Stops after so many tables.
    #[arg(long, value_name = "COUNT")]
    times: Option<u32>,
    /// Prints JSON, a document on a line of its own for each table.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct File {
    /// The gate file.
    file: PathBuf,
    /// Changes one value before the file is read, as in gate.up=20mbit.
    #[arg(long, value_name = "PATH=VALUE", value_parser = parse_override)]
    set: Vec<(String, String)>,
}

/// A gate file, or a line without one.
#[derive(Args)]
struct Line {
    /// The gate file.
    #[arg(required_unless_present = "inside")]
    file: Option<PathBuf>,
    /// In the place of a file, with --outside and --rate: the interface towards those whom the link serves. The gate is
    /// fair by host, and what hosts mark as calls waits for nothing else that they send.
    #[arg(long, value_name = "INTERFACE", requires_all = ["outside", "rate"], conflicts_with_all = ["file", "keep"])]
    inside: Option<String>,
    /// The interface towards the rest of the world.
    #[arg(long, value_name = "INTERFACE", requires = "inside")]
    outside: Option<String>,
    /// The rate in each direction, a little below what the line carries, as in 50mbit.
    #[arg(long, value_name = "RATE", value_parser = parse_line_rate, requires = "inside")]
    rate: Option<u64>,
    /// Changes one value before the file is read, as in gate.up=20mbit.
    #[arg(long, value_name = "PATH=VALUE", value_parser = parse_override)]
    set: Vec<(String, String)>,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    source: Line,
    /// Stops after this time, as in 10s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Span>,
    /// Polls without sleeping: takes a whole core, and frames leave less late.
    #[arg(long)]
    busy: bool,
    /// Does not request real-time scheduling: other processes get more of the core, and frames leave later under
    /// load.
    #[arg(long, conflicts_with = "busy")]
    no_real_time: bool,
    /// Sleeps for so long after each time that it has sent something, as in 2ms, 10 ms at most: takes less of the
    /// processor, and frames leave together, up to so much late.
    #[arg(long, value_name = "TIME", value_parser = parse_coalesce, conflicts_with = "busy")]
    coalesce: Option<Span>,
    /// Keeps the last good file in this folder, and starts with that one when FILE holds mistakes.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Prints the report as JSON.
    #[arg(long)]
    json: bool,
}

fn parse_override(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("write PATH=VALUE, as in gate.up=20mbit")?;
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

/// Runs the command in `args`, of which the first is the program's name. Returns the exit code: 0, 1 for what
/// failed, 2 for wrong arguments. Results go to standard output, everything else to standard error.
pub fn cli(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
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
    let summary = oversubscription::summary(&read);
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

/// Drops the privileges of this thread and of those that it starts: to be called before there is a second one.
fn drop_privileges(wait_mode: WaitMode) -> Result<(), GateError> {
    privileges::drop_all(wait_mode == WaitMode::RealTime)
        .map_err(|error| GateError::system("dropping privileges", error))
}
