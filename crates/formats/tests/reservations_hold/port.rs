//! A gate's upward port, run over arriving packets.

use crate::traffic::{Arrival, CALLER};
use std::net::Ipv4Addr;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::context::{Ctx, Effect};
use tidegate_core::headers::{Fragment, Headers, Ip};
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::Edge;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Span, Time};
use tidegate_formats::GateFile;

const UDP: u8 = 17;
const PORT: PortIx = PortIx(0);

/// Outcome for the named flow's packets.
#[derive(Debug, Default)]
pub struct Outcome {
    pub sent: u64,
    pub lost: u64,
    /// The longest time, in seconds, from a packet's arrival to its last bit, beyond the time at
    /// which its own line would have sent it.
    pub latest: f64,
    /// Lost packets of all other flows.
    pub others_lost: u64,
    pub others_sent: u64,
    pub flows: usize,
    pub classes: usize,
}

fn headers(from: [u8; 4], port: u16) -> Headers {
    let ip = Ip {
        source: Ipv4Addr::from(from).into(),
        destination: Ipv4Addr::new(198, 51, 100, 1).into(),
        protocol: UDP,
        dscp: 0,
        ecn: 0,
        fragment: Fragment::Whole,
        ports: Some((port, 9)),
    };
    Headers { ip: Some(ip), ..Headers::default() }
}

/// Runs a file's upward port over these arrivals, in their order. `reserve` is that of the named
/// flow, in bit/s.
pub fn run(file: &GateFile, reserve: f64, arrivals: impl Iterator<Item = Arrival>) -> Outcome {
    let mut now = Time::ORIGIN;
    let mut switch = Switch::new(now, &file.switch_plan()).unwrap();
    let plan = file.edge_plan(Direction::Up);
    let mut edge = Edge::new(now, &mut switch, PORT, Direction::Up, plan).unwrap();
    let mut rng = Rng::named(1, "reservations");
    let (mut out, mut outcome) = (Vec::new(), Outcome::default());
    let rate = file.rates[0];
    // Time when the packet in service is through, and time of the next call of the port.
    let (mut busy, mut wake) = (Time::NEVER, Time::NEVER);
    // Time when the named flow's own line has sent each packet, by body; the line is free at the
    // last.
    let (mut due, mut free) = (Vec::<f64>::new(), 0.0_f64);
    let mut arrivals = arrivals.peekable();
    loop {
        let next = arrivals.peek().map_or(Time::NEVER, |one| Time::ORIGIN + Span::from_secs_f64(one.at));
        let at = next.min(busy).min(wake);
        if at == Time::NEVER {
            break;
        }
        now = now.max(at);
        let mut cx = Ctx { now, rng: &mut rng, out: &mut out };
        if at == busy {
            let (packet, _) = switch.finish(&mut cx, PORT).unwrap();
            busy = Time::NEVER;
            match due.get(packet.body.0 as usize) {
                Some(due) if packet.body.0 > 0 => {
                    outcome.sent += 1;
                    outcome.latest = outcome.latest.max(now.since(Time::ORIGIN).as_secs_f64() - due);
                }
                _ => outcome.others_sent += 1,
            }
        } else if at == wake {
            wake = Time::NEVER;
        } else {
            let one = arrivals.next().unwrap();
            let steered = edge.steer(now, &mut switch, &headers(one.from, one.port), one.len);
            let mut body = 0;
            if one.from == CALLER {
                if due.is_empty() {
                    due.push(0.0);
                }
                free = free.max(one.at) + f64::from(steered.charged) * 8.0 / reserve;
                body = due.len() as u32;
                due.push(free);
            }
            _ = switch.arrive(&mut cx, &[steered.leg], Packet::new(BodyId(body), steered.charged));
        }
        if busy == Time::NEVER
            && let Some(packet) = switch.start(&mut cx, PORT)
        {
            busy = now + rate.time_for(packet.len);
        }
        for effect in out.drain(..) {
            match effect {
                Effect::Dropped { packet, .. } if packet.body.0 > 0 => outcome.lost += 1,
                Effect::Dropped { .. } => outcome.others_lost += 1,
                Effect::Wake { at, .. } => wake = at,
                _ => {}
            }
        }
    }
    outcome.flows = (0..file.flows.len()).map(|rule| edge.steering().flows(rule)).sum();
    outcome.classes = switch.classes(PORT);
    outcome
}
