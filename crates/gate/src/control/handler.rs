//! What the control thread answers to requests, and what it logs by itself.

use super::server::Request;
use crate::config::last_good::LastGood;
use crate::config::link_speed;
use crate::config::plan::Plan;
use crate::config::source::{self, Source};
use crate::error::GateError;
use crate::runtime::commands::CommandSender;
use crate::sys::log::log;
use crate::telemetry::metrics;
use crate::telemetry::monitor::Monitor;
use crate::telemetry::report::{self, CircuitCounters};
use serde_json::{Value, json};
use std::sync::Arc;
use tidegate_spec::{Change, GateFile};

/// Answers requests for a running gate.
pub(crate) struct RequestHandler {
    commands: CommandSender,
    source: Source,
    last_good: Option<LastGood>,
    /// The file that the gate runs.
    file: Arc<GateFile>,
    monitor: Monitor,
}

impl RequestHandler {
    pub(crate) fn new(
        commands: CommandSender,
        source: Source,
        last_good: Option<LastGood>,
        file: Arc<GateFile>,
    ) -> RequestHandler {
        RequestHandler { commands, source, last_good, file, monitor: Monitor::default() }
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
        if let Some(report) = self.commands.report() {
            for warning in self.monitor.update(report) {
                log(&format!("{}: warning: {warning}", self.file.name));
            }
        }
    }

    /// The bytes that a request is answered with.
    pub(super) fn handle(&mut self, request: Request<'_>) -> Vec<u8> {
        match request {
            Request::Scrape(request) => request.respond(|| {
                let starved = |direction: usize, ix: usize| self.monitor.is_starved(direction, ix);
                self.commands.report().map(|report| metrics::text(&report, starved))
            }),
            Request::Line(line) => {
                let mut answer = match serde_json::from_slice::<Value>(line) {
                    Ok(request) => self.handle_json(&request),
                    Err(error) => json!({ "error": format!("this is no JSON: {error}") }),
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
            Some("reload") => match self.reload_and_log() {
                Ok(changes) => json!({ "ok": { "changes": changes } }),
                Err(error) => json!({ "error": error.to_string() }),
            },
            Some("stop") => {
                self.stop();
                json!({ "ok": {} })
            }
            _ => json!({ "error": "`ask` is one of status, circuits, reload, stop" }),
        }
    }

    /// A report of this moment, with the rates of the last period.
    fn status(&mut self) -> Option<Value> {
        let report = self.commands.report()?;
        Some(self.monitor.json(&report))
    }

    /// The counters of every circuit that has had packets, by bytes sent, the most first.
    fn circuits(&self) -> Option<Value> {
        let mut circuits = self.commands.circuits()?;
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

    /// Reads the file again and reconfigures the gate: all of it, or nothing. Returns the changes.
    fn reload(&mut self) -> Result<Vec<String>, GateError> {
        let file = Arc::new(self.source.load()?);
        let changes = source::changes(&self.file, &file)?;
        if !changes.is_empty() {
            link_speed::check_rates(&file)?;
            let plan = Plan::of(&file);
            self.commands.reconfigure(Arc::clone(&file), plan).ok_or(GateError::NoAnswer)??;
            self.file = file;
        }
        if let Some(last_good) = &self.last_good {
            last_good.keep(&self.source, &self.file);
        }
        Ok(changes.iter().map(Change::to_string).collect())
    }

    /// Reloads, whoever asks for it, and logs what has changed, a line each.
    pub(super) fn reload_and_log(&mut self) -> Result<Vec<String>, GateError> {
        let name = self.file.name.clone();
        let reloaded = self.reload();
        match &reloaded {
            Ok(changes) if changes.is_empty() => log(&format!("{name}: reloaded, nothing has changed")),
            Ok(changes) => {
                let line =
                    |change: &String| format!("{name}: reloaded: {}", change.replace(char::is_control, " "));
                changes.iter().for_each(|change| log(&line(change)));
            }
            Err(error) => log(&format!("{name}: not reloaded, and nothing has changed\n{error}")),
        }
        reloaded
    }
}
