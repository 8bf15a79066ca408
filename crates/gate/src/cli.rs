//! The command line, the same for the binary and for whoever calls [`cli`].

use crate::bump::{Bump, Doing};
use crate::control::client::Client;
use crate::control::{Control, Desk, Doors, place};
use crate::error::GateError;
use crate::handover;
use crate::last_good::LastGood;
use crate::observe;
use crate::orders;
use crate::privileges;
use crate::say::say;
use crate::sold;
use crate::source::Source;
use crate::top;
use crate::waiting::Waiting;
use clap::{Args, Parser, Subcommand};
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tidegate_core::units::Span;
use tidegate_spec::units::{parse_time, show_rate};
use tidegate_spec::{Fail, GateFile};

/// Exit code for a gate that did not start, or stopped by itself.
const FAILED: u8 = 1;
/// Exit code for arguments that are none.
const USAGE: u8 = 2;

/// Half of what a gate makes up for when it was late.
const LONGEST_NAP: Span = Span::from_millis(10);

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
    /// Sees what would become of the traffic between the interfaces, without touching a packet, until SIGINT or
    /// SIGTERM; then prints the file with the reservations that it suggests.
    Observe(Observe),
    /// Reads a gate file and says what is wrong with it.
    Check(File),
    /// Stops a running gate and removes the bridge that it made: then nothing passes.
    Down(Running),
    /// Says what a running gate has done so far.
    Status(Status),
    /// Shows who sends how much and who waits, every second.
    Top(Top),
    /// Has a running gate do what its file says now: all of it, or nothing.
    Reload(Running),
}

#[derive(Args)]
struct Observe {
    #[command(flatten)]
    source: File,
    /// Stops after this time, as in 60s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_lasting)]
    lasting: Option<Span>,
    /// Prints what was seen and what is suggested as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Running {
    /// The gate's file, or its name.
    gate: PathBuf,
}

#[derive(Args)]
struct Status {
    #[command(flatten)]
    running: Running,
    /// Says it of every circuit that has had packets instead, those first that were sent most.
    #[arg(long)]
    circuits: bool,
    /// Prints it as JSON.
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
}

#[derive(Args)]
struct File {
    /// The gate file.
    file: PathBuf,
    /// Changes one value before the file is read, as in gate.up=20mbit.
    #[arg(long, value_name = "PATH=VALUE", value_parser = parse_set)]
    set: Vec<(String, String)>,
}

#[derive(Args)]
struct Up {
    #[command(flatten)]
    source: File,
    /// Stops after this time, as in 10s.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_lasting)]
    lasting: Option<Span>,
    /// Never sleeps: takes a whole core, and is less late.
    #[arg(long)]
    busy: bool,
    /// Does not ask for real-time scheduling: gentler to the rest of the machine, and later under load.
    #[arg(long, conflicts_with = "busy")]
    no_real_time: bool,
    /// Sleeps for so long after each time that it has sent something, as in 2ms, 10 ms at most: takes less of the
    /// processor, and frames leave together, up to so much late.
    #[arg(long, value_name = "TIME", value_parser = parse_nap, conflicts_with = "busy")]
    coalesce: Option<Span>,
    /// Keeps the last good file in this folder, and starts with that one when FILE holds mistakes.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
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

fn parse_nap(text: &str) -> Result<Span, String> {
    let nap = parse_lasting(text)?;
    match nap <= LONGEST_NAP {
        true => Ok(nap),
        false => Err("at most 10ms: what is due later than that would be lost to the link".to_owned()),
    }
}

/// Does what the arguments say, the program's name first, and gives the exit code: 0, 1 for what failed, 2 for
/// arguments that are none. Results go to standard output, everything else to standard error.
pub fn cli(args: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are no errors, and go to standard output.
            let failed = error.use_stderr();
            let told = error.print().is_ok();
            return if failed || !told { USAGE } else { 0 };
        }
    };
    let outcome = match cli.command {
        Command::Up(up) => run(&up),
        Command::Observe(asked) => observe(&asked),
        Command::Check(file) => check(&file),
        Command::Down(running) => down(&running),
        Command::Status(status) => self::status(&status),
        Command::Top(top) => connect(&top.running)
            .and_then(|mut client| top::run(&mut client, top.times))
            .map(|()| String::new()),
        Command::Reload(running) => reload(&running),
    };
    match outcome {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => 0,
            Err(_) => FAILED,
        },
        Err(error) => {
            say(&error.to_string());
            FAILED
        }
    }
}

impl File {
    fn source(&self) -> Source {
        Source { path: self.file.clone(), sets: self.set.clone() }
    }
}

fn check(file: &File) -> Result<String, GateError> {
    let read = file.source().load()?;
    Ok(format!("{}: in order\n{}\n{}", file.file.display(), describe(&read), sold::summary(&read)))
}

/// The gate that is meant: by its file, or where there is no such file, by its name.
fn connect(running: &Running) -> Result<Client, GateError> {
    let socket = match running.gate.to_str() {
        Some(name) if !running.gate.exists() && !name.contains(['/', '.']) => place::named(name),
        _ => place::of(&Source { path: running.gate.clone(), sets: Vec::new() }.load()?),
    };
    Client::connect(socket)
}

fn status(status: &Status) -> Result<String, GateError> {
    let (question, shown): (_, fn(&Value) -> String) = match status.circuits {
        true => ("circuits", top::circuits),
        false => ("status", top::table),
    };
    let said = connect(&status.running)?.ask(question)?;
    Ok(if status.json { format!("{said:#}\n") } else { shown(&said) })
}

fn reload(running: &Running) -> Result<String, GateError> {
    let said = connect(running)?.ask("reload")?;
    let changes = said["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if changes.is_empty() {
        return Ok("nothing has changed\n".to_owned());
    }
    Ok(changes.iter().filter_map(|change| change.as_str()).map(|change| format!("{change}\n")).collect())
}

fn down(running: &Running) -> Result<String, GateError> {
    let stopped = connect(running).and_then(|mut client| client.stop());
    if !running.gate.exists() {
        return stopped.map(|()| String::new());
    }
    match stopped {
        // The gate may be gone already, and have left its bridge.
        Ok(()) | Err(GateError::NotRunning(_)) => {}
        Err(error) => return Err(error),
    }
    let file = Source { path: running.gate.clone(), sets: Vec::new() }.load()?;
    let (inside, outside) = (&file.inside, &file.outside);
    Ok(match handover::remove(&file)? {
        Some(bridge) => {
            format!("bridge {bridge} is removed: nothing passes between {inside} and {outside}\n")
        }
        None if stopped.is_ok() => {
            format!("the gate is stopped, and none has made a bridge of {inside} and {outside} here\n")
        }
        None => format!("no gate runs, and none has made a bridge of {inside} and {outside} here\n"),
    })
}

fn observe(asked: &Observe) -> Result<String, GateError> {
    let source = asked.source.source();
    let text = std::fs::read_to_string(&source.path).unwrap_or_default();
    let file = Arc::new(observe::with_others(source.load()?));
    let (caller, mut orders) = orders::line()?;
    caller.stop_on(&[SIGINT, SIGTERM])?;
    let mut bump = Bump::open(Arc::clone(&file), Doing::Observe)?;
    say(&format!("{}: observing {} and {}", file.name, file.inside, file.outside));
    give_up_privileges(Waiting::Sleep)?;
    let ended = AtomicBool::new(false);
    let (outcome, mut observer) = std::thread::scope(|scope| {
        let observer = scope.spawn(|| observe::every_second(&caller, &ended));
        let outcome = bump.run(&mut orders, asked.lasting, Waiting::Sleep, Span::ZERO);
        ended.store(true, Ordering::SeqCst);
        (outcome, observer.join().unwrap_or_default())
    });
    outcome?;
    observer.see(bump.report(), bump.members());
    say(observer.table(&file).trim_end());
    let name = source.path.display().to_string();
    Ok(match asked.json {
        true => format!("{:#}\n", observer.json(&file)),
        false => observer.file(&file, &text, &name, &source.sets),
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

/// To be called before there is a second thread: it concerns this one, and those that it starts.
fn give_up_privileges(waiting: Waiting) -> Result<(), GateError> {
    privileges::drop_all(waiting == Waiting::RealTime)
        .map_err(|error| GateError::system("giving up privileges", error))
}

/// The file, or, with its mistakes told, the last good one.
fn load(source: &Source, last_good: Option<&LastGood>) -> Result<GateFile, GateError> {
    match (source.load(), last_good) {
        (Ok(file), kept) => {
            if let Some(kept) = kept {
                kept.keep(source, &file);
            }
            Ok(file)
        }
        (Err(error), None) => Err(error),
        (Err(error), Some(kept)) => match kept.load(source) {
            Ok(file) => {
                say(&format!("{error}\n{}: warning: starting with the last good file", file.name));
                Ok(file)
            }
            Err(_) => Err(error),
        },
    }
}

fn run(up: &Up) -> Result<String, GateError> {
    let source = up.source.source();
    let last_good = up.keep.as_deref().map(LastGood::in_folder);
    let file = Arc::new(load(&source, last_good.as_ref())?);
    let (caller, mut orders) = orders::line()?;
    caller.stop_on(&[SIGINT, SIGTERM])?;
    let doors = Doors::open(&file)?;
    let mut bump = Bump::open(Arc::clone(&file), Doing::Forward)?;
    say(&format!("{}: {}", file.name, describe(&file)));
    let waiting = match (up.busy, up.no_real_time) {
        (true, _) => Waiting::Busy,
        (false, true) => Waiting::Sleep,
        (false, false) => Waiting::RealTime,
    };
    give_up_privileges(waiting)?;
    let control = Control::start(doors, Desk::new(caller, source, last_good, file))?;
    let outcome = bump.run(&mut orders, up.lasting, waiting, up.coalesce.unwrap_or(Span::ZERO));
    let report = bump.report();
    // Whoever waits for the gate's end at the control socket waits for the bridge's beginning.
    drop(bump);
    control.stop();
    let text = if up.json { format!("{:#}\n", report.json()) } else { report.to_string() };
    match outcome {
        Ok(()) => Ok(text),
        Err(error) => {
            // What was done until then is not lost; the error comes last and decides.
            let _ = std::io::stdout().write_all(text.as_bytes());
            Err(error)
        }
    }
}
