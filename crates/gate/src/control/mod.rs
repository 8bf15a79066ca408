//! The thread that talks to people while another one forwards: it answers at the control socket, serves
//! metrics, reads the file again when asked to, and says what is worth a warning.
//!
//! The protocol: a line of JSON with `ask` ("status", "circuits", "reload" or "stop"), answered by a line of JSON with
//! `ok` or `error`.

#![allow(clippy::disallowed_types, reason = "people live in real time")]

pub(crate) mod client;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod http;
pub(crate) mod place;
mod server;

use crate::error::GateError;
use crate::last_good::LastGood;
use crate::orders::{Caller, CircuitCounters};
use crate::plan::Plan;
use crate::privileges;
use crate::report;
use crate::say::say;
use crate::source::{self, Source};
use crate::watch::Watch;
use place::Listening;
use serde_json::{Value, json};
use server::{Question, Server};
use signal_hook::consts::SIGHUP;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tidegate_spec::{Change, GateFile};

/// How often rates are taken, and warnings looked for.
const PERIOD: Duration = Duration::from_secs(1);

/// What is listened at; opened before privileges are dropped.
pub(crate) struct Doors {
    control: Listening,
    metrics: Option<TcpListener>,
    /// Can be read after SIGHUP.
    hang_up: UnixStream,
}

impl Doors {
    /// # Errors
    /// When the gate's name or its metrics port is taken, or the socket cannot be made.
    pub(crate) fn open(file: &GateFile) -> Result<Doors, GateError> {
        let control = place::listen(file)?;
        let metrics = match file.operation.metrics {
            None => None,
            Some(address) => {
                let failed = |error| GateError::system(format!("metrics at {address}"), error);
                let listener = TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Some(listener)
            }
        };
        let failed = |error| GateError::system("waiting for signals", error);
        let (ring, hang_up) = UnixStream::pair().map_err(failed)?;
        hang_up.set_nonblocking(true).map_err(failed)?;
        signal_hook::low_level::pipe::register(SIGHUP, ring).map_err(failed)?;
        Ok(Doors { control, metrics, hang_up })
    }
}

/// The thread, while it runs.
pub(crate) struct Control {
    thread: JoinHandle<()>,
    close: UnixStream,
}

impl Control {
    /// Starts to answer.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub(crate) fn start(doors: Doors, desk: Desk) -> Result<Control, GateError> {
        let failed = |error| GateError::system("a thread for the control socket", error);
        let close = doors.hang_up.try_clone().map_err(failed)?;
        let work = move || desk.work(&doors);
        let thread = std::thread::Builder::new().name("control".into()).spawn(work).map_err(failed)?;
        Ok(Control { thread, close })
    }

    /// Stops to answer; the socket's file is gone then.
    pub(crate) fn stop(self) {
        let _ = self.close.shutdown(std::net::Shutdown::Read);
        let _ = self.thread.join();
    }
}

/// What the thread knows.
pub(crate) struct Desk {
    caller: Caller,
    source: Source,
    last_good: Option<LastGood>,
    file: Arc<GateFile>,
    watch: Watch,
}

impl Desk {
    pub(crate) fn new(
        caller: Caller,
        source: Source,
        last_good: Option<LastGood>,
        file: Arc<GateFile>,
    ) -> Desk {
        Desk { caller, source, last_good, file, watch: Watch::default() }
    }

    fn work(mut self, doors: &Doors) {
        if let Err(error) = privileges::drop_all(false) {
            say(&format!("{}: giving up privileges: {error}", self.file.name));
            return self.caller.stop();
        }
        let mut server = Server::new(Some(&doors.control.listener), doors.metrics.as_ref());
        let mut next = Instant::now();
        loop {
            let now = Instant::now();
            if now >= next {
                next = now + PERIOD;
                self.look();
            }
            server.serve(next, doors.hang_up.as_fd(), |question| self.answer(question));
            let mut rung = false;
            loop {
                match (&doors.hang_up).read(&mut [0; 64]) {
                    Ok(0) => return,
                    Ok(_) => rung = true,
                    Err(_) => break,
                }
            }
            if rung {
                self.reload_and_say();
            }
        }
    }

    fn look(&mut self) {
        if let Some(report) = self.caller.report() {
            for warning in self.watch.see(report) {
                say(&format!("{}: warning: {warning}", self.file.name));
            }
        }
    }

    fn answer(&mut self, question: Question<'_>) -> Vec<u8> {
        match question {
            Question::Scrape(request) => request.answer(|| {
                let starved = |direction: usize, ix: usize| self.watch.is_starved(direction, ix);
                self.caller.report().map(|report| crate::metrics::text(&report, starved))
            }),
            Question::Line(line) => {
                let mut answer = match serde_json::from_slice::<Value>(line) {
                    Ok(request) => self.asked(&request),
                    Err(error) => json!({ "error": format!("this is no JSON: {error}") }),
                }
                .to_string();
                answer.push('\n');
                answer.into_bytes()
            }
        }
    }

    fn asked(&mut self, request: &Value) -> Value {
        match request.get("ask").and_then(Value::as_str) {
            Some("status") => match self.status() {
                Some(status) => json!({ "ok": status }),
                None => json!({ "error": "the gate does not answer" }),
            },
            Some("circuits") => match self.circuits() {
                Some(circuits) => json!({ "ok": circuits }),
                None => json!({ "error": "the gate does not answer" }),
            },
            Some("reload") => match self.reload() {
                Ok(changes) => json!({ "ok": { "changes": changes } }),
                Err(error) => json!({ "error": error.to_string() }),
            },
            Some("stop") => {
                self.caller.stop();
                json!({ "ok": {} })
            }
            _ => json!({ "error": "`ask` is one of status, circuits, reload, stop" }),
        }
    }

    /// The numbers of this moment, with the rates of the last period.
    fn status(&mut self) -> Option<Value> {
        let report = self.caller.report()?;
        Some(self.watch.json(&report))
    }

    /// What every circuit that has had packets has sent and lost, those first that were sent most.
    fn circuits(&self) -> Option<Value> {
        let mut counted = self.caller.circuits()?;
        let bytes = |one: &CircuitCounters| -> u64 { one.counters.iter().map(|way| way.sent.bytes).sum() };
        counted.sort_by_key(|one| (std::cmp::Reverse(bytes(one)), one.rule, one.circuit));
        let told = counted.iter().filter_map(|one| {
            let flow = self.file.flows.get(one.rule)?;
            let [up, down] = one.counters.map(report::counters);
            let name = flow.circuits.as_ref()?.name(one.circuit);
            Some(json!({ "flow": flow.name, "circuit": name, "up": up, "down": down }))
        });
        Some(told.collect())
    }

    /// Reads the file again, and has the gate do what it says now: all of it, or nothing.
    fn reload(&mut self) -> Result<Vec<String>, GateError> {
        let file = Arc::new(self.source.load()?);
        let changes = source::changes(&self.file, &file)?;
        if !changes.is_empty() {
            crate::io::check_rates(&file)?;
            let plan = Plan::of(&file);
            self.caller.apply(Arc::clone(&file), plan).ok_or(GateError::Silent)??;
            self.file = file;
        }
        if let Some(last_good) = &self.last_good {
            last_good.keep(&self.source, &self.file);
        }
        Ok(changes.iter().map(Change::to_string).collect())
    }

    fn reload_and_say(&mut self) {
        let name = self.file.name.clone();
        match self.reload() {
            Ok(changes) if changes.is_empty() => say(&format!("{name}: nothing has changed")),
            Ok(changes) => changes.iter().for_each(|change| say(&format!("{name}: {change}"))),
            Err(error) => say(&format!("{name}: not reloaded, and nothing has changed\n{error}")),
        }
    }
}
