//! `up`: runs a gate.

use super::arguments::Up;
use super::privileges::drop_privileges;
use super::summary::describe;
use crate::config::last_good::LastGood;
use crate::config::losses;
use crate::config::promises;
use crate::config::source::Source;
use crate::config::unmatched;
use crate::control::{ControlThread, Listeners, RequestHandler};
use crate::error::GateError;
use crate::runtime::WaitMode;
use crate::runtime::commands;
use crate::runtime::forwarder::{Forwarder, Mode};
use crate::sys::log::log;
use crate::sys::memory;
use crate::sys::seccomp;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Write};
use std::sync::Arc;
use tidegate_core::units::Span;
use tidegate_formats::GateFile;

/// Forwards until it is stopped; returns the report.
pub(super) fn run(up: &Up) -> Result<String, GateError> {
    let source = up.source.source();
    let last_good = up.keep.as_deref().map(LastGood::in_folder);
    let file = Arc::new(load(&source, last_good.as_ref())?);
    let (sender, mut queue) = commands::queue()?;
    sender.stop_on(&[SIGINT, SIGTERM])?;
    let listeners = Listeners::open(&file)?;
    let mut forwarder = Forwarder::open(Arc::clone(&file), Mode::Forward)?;
    memory::gate_runs(&file.name);
    log(&format!("{}: {}", file.name, describe(&file)));
    for promise in promises::lines(&file) {
        log(&format!("{}: {promise}", file.name));
    }
    for warning in [losses::warnings(&file), unmatched::warnings(&file)].concat() {
        log(&format!("{}: warning: {warning}", file.name));
    }
    let wait_mode = match (up.busy, up.no_real_time) {
        (true, _) => WaitMode::Busy,
        (false, true) => WaitMode::Sleep,
        (false, false) => WaitMode::RealTime,
    };
    drop_privileges(wait_mode)?;
    filter_calls(&file)?;
    let control = ControlThread::start(listeners, RequestHandler::new(sender, source, last_good, file))?;
    let outcome = forwarder.run(&mut queue, up.duration, wait_mode, up.coalesce.unwrap_or(Span::ZERO));
    // Requests from now on fail at once instead of waiting for an answer.
    drop(queue);
    let report = forwarder.report();
    // The bridge forwards before the control connections are closed: `down` waits for that.
    drop(forwarder);
    control.stop();
    let text = if up.json { format!("{:#}\n", report.json()) } else { report.to_string() };
    match outcome {
        Ok(()) => Ok(text),
        Err(error) => {
            // The report is still printed; the error comes last and decides the exit code.
            let _ = std::io::stdout().write_all(text.as_bytes());
            Err(error)
        }
    }
}

/// Restricts this thread and those that it starts to the system calls that a running gate makes.
fn filter_calls(file: &GateFile) -> Result<(), GateError> {
    match seccomp::apply() {
        Ok(true) => {}
        Ok(false) => log(&format!("{}: warning: no filter of system calls for this architecture", file.name)),
        Err(error) => return Err(GateError::system("filtering system calls", io::Error::other(error))),
    }
    Ok(())
}

/// Loads the file; if it has errors, they are logged and the last good file is loaded.
fn load(source: &Source, last_good: Option<&LastGood>) -> Result<GateFile, GateError> {
    match (source.load(), last_good) {
        (Ok(file), last_good) => {
            if let Some(last_good) = last_good {
                last_good.keep(source, &file);
            }
            Ok(file)
        }
        (Err(error), last_good) => match last_good.and_then(|last_good| last_good.load(source)) {
            Some(file) => {
                log(&format!("{error}\n{}: warning: starting with the last good file", file.name));
                Ok(file)
            }
            None => Err(error),
        },
    }
}
