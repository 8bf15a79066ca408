//! A gate in a scenario: the file that the gate itself runs, and the keys that flows need to pass
//! it.

use crate::error::{Complaint, FormatErrors, Origin, Report, in_words};
use crate::gate::{GateFile, policies};
use crate::policy::Chosen;
use crate::port::Stated;
use crate::scenario::network::Link;
use crate::values::Values;
use std::path::Path;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::params::CONTRACT;

/// The gate of the topology `gate`, with the scenario's policies in place of its own.
///
/// # Errors
/// The mistakes of the gate's file, which is not the scenario's.
pub(super) fn load(
    values: &Values,
    base_dir: &Path,
    origin: &Origin,
    report: &mut Report,
) -> Result<Option<GateFile>, FormatErrors> {
    let Some(topology) = values.table("topology").filter(|topology| topology.section.name == "gate") else {
        return Ok(None);
    };
    let path = base_dir.join(topology.text("file").unwrap_or_default());
    if let Err(error) = std::fs::metadata(&path) {
        let complaint = Complaint::new(format!("cannot read {}: {}", path.display(), in_words(&error)))
            .help("a relative path starts at the scenario file's folder");
        return Err(origin.error(topology.place_of("file"), complaint).into());
    }
    let mut gate = GateFile::load(&path, &[])?;
    if let Some(port) = values.table("port") {
        if let Some(stated) = Stated::read_given(port, report) {
            gate.port.dropper = stated.dropper_over(gate.port.dropper);
            gate.port.scheduler = stated.scheduler.unwrap_or(gate.port.scheduler);
        }
        if port.given("meter") {
            gate.port.meter = Chosen::read(port, "meter", report);
        }
        if port.given("detector") {
            gate.port.detector = Chosen::read(port, "detector", report);
        }
        // The file itself was in order, so the policies put in place of its own are those that do
        // not fit its flows.
        let here = port.place_of(if port.given("policy") { "policy" } else { "scheduler" });
        policies::check(&gate, |_| here, report);
    }
    if let Some(buffer) = values.table("switch").and_then(|switch| switch.limit("buffer")) {
        gate.buffer = buffer;
    }
    Ok(Some(gate))
}

/// Signalling would need a gate's answer, and gates do not answer.
pub(super) fn refuse_admission(values: &Values, report: &mut Report) {
    let complaint = Complaint::new("flows cannot be set up link by link through a gate")
        .help("what a flow gets there is in the gate's file: leave out [admission]");
    report.add(values.place_of("admission"), complaint);
}

/// The direction in which a route passes the gate, if it does.
pub(super) fn crossing(route: &[usize], links: &[Link]) -> Option<Direction> {
    route.iter().find_map(|link| links[*link].gate)
}

/// Checks that a flow states the values that a gate on its route needs, and none that would not
/// hold there.
pub(super) fn check_flow(values: &Values, route: &[usize], links: &[Link], report: &mut Report) {
    let Some(source) = values.table("source") else { return };
    let is_capture = source.section.name == "capture";
    let first = route.first().is_some_and(|link| links[*link].gate.is_some());
    if crossing(route, links).is_none() {
        refuse_headers(values, report);
        if is_capture && source.given("inside") != source.given("direction") {
            let (given, missing) = match source.given("inside") {
                true => ("inside", "direction"),
                false => ("direction", "inside"),
            };
            let complaint = Complaint::new(format!(
                "`{given}` has no effect without `{missing}`: no gate is on the route"
            ));
            report.add(source.place_of(given), complaint.help(format!("add `{missing}`, or leave it out")));
        }
        return;
    }
    if is_capture && source.given("direction") {
        let complaint = Complaint::new("`direction` has no effect: the route through the gate has one");
        report.add(source.place_of("direction"), complaint.help("leave it out"));
    }
    if is_capture && values.given("headers") {
        let complaint = Complaint::new("a capture has its own headers").help("leave out `headers`");
        report.add(values.place_of("headers"), complaint);
    }
    if is_capture && !source.given("inside") && !source.given("flow") {
        let complaint =
            Complaint::new("a capture through a gate needs `inside`, the addresses inside the gate")
                .help("add `inside`, as in inside = \"10.0.0.0/8\", or select with `flow` the packets of this direction");
        report.add(values.place_of("source"), complaint);
    }
    if !is_capture && !values.given("headers") {
        let message =
            format!("flow `{}` passes a gate, which needs its headers", values.text("name").unwrap_or(""));
        let help =
            "add `headers`, as in headers = { flow = \"10.0.0.1:5004>192.0.2.1:5060/udp\", dscp = 46 }";
        report.add(values.place, Complaint::new(message).help(help));
    }
    if first && values.given("envelope") {
        let complaint =
            Complaint::new("an `envelope` needs a port of the flow's own, and the first is the gate's");
        report.add(
            values.place_of("envelope"),
            complaint.help("start at a [[node]] of its own, joined by a [[link]] to the gate's side"),
        );
    }
    check_terms(values, route, report);
}

/// Checks that a connection states the values that a gate on the way there or back needs, and none
/// that would not hold there.
pub(super) fn check_connection(values: &Values, routes: [&[usize]; 2], links: &[Link], report: &mut Report) {
    let name = values.text("name").unwrap_or("");
    let crossings = routes.map(|route| crossing(route, links));
    if crossings == [None; 2] {
        return refuse_headers(values, report);
    }
    if !values.given("headers") {
        let message = format!("connection `{name}` passes a gate, which needs the headers of its packets");
        let help = "add `headers`, as in headers = { flow = \"10.0.0.1:5001>192.0.2.1:443/tcp\" }";
        report.add(values.place, Complaint::new(message).help(help));
    }
    for (values, route, crossing) in
        [(Some(values), routes[0], crossings[0]), (values.table("answers"), routes[1], crossings[1])]
    {
        if let (Some(values), Some(_)) = (values, crossing) {
            check_terms(values, route, report);
        }
    }
}

fn refuse_headers(values: &Values, report: &mut Report) {
    if values.given("headers") {
        let complaint = Complaint::new("`headers` have no effect: no gate is on the route");
        report.add(values.place_of("headers"), complaint.help("leave them out"));
    }
}

/// Checks that a flow over a gate states nothing that has no effect there.
fn check_terms(values: &Values, route: &[usize], report: &mut Report) {
    if values.given("colour") {
        let complaint = Complaint::new("`colour` has no effect before a gate, which reads headers")
            .help("state an assured-forwarding `dscp` in `headers`, as in dscp = \"af13\" for red");
        report.add(values.place_of("colour"), complaint);
    }
    if route.len() == 1 {
        for key in CONTRACT.iter().map(|param| param.name).chain(["profile", "weight", "class", "ceiling"]) {
            if values.given(key) {
                let complaint =
                    Complaint::new(format!("`{key}` has no effect: only the gate is on the route"));
                report.add(
                    values.place_of(key),
                    complaint.help("what a flow gets there is in the gate's file"),
                );
            }
        }
    }
}
