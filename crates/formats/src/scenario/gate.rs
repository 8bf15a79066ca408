//! A gate in a scenario: the file that the gate itself runs, and the keys that flows need to pass
//! it.

use crate::error::{Complaint, FormatErrors, Origin, Place, Report, in_words};
use crate::gate::{GateFile, policies};
use crate::keys::connection::Connection;
use crate::keys::flow::{Declaration, Flow, Headers};
use crate::keys::policies::Policies;
use crate::keys::port::PortPolicies;
use crate::keys::scenario::Scenario;
use crate::keys::source::{Capture, Source};
use crate::keys::topology::{self, Topology};
use crate::policy::Chosen;
use crate::port::Stated;
use crate::scenario::network::Link;
use crate::section::Placed;
use std::path::Path;
use tidegate_core::classifier::rules::Direction;

/// The gate of the topology `gate`, with the scenario's policies in place of its own.
///
/// # Errors
/// The mistakes of the gate's file, which is not the scenario's.
pub(super) fn load(
    keys: &Scenario,
    base_dir: &Path,
    origin: &Origin,
    report: &mut Report,
) -> Result<Option<GateFile>, FormatErrors> {
    let Topology::Gate(topology::Gate { file, .. }) = &*keys.topology else {
        return Ok(None);
    };
    let path = base_dir.join(&**file);
    if let Err(error) = std::fs::metadata(&path) {
        let complaint = Complaint::new(format!("cannot read {}: {}", path.display(), in_words(&error)))
            .help("a relative path starts at the scenario file's folder");
        return Err(origin.error(file.place, complaint).into());
    }
    let mut gate = GateFile::load(&path, &[])?;
    let PortPolicies { order, meter, drops } = &keys.port.policies;
    let policies = Policies::of_port(order, drops);
    if let Some(stated) = Stated::read_given(policies, report) {
        gate.port.dropper = stated.dropper_over(gate.port.dropper);
        gate.port.scheduler = stated.scheduler.unwrap_or(gate.port.scheduler);
    }
    if meter.given {
        gate.port.meter = Chosen::read(meter.as_ref(), report);
    }
    if policies.detector.given {
        gate.port.detector = Chosen::read(policies.detector.as_ref(), report);
    }
    // The file itself was in order, so the policies put in place of its own are those that do not
    // fit its flows.
    let here = if order.policy.given { order.policy.place } else { order.scheduler.place };
    policies::check(&gate, |_| here, report);
    if let Some(buffer) = *keys.switch.buffer {
        gate.buffer = buffer;
    }
    Ok(Some(gate))
}

/// Signalling would need a gate's answer, and gates do not answer.
pub(super) fn refuse_admission(place: Place, report: &mut Report) {
    let complaint = Complaint::new("flows cannot be set up link by link through a gate")
        .help("what a flow gets there is in the gate's file: leave out [admission]");
    report.add(place, complaint);
}

/// The direction in which a route passes the gate, if it does.
pub(super) fn crossing(route: &[usize], links: &[Link]) -> Option<Direction> {
    route.iter().find_map(|link| links[*link].gate)
}

/// Checks that a flow states the values that a gate on its route needs, and none that would not
/// hold there.
pub(super) fn check_flow(flow: &Placed<Flow>, route: &[usize], links: &[Link], report: &mut Report) {
    let Flow { name, headers, source, envelope, declaration, .. } = &**flow;
    let capture = match &**source {
        Source::Capture(capture) => Some(capture),
        _ => None,
    };
    if crossing(route, links).is_none() {
        refuse_headers(headers, report);
        if let Some(Capture { inside, direction, .. }) = capture
            && inside.given != direction.given
        {
            let (given, place, missing) = match inside.given {
                true => (inside.key, inside.place, direction.key),
                false => (direction.key, direction.place, inside.key),
            };
            let complaint = Complaint::new(format!(
                "`{given}` has no effect without `{missing}`: no gate is on the route"
            ));
            report.add(place, complaint.help(format!("add `{missing}`, or leave it out")));
        }
        return;
    }
    match capture {
        Some(capture) => check_capture(capture, source.place, headers, report),
        None if !headers.given => {
            let message = format!("flow `{name}` passes a gate, which needs its headers");
            let help =
                "add `headers`, as in headers = { flow = \"10.0.0.1:5004>192.0.2.1:5060/udp\", dscp = 46 }";
            report.add(flow.place, Complaint::new(message).help(help));
        }
        None => {}
    }
    if route.first().is_some_and(|link| links[*link].gate.is_some()) && envelope.given {
        let complaint =
            Complaint::new("an `envelope` needs a port of the flow's own, and the first is the gate's");
        report.add(
            envelope.place,
            complaint.help("start at a [[node]] of its own, joined by a [[link]] to the gate's side"),
        );
    }
    check_declaration(declaration, route, report);
}

/// Checks a capture through a gate, which has headers and a direction there.
fn check_capture(capture: &Capture, place: Place, headers: &Placed<Option<Headers>>, report: &mut Report) {
    let Capture { flow, inside, direction, .. } = capture;
    if direction.given {
        let complaint = Complaint::new("`direction` has no effect: the route through the gate has one");
        report.add(direction.place, complaint.help("leave it out"));
    }
    if headers.given {
        let complaint = Complaint::new("a capture has its own headers").help("leave out `headers`");
        report.add(headers.place, complaint);
    }
    if !inside.given && !flow.given {
        let complaint =
            Complaint::new("a capture through a gate needs `inside`, the addresses inside the gate")
                .help("add `inside`, as in inside = \"10.0.0.0/8\", or select with `flow` the packets of this direction");
        report.add(place, complaint);
    }
}

/// Checks that a connection states the values that a gate on the way there or back needs, and none
/// that would not hold there.
pub(super) fn check_connection(
    connection: &Placed<Connection>,
    routes: [&[usize]; 2],
    links: &[Link],
    report: &mut Report,
) {
    let Connection { name, headers, declaration, answers, .. } = &**connection;
    let crossings = routes.map(|route| crossing(route, links));
    if crossings == [None; 2] {
        return refuse_headers(headers, report);
    }
    if !headers.given {
        let message = format!("connection `{name}` passes a gate, which needs the headers of its packets");
        let help = "add `headers`, as in headers = { flow = \"10.0.0.1:5001>192.0.2.1:443/tcp\" }";
        report.add(connection.place, Complaint::new(message).help(help));
    }
    for (declaration, route, crossing) in
        [(declaration, routes[0], crossings[0]), (&answers.declaration, routes[1], crossings[1])]
    {
        if crossing.is_some() {
            check_declaration(declaration, route, report);
        }
    }
}

fn refuse_headers(headers: &Placed<Option<Headers>>, report: &mut Report) {
    if headers.given {
        let complaint = Complaint::new("`headers` have no effect: no gate is on the route");
        report.add(headers.place, complaint.help("leave them out"));
    }
}

/// Checks that a flow over a gate states nothing that has no effect there.
fn check_declaration(declaration: &Declaration, route: &[usize], report: &mut Report) {
    let Declaration { contract, profile, weight, colour, class, ceiling } = declaration;
    if colour.given {
        let complaint = Complaint::new("`colour` has no effect before a gate, which reads headers")
            .help("state an assured-forwarding `dscp` in `headers`, as in dscp = \"af13\" for red");
        report.add(colour.place, complaint);
    }
    if route.len() == 1 {
        let others = [profile.written(), weight.written(), class.written(), ceiling.written()];
        for (key, place) in contract.written().chain(others.into_iter().flatten()) {
            let complaint = Complaint::new(format!("`{key}` has no effect: only the gate is on the route"));
            report.add(place, complaint.help("what a flow gets there is in the gate's file"));
        }
    }
}
