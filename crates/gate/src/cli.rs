//! The command line, the same for the binary and for whoever calls [`cli`].

use crate::bump::{Bump, Waiting};
use crate::error::GateError;
use crate::handover;
use clap::{Args, Parser, Subcommand};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use tidegate_core::units::Span;
use tidegate_spec::units::{parse_time, show_rate};
use tidegate_spec::{Fail, GateFile};

/// Exit code for a gate that did not start, or stopped by itself.
const FAILED: u8 = 1;

/// Traffic management on a real link: a bump in the wire between two interfaces.
#[derive(Parser)]
#[command(name = "tidegate-gate", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Forwards between the file's interfaces until SIGINT or SIGTERM, then prints what it did.
    ///
    /// With `fail = "open"`, traffic then passes unshaped through a bridge.
    Up(Up),
    /// Removes the bridge through which traffic passes without the gate; then nothing passes.
    Down(Source),
    /// Reads a gate file and says what is wrong with it.
    Check(Source),
}

#[derive(Args)]
struct Source {
    /// The gate file.
    file: PathBuf,
    /// Changes one value before the file is read, as in gate.up=20mbit.
    #[arg(long, value_name = "PATH=VALUE", value_parser = parse_set)]
    set: Vec<(String, String)>,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    source: Source,
    /// Stops after this time, as in 10s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_lasting)]
    lasting: Option<Span>,
    /// Never sleeps: takes a whole core, and is less late.
    #[arg(long)]
    busy: bool,
    /// Does not ask for real-time scheduling: gentler to the rest of the machine, and later under load.
    #[arg(long, conflicts_with = "busy")]
    no_real_time: bool,
    /// Prints what it did as JSON.
    #[arg(long)]
    json: bool,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("write PATH=VALUE, as in gate.up=20mbit")?;
    Ok((path.to_owned(), value.to_owned()))
}

fn parse_lasting(text: &str) -> Result<Span, String> {
    parse_time(text).map_err(|complaint| complaint.to_string())
}

/// Does what the arguments say, the program's name first. Results go to standard output, everything
/// else to standard error.
pub fn cli(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors, and go to standard output.
            let failed = error.use_stderr();
            let told = error.print().is_ok();
            return if failed || !told { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    let outcome = match cli.command {
        Command::Up(up) => run(&up),
        Command::Down(source) => down(&source),
        Command::Check(source) => check(&source),
    };
    match outcome {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(FAILED),
        },
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(FAILED)
        }
    }
}

fn load(source: &Source) -> Result<GateFile, GateError> {
    Ok(GateFile::load(&source.file, &source.set)?)
}

fn check(source: &Source) -> Result<String, GateError> {
    let file = load(source)?;
    Ok(format!("{}: in order\n{}\n", source.file.display(), describe(&file)))
}

fn down(source: &Source) -> Result<String, GateError> {
    let file = load(source)?;
    Ok(match handover::remove(&file)? {
        Some(bridge) => format!(
            "bridge {bridge} is removed: nothing passes between {} and {}\n",
            file.inside, file.outside
        ),
        None => format!("no gate has made a bridge of {} and {}\n", file.inside, file.outside),
    })
}

fn describe(file: &GateFile) -> String {
    let [up, down] = file.rates.map(|rate| show_rate(rate.bits_per_second().round() as u64));
    let fail = match file.fail {
        Fail::Open => "open",
        Fail::Closed => "closed",
    };
    let GateFile { inside, outside, .. } = file;
    format!("{inside} -> {outside} at {up}, {outside} -> {inside} at {down}, fails {fail}")
}

fn run(up: &Up) -> Result<String, GateError> {
    let file = load(&up.source)?;
    let failed = |error| GateError::system("waiting for signals", error);
    let (stop, stopped) = UnixStream::pair().map_err(failed)?;
    for signal in [SIGINT, SIGTERM] {
        let end = stopped.try_clone().map_err(failed)?;
        signal_hook::low_level::pipe::register(signal, end).map_err(failed)?;
    }
    let mut bump = Bump::open(&file)?;
    eprintln!("{}: {}", file.name, describe(&file));
    let waiting = match (up.busy, up.no_real_time) {
        (true, _) => Waiting::Busy,
        (false, true) => Waiting::Sleep,
        (false, false) => Waiting::RealTime,
    };
    let outcome = bump.run(&stop, up.lasting, waiting);
    let report = bump.report(&file);
    let text = if up.json { format!("{:#}\n", report.json()) } else { report.to_string() };
    match outcome {
        Ok(()) => Ok(text),
        Err(error) => {
            // What was done until then is not lost; the error comes last and decides.
            print!("{text}");
            Err(error)
        }
    }
}
