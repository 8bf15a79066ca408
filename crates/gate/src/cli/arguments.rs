//! The arguments of the commands.

use crate::config::default_gate;
use crate::config::source::Source;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use tidegate_core::units::Span;
use tidegate_formats::units::{parse_rate, parse_time};

/// Half of the lateness that a link makes up for.
const MAX_COALESCE: Span = Span::from_millis(10);

/// The parts of a help text in the order of the other `tidegate` commands.
pub(super) const HELP: &str = "{usage-heading} {usage}\n\n  {about}\n\n{all-args}{after-help}";
/// Maximum number of columns of a help text, as of the other `tidegate` commands.
const WIDTH: usize = 80;

/// Run, monitor and reconfigure a gate on a real link.
#[derive(Parser)]
#[command(name = "tidegate-gate", version, max_term_width = WIDTH)]
pub(super) struct Cli {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
pub(super) enum Command {
    /// Forward between a file's interfaces until SIGINT or SIGTERM, then report.
    #[command(after_help = "With `fail = \"open\"`, traffic then passes unshaped through a bridge.")]
    Up(Up),
    /// Measure the traffic without touching a packet, then print the file with reservations.
    Observe(Observe),
    /// Check a gate file and summarise it.
    Check(Check),
    /// Translate a configuration of `tc`, or the files of LibreQoS, into a gate file.
    #[command(
        after_help = "What cannot be carried over is listed, and then nothing is written without --accept-losses."
    )]
    Import(Import),
    /// Stop a running gate and remove the bridge that it made: then nothing passes.
    Down(Asked),
    /// Print a report of a running gate.
    Status(Status),
    /// Explain what the packets of a flow, a host or a circuit of a running gate waited for.
    #[command(after_help = "The answer is about the last minute, or the time since the latest reload.")]
    Explain(Explain),
    /// Show every second what each flow sends and how long it waits.
    Top(Top),
    /// Make a running gate follow its file as it is now: all of it, or nothing.
    Reload(Asked),
}

#[derive(Args)]
pub(super) struct Observe {
    #[command(flatten)]
    pub(super) source: File,
    /// Stop after this time, for example 60s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(super) duration: Option<Span>,
    /// Print the report and the suggested reservations as JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct Import {
    /// List of LibreQoS's devices, ShapedDevices.csv.
    #[arg(required_unless_present_any = ["tc_up", "tc_down"], conflicts_with_all = ["tc_up", "tc_down"])]
    pub(super) devices: Option<PathBuf>,
    /// Network in which they are, network.json; without it, no device may have a parent.
    pub(super) network: Option<PathBuf>,
    /// In place of LibreQoS's files, what `tc -d -j qdisc show dev IF`, `class` and `filter` print
    /// for the interface towards the rest of the world.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) tc_up: Vec<PathBuf>,
    /// Likewise for the interface towards the hosts, or the IFB that shapes what comes to them.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(super) tc_down: Vec<PathBuf>,
    /// Interface towards the hosts that the line serves.
    #[arg(long, value_name = "INTERFACE")]
    pub(super) inside: String,
    /// Interface towards the rest of the world.
    #[arg(long, value_name = "INTERFACE")]
    pub(super) outside: String,
    /// Rate of the line from the inside to the outside, for example 1gbit; without it, that of the
    /// configuration of `tc`.
    #[arg(long, value_name = "RATE", value_parser = parse_line_rate, required_unless_present_any = ["tc_up", "tc_down"])]
    pub(super) up: Option<u64>,
    /// Rate of the line from the outside to the inside.
    #[arg(long, value_name = "RATE", value_parser = parse_line_rate, required_unless_present_any = ["tc_up", "tc_down"])]
    pub(super) down: Option<u64>,
    /// Folder for gate.toml, circuits.csv and before.toml, which is made if need be.
    #[arg(long, value_name = "DIR")]
    pub(super) out: PathBuf,
    /// Write the files although something is not as in those that were read.
    #[arg(long)]
    pub(super) accept_losses: bool,
    /// Replace files of an earlier import.
    #[arg(long)]
    pub(super) force: bool,
}

#[derive(Args)]
pub(super) struct Running {
    /// Gate file, or the name of the gate.
    pub(super) gate: PathBuf,
}

/// A command of which the answer can be JSON.
#[derive(Args)]
pub(super) struct Asked {
    #[command(flatten)]
    pub(super) running: Running,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct Check {
    #[command(flatten)]
    pub(super) source: File,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct Status {
    #[command(flatten)]
    pub(super) running: Running,
    /// Print instead the counters of every circuit that has had packets, by bytes sent, the most
    /// first.
    #[arg(long)]
    pub(super) circuits: bool,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct Explain {
    #[command(flatten)]
    pub(super) running: Running,
    /// Flow, class or circuit, or address of a host inside; without it, those that waited most.
    pub(super) name: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct Top {
    #[command(flatten)]
    pub(super) running: Running,
    /// Stop after so many tables.
    #[arg(long, value_name = "COUNT")]
    pub(super) times: Option<u32>,
    /// Print JSON, a document on a line of its own for each table.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args)]
pub(super) struct File {
    /// Gate file.
    pub(super) file: PathBuf,
    /// Override one value, for example gate.up=20mbit. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(super) set: Vec<(String, String)>,
}

/// A gate file, or a line without one.
#[derive(Args)]
pub(super) struct Line {
    /// Gate file.
    #[arg(required_unless_present = "inside")]
    pub(super) file: Option<PathBuf>,
    /// In place of a file, with --outside and --rate: the interface towards the hosts that the link
    /// serves. The gate is fair by host, and what a host marks as a call waits for nothing else
    /// that the host sends.
    #[arg(long, value_name = "INTERFACE", requires_all = ["outside", "rate"], conflicts_with_all = ["file", "keep"])]
    pub(super) inside: Option<String>,
    /// Interface towards the rest of the world.
    #[arg(long, value_name = "INTERFACE", requires = "inside")]
    pub(super) outside: Option<String>,
    /// Rate in each direction, a little below what the line carries, for example 50mbit.
    #[arg(long, value_name = "RATE", value_parser = parse_line_rate, requires = "inside")]
    pub(super) rate: Option<u64>,
    /// Override one value, for example gate.up=20mbit. May be repeated.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_override)]
    pub(super) set: Vec<(String, String)>,
}

#[derive(Args)]
pub(super) struct Up {
    #[command(flatten)]
    pub(super) source: Line,
    /// Stop after this time, for example 10s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_duration)]
    pub(super) duration: Option<Span>,
    /// Poll without sleeping: takes a whole core, and frames leave less late.
    #[arg(long)]
    pub(super) busy: bool,
    /// Do not request real-time scheduling: other processes get more of the core, and frames leave
    /// later under load.
    #[arg(long, conflicts_with = "busy")]
    pub(super) no_real_time: bool,
    /// Sleep for so long after each time that something was sent, for example 2ms, at most 10 ms:
    /// takes less of the processor, and frames leave together, up to so much late.
    #[arg(long, value_name = "TIME", value_parser = parse_coalesce, conflicts_with = "busy")]
    pub(super) coalesce: Option<Span>,
    /// Keep the last good file in this folder, and start with that one when FILE has mistakes.
    #[arg(long, value_name = "DIR")]
    pub(super) keep: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(super) json: bool,
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

impl File {
    pub(super) fn source(&self) -> Source {
        Source { path: self.file.clone(), text: None, overrides: self.set.clone() }
    }
}

impl Line {
    pub(super) fn source(&self) -> Source {
        let overrides = self.set.clone();
        let path = self.file.clone().unwrap_or_else(|| "(command line)".into());
        let text = match (&self.inside, &self.outside, self.rate) {
            (Some(inside), Some(outside), Some(rate)) => Some(default_gate::text(inside, outside, rate)),
            _ => None,
        };
        Source { path, text, overrides }
    }
}
