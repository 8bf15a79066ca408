//! The control thread's answers to requests, and its own log messages.

#![allow(clippy::disallowed_types, reason = "clients ask in real time")]

use super::server::Request;
use crate::config::last_good::LastGood;
use crate::config::link_speed;
use crate::config::losses;
use crate::config::plan::Plan;
use crate::config::source::{self, Source};
use crate::error::GateError;
use crate::runtime::commands::CommandSender;
use crate::sys::log::log;
use crate::telemetry::metrics;
use crate::telemetry::monitor::Monitor;
use crate::telemetry::report::{self, CircuitCounters, Report};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_formats::{GateFile, KeyChange};

/// Time for which a report also answers later requests.
const REPORT_AGE: Duration = Duration::from_millis(20);

/// Length of each of two further waits for a forwarder that made no report in 5 s, before it counts
/// as standing still.
const STANDSTILL: Duration = Duration::from_millis(2500);

/// Answers requests for a running gate.
pub(crate) struct RequestHandler {
    commands: CommandSender,
    source: Source,
    last_good: Option<LastGood>,
    /// The file that the gate runs.
    file: Arc<GateFile>,
    monitor: Monitor,
    /// The latest report, and its time.
    latest: Option<(Instant, Arc<Report>)>,
}

impl RequestHandler {
    pub(crate) fn new(
        commands: CommandSender,
        source: Source,
        last_good: Option<LastGood>,
        file: Arc<GateFile>,
    ) -> RequestHandler {
        RequestHandler { commands, source, last_good, file, monitor: Monitor::default(), latest: None }
    }

    /// The gate's name.
    pub(super) fn name(&self) -> &str {
        &self.file.name
    }

    /// Stops the gate.
    pub(super) fn stop(&self) {
        self.commands.stop();
    }

    /// Computes the rates of the period that ends now, and logs the warnings that are new.
    pub(super) fn update_rates(&mut self) {
        match self.report() {
            Some(report) => {
                for warning in self.monitor.update(report) {
                    log(&format!("{}: warning: {warning}", self.file.name));
                }
            }
            None if self.commands.stands_still(STANDSTILL) => {
                let name = &self.file.name;
                log(&format!(
                    "{name}: nothing was forwarded for 10 s: the gate ends, and the bridge forwards if \
                     there is one"
                ));
                // The forwarding thread cannot be asked to stop. The kernel removes the duplicate
                // filter with the process.
                std::process::abort();
            }
            None => {}
        }
    }

    /// A current report, or a recent one: however many clients ask, the forwarder makes few
    /// reports.
    fn report(&mut self) -> Option<Arc<Report>> {
        let fresh = self.latest.as_ref().filter(|(made, _)| made.elapsed() < REPORT_AGE);
        if let Some((_, report)) = fresh {
            return Some(Arc::clone(report));
        }
        let report = Arc::new(self.commands.report()?);
        self.latest = Some((Instant::now(), Arc::clone(&report)));
        Some(report)
    }

    /// The bytes that answer a request.
    pub(super) fn handle(&mut self, request: Request<'_>) -> Vec<u8> {
        match request {
            Request::Scrape(request) => request.respond(|| {
                let report = self.report()?;
                let starved = |direction: usize, ix: usize| self.monitor.is_starved(direction, ix);
                Some(metrics::text(&report, starved))
            }),
            Request::Line(line) => {
                let mut answer = match serde_json::from_slice::<Value>(line) {
                    Ok(request) => self.handle_json(&request),
                    Err(error) => json!({ "error": format!("this is not JSON: {error}") }),
                }
                .to_string();
                answer.push('\n');
                answer.into_bytes()
            }
        }
    }

    fn handle_json(&mut self, request: &Value) -> Value {
        match request.get("ask").and_then(Value::as_str) {
            Some("status") => match self.status() {
                Some(status) => json!({ "ok": status }),
                None => json!({ "error": "the gate does not answer" }),
            },
            Some("circuits") => match self.circuits() {
                Some(circuits) => json!({ "ok": circuits }),
                None => json!({ "error": "the gate does not answer" }),
            },
            Some("explain") => match self.explain(request.get("of").and_then(Value::as_str)) {
                Ok(answer) => json!({ "ok": answer }),
                Err(error) => json!({ "error": error }),
            },
            Some("reload") => match self.reload_and_log() {
                Ok(changes) => json!({ "ok": { "changes": changes } }),
                Err(error) => json!({ "error": error.to_string() }),
            },
            Some("stop") => {
                self.stop();
                json!({ "ok": {} })
            }
            _ => json!({ "error": "`ask` is one of status, circuits, explain, reload, stop" }),
        }
    }

    /// A current report, with the rates of the last period.
    fn status(&mut self) -> Option<Value> {
        let report = self.report()?;
        Some(self.monitor.json(&report))
    }

    /// The counters of every circuit that has had packets, by bytes sent, the most first.
    fn circuits(&self) -> Option<Value> {
        let (mut circuits, mut next) = (Vec::new(), Some((0, 0)));
        while let Some(from) = next {
            let (more, then) = self.commands.circuits(from)?;
            circuits.extend(more);
            next = then;
        }
        let bytes = |one: &CircuitCounters| -> u64 {
            one.counters.iter().map(|direction| direction.sent.bytes).sum()
        };
        circuits.sort_by_key(|one| (std::cmp::Reverse(bytes(one)), one.rule, one.circuit));
        let rows = circuits.iter().filter_map(|one| {
            let flow = self.file.flows.get(one.rule)?;
            let [up, down] = one.counters.map(report::counters);
            let name = flow.circuits.as_ref()?.name(one.circuit);
            Some(json!({ "flow": flow.name, "circuit": name, "up": up, "down": down }))
        });
        Some(rows.collect())
    }

    /// Explanations of the waiting of what has a name, or of those that waited most.
    fn explain(&self, of: Option<&str>) -> Result<Value, String> {
        let asked = of.map(|name| self.file.named(name)).transpose()?;
        self.commands.explain(asked).ok_or_else(|| "the gate does not answer".to_owned())
    }

    /// Reads the file again and reconfigures the gate, completely or not at all. Returns the
    /// changes.
    fn reload(&mut self) -> Result<Vec<String>, GateError> {
        let file = Arc::new(self.source.load()?);
        let changes = source::changes(&self.file, &file)?;
        if !changes.is_empty() {
            link_speed::check_rates(&file)?;
            let plan = Plan::of(&file);
            self.commands.reconfigure(Arc::clone(&file), plan).ok_or(GateError::NoAnswer)??;
            self.file = file;
            self.latest = None;
        }
        if let Some(last_good) = &self.last_good {
            last_good.keep(&self.source, &self.file);
        }
        Ok(changes.iter().map(KeyChange::to_string).collect())
    }

    /// Reloads the file, and logs the changes on one line.
    pub(super) fn reload_and_log(&mut self) -> Result<Vec<String>, GateError> {
        let name = self.file.name.clone();
        let reloaded = self.reload();
        match &reloaded {
            Ok(changes) if changes.is_empty() => log(&format!("{name}: reloaded, nothing has changed")),
            Ok(changes) => {
                let changes = changes.join("; ").replace(char::is_control, " ");
                log(&format!("{name}: reloaded: {changes}"));
                for warning in losses::warnings(&self.file) {
                    log(&format!("{name}: warning: {warning}"));
                }
            }
            Err(error) => log(&format!("{name}: not reloaded, nothing has changed\n{error}")),
        }
        reloaded
    }
}
