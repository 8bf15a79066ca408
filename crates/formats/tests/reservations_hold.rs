//! A named flow within its reservation loses nothing and keeps its bound, whatever others send: the
//! gate and the simulator run these
//! ports and these edges.
//!
//! The bound is a closed form of the file's numbers. At a guaranteed-rate server a packet's last
//! bit has left a largest packet's
//! time after it would have left a line of its own with the reserved rate (Parekh and Gallager
//! 1993; Xie and Lam 1995; Bennett
//! and Zhang 1997). A class may send a packet other than the one that it was charged for, and is
//! charged for the difference
//! with its next: a largest packet more for each class beside the flow.

use std::net::Ipv4Addr;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::context::{Ctx, Effect};
use tidegate_core::headers::{Fragment, Headers, Ip};
use tidegate_core::packet::{BodyId, Packet, PortIx};
use tidegate_core::rng::Rng;
use tidegate_core::steering::Edge;
use tidegate_core::switch::Switch;
use tidegate_core::units::{Span, Time};
use tidegate_formats::{GateFile, Promise};

const UDP: u8 = 17;
const FULL: u32 = 1514;
const PORT: PortIx = PortIx(0);
/// The address of the named flow; others are in 10.0.0.0/8.
const CALLER: [u8; 4] = [192, 168, 7, 7];

/// An arriving packet: time in seconds, source address, and length.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: f64,
    from: [u8; 4],
    port: u16,
    len: u32,
}

/// Outcome for the named flow's packets.
#[derive(Debug, Default)]
struct Outcome {
    sent: u64,
    lost: u64,
    /// The longest time, in seconds, from a packet's arrival to its last bit, beyond the time at
    /// which its own line would have sent it.
    latest: f64,
    /// Lost packets of all other flows.
    others_lost: u64,
    others_sent: u64,
    flows: usize,
    classes: usize,
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
fn run(file: &GateFile, reserve: f64, arrivals: impl Iterator<Item = Arrival>) -> Outcome {
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

/// A pattern of traffic beside the named flow.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    addresses: u64,
    /// Times the rate of the link.
    load: f64,
    /// Shortest and longest packet.
    sizes: (u32, u32),
    /// Packets in a row from one address.
    in_a_row: u64,
    /// Addresses come one after the other, rather than at random.
    in_turn: bool,
    seconds: f64,
}

/// The packets of a pattern and of the named flow, which sends each packet when its own line has
/// sent the one before, or later by up to `slack` packets' times. The lengths of the named flow are
/// drawn up to `longest`.
fn traffic(
    pattern: Pattern,
    rate: f64,
    reserve: f64,
    longest: u32,
    slack: f64,
    seed: u64,
) -> impl Iterator<Item = Arrival> {
    let (mut call, mut flood) = (Rng::named(seed, "call"), Rng::named(seed, "flood"));
    let (mut at, mut calls_at, mut number) = (0.0, 0.05, 0_u64);
    let mut address = 0;
    std::iter::from_fn(move || {
        if at > pattern.seconds && calls_at > pattern.seconds {
            return None;
        }
        if calls_at <= at {
            let len = 64 + call.below(u64::from(longest - 63)) as u32;
            let one = Arrival { at: calls_at, from: CALLER, port: 5004, len };
            calls_at += f64::from(len) * 8.0 / reserve * (1.0 + slack * call.unit());
            return Some(one);
        }
        if number % pattern.in_a_row == 0 {
            address = match pattern.in_turn {
                true => (address + 1) % pattern.addresses,
                false => flood.below(pattern.addresses),
            };
        }
        number += 1;
        let (least, most) = pattern.sizes;
        let len = least + flood.below(u64::from(most - least + 1)) as u32;
        let [_, b, c, d] = (address as u32).to_be_bytes();
        let one = Arrival { at, from: [10, b, c, d], port: 1000 + (number % 7) as u16, len };
        at += f64::from(len) * 8.0 / (rate * pattern.load) * 2.0 * flood.unit();
        Some(one)
    })
}

fn file(text: &str) -> GateFile {
    GateFile::parse(text, "gate.toml", &[]).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

/// The reported case: one machine that sends 10 Mbit/s from 60,000 random addresses beside a call
/// that reserves 1,000 kbit/s and uses 95.
#[test]
fn sixty_thousand_addresses_take_nothing_from_a_reserved_call() {
    let gate = file(
        "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }\n\
         [[flow]]\nname = \"call\"\nmatch = { inside = \"192.168.7.7\" }\nreserve = \"1mbit\"\n\
         [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"100kbit\"\n",
    );
    let pattern = Pattern {
        addresses: 60_000,
        load: 1.0,
        sizes: (200, 1000),
        in_a_row: 1,
        in_turn: false,
        seconds: 10.0,
    };
    let calls = traffic(pattern, 10e6, 1e6, 214, 18.0, 1);
    let outcome = run(&gate, 1e6, calls);
    println!("{outcome:?}");
    assert!(outcome.sent > 500 && outcome.others_lost > 100, "{outcome:?}");
    assert_eq!(outcome.lost, 0);
    assert!(outcome.latest <= 2.0 * 1514.0 * 8.0 / 10e6, "{outcome:?}");
}

/// Draws one of these.
fn one_of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

/// A number between two, on a logarithmic scale.
fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// A gate at random, and traffic.
struct Drawn {
    text: String,
    rate: f64,
    reserve: f64,
    longest: u32,
    slack: f64,
    pattern: Pattern,
    /// Longest time after its own line would have sent it that a packet of the named flow may
    /// leave: a largest packet's time at the link, and as much for each class beside; at its class,
    /// one more for the class's own debt.
    bound: f64,
    /// Reservation of each member of the first flow with `each`.
    each: f64,
}

fn draw(seed: u64, most_addresses: f64) -> Drawn {
    let rng = &mut Rng::named(seed, "gate");
    let rate = between(rng, 2e6, 100e6).round();
    let reserve = (rate * between(rng, 0.01, 0.6)).round();
    let each = (rate * between(rng, 0.001, 0.3)).round();
    let scheduler = one_of(
        rng,
        &[
            "",
            "port = { scheduler = \"wf2q-plus\" }\n",
            "port = { scheduler = \"wfq\" }\n",
            "port = { scheduler = \"virtual-clock\" }\n",
        ],
    );
    let buffer = one_of(rng, &["", "switch = { buffer = \"200p\" }\n", "switch = { buffer = \"150kB\" }\n"]);
    let unit = one_of(
        rng,
        &[
            "each = \"host\"",
            "each = \"5-tuple\"",
            "each = \"subscriber\"",
            "each = \"host\"\nwithin = \"5-tuple\"",
        ],
    );
    // A member without a reservation has a weight, which its scheduler takes from no other member.
    let claim = match rng.chance(0.2) {
        true => String::new(),
        false => format!("reserve = \"{each}bit\"\n"),
    };
    let text = format!(
        "version = 1\n{scheduler}{buffer}gate = {{ inside = \"a\", outside = \"b\", up = \"{rate}bit\", down = \"{rate}bit\" }}\n"
    );
    let web = rng.chance(0.3) && each * 2.0 + reserve < rate;
    // The hosts may be in a class beside the call, or with it where schedulers in classes keep
    // rates.
    let fair = scheduler.is_empty() || scheduler.contains("wf2q-plus");
    let site = match rng.below(4) {
        0 if !claim.is_empty() => Some(each),
        1 if fair && !claim.is_empty() => Some(each + reserve),
        _ => None,
    };
    let together = site.is_some_and(|least| least > each);
    let others = if together { 0.0 } else { reserve } + if web { each } else { 0.0 };
    let site = site.map(|least| least + ((rate - others - least) * rng.unit()).floor());
    let class = if site.is_some() { "class = \"site\"\n" } else { "" };
    let of_call = if together { class } else { "" };
    let mut flows =
        site.map_or(String::new(), |bits| format!("[[class]]\nname = \"site\"\nreserve = \"{bits}bit\"\n"));
    flows += &format!(
        "[[flow]]\nname = \"call\"\nmatch = {{ inside = \"192.168.7.7\" }}\nreserve = \"{reserve}bit\"\n{of_call}"
    );
    if web {
        flows += &format!(
            "[[flow]]\nname = \"web\"\nmatch = {{ inside_port = [1001, 1003] }}\neach = \"host\"\nreserve = \"{each}bit\"\n"
        );
    }
    // Under VirtualClock flows without a reservation are datagrams, whose number does not count.
    let datagrams = claim.is_empty() && scheduler.contains("virtual-clock");
    let full = f64::from(FULL) * 8.0;
    let bound = match site.filter(|_| together) {
        Some(site) => (1.0 + f64::from(web)) * full / rate + 3.0 * full / site,
        None => (1.0 + f64::from(web) + f64::from(!datagrams)) * full / rate,
    };
    flows += &format!("[[flow]]\nname = \"hosts\"\n{unit}\n{claim}{class}");
    let (least, most) = one_of(rng, &[(64, 64), (FULL, FULL), (64, FULL), (60, 300)]);
    let pattern = Pattern {
        addresses: between(rng, 1.0, most_addresses) as u64,
        load: between(rng, 0.5, 5.0),
        sizes: (least, most),
        in_a_row: one_of(rng, &[1, 2, 50]),
        in_turn: rng.chance(0.5),
        seconds: 0.0,
    };
    // As many packets of the others as a few rounds of the addresses take, and at least fifty of
    // the call.
    let mean = f64::from(least + most) * 4.0;
    let packets = (pattern.addresses as f64 * pattern.in_a_row as f64 * 1.5).clamp(4_000.0, 150_000.0);
    let longest = one_of(rng, &[64, 214, 600, FULL]);
    let calls = 50.0 * f64::from(longest) * 8.0 / reserve;
    let seconds = (packets * mean / (rate * pattern.load)).max(calls);
    let slack = one_of(rng, &[0.0, 0.5, 3.0]);
    Drawn {
        text: text + &flows,
        rate,
        reserve,
        longest,
        slack,
        pattern: Pattern { seconds, ..pattern },
        bound,
        each,
    }
}

/// For any number of addresses, sizes and orders of arrival.
#[test]
fn a_named_flow_within_its_reservation_loses_nothing_and_keeps_its_bound() {
    let (mut overloads, mut beyond_their_queues, mut bounds) = (0, 0, 0);
    let mut wrong = Vec::new();
    for seed in 0..200 {
        let drawn = draw(seed, 100_000.0);
        let gate = file(&drawn.text);
        let arrivals = traffic(drawn.pattern, drawn.rate, drawn.reserve, drawn.longest, drawn.slack, seed);
        let outcome = run(&gate, drawn.reserve, arrivals);
        let bound = drawn.bound;
        match gate.promises(Direction::Up).first() {
            Some(Promise::Named { behind, .. }) => {
                bounds += 1;
                let told = behind.as_secs_f64();
                assert!((told - bound).abs() < 1e-8, "{told} is told and {bound} right: {}", drawn.text);
            }
            // A packet of the slowest flow takes longer than VirtualClock's `lead`.
            told => assert!(drawn.text.contains("virtual-clock"), "{told:?}: {}", drawn.text),
        }
        if outcome.lost > 0 || outcome.latest > bound + 1e-9 {
            wrong.push(format!(
                "{seed}: {outcome:?}, bound {bound}, {:?} longest {} slack {}\n{}",
                drawn.pattern, drawn.longest, drawn.slack, drawn.text
            ));
        }
        overloads += u32::from(outcome.others_lost > 0);
        beyond_their_queues += u32::from(drawn.pattern.addresses as f64 * drawn.each > drawn.rate);
    }
    assert!(wrong.is_empty(), "{} of 200:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        overloads > 60 && beyond_their_queues > 60 && bounds > 150,
        "{overloads}, {beyond_their_queues}, {bounds}"
    );
}

/// Circuits that reserve nothing have a weight under fair queueing; a thousand of them once had
/// more than the class.
#[test]
fn circuits_without_a_reservation_take_nothing_from_one_that_reserves() {
    let folder = std::env::temp_dir().join(format!("tidegate-circuits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut list = "name,addresses,class,up_reserve\ncaller,192.168.7.7,site,2mbit\n".to_owned();
    for circuit in 0..1000 {
        list += &format!("c{circuit},10.0.{}.{},site,\n", circuit / 256, circuit % 256);
    }
    std::fs::write(folder.join("list.csv"), list).unwrap();
    let text = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }\n\
                [[class]]\nname = \"site\"\nreserve = \"4mbit\"\n\
                [[flow]]\nname = \"subscribers\"\ncircuits = \"list.csv\"\n\
                [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"100kbit\"\n";
    std::fs::write(folder.join("gate.toml"), text).unwrap();
    let gate = GateFile::load(&folder.join("gate.toml"), &[]);
    std::fs::remove_dir_all(&folder).unwrap();
    // Hosts outside the list keep the rest of the line full, too.
    let pattern =
        Pattern { addresses: 3_000, load: 3.0, sizes: (64, FULL), in_a_row: 1, in_turn: false, seconds: 5.0 };
    let outcome = run(&gate.unwrap(), 2e6, traffic(pattern, 10e6, 2e6, FULL, 0.0, 3));
    assert!(outcome.sent > 1000 && outcome.others_lost > 10_000, "{outcome:?}");
    assert_eq!(outcome.lost, 0, "{outcome:?}");
    let full = f64::from(FULL) * 8.0;
    assert!(outcome.latest <= 2.0 * full / 10e6 + 3.0 * full / 4e6, "{outcome:?}");
}

/// Beside members with ceilings, on a line that is reserved completely: nothing is lost, although
/// no bound is promised.
#[test]
fn ceilings_of_others_cost_a_named_flow_no_packet() {
    for (scheduler, seed) in [("wf2q-plus", 1), ("virtual-clock", 2), ("drr", 3), ("sfq", 4), ("scfq", 5)] {
        let gate = file(&format!(
            "version = 1\nport = {{ scheduler = \"{scheduler}\" }}\n\
             gate = {{ inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"10mbit\" }}\n\
             [[flow]]\nname = \"call\"\nmatch = {{ inside = \"192.168.7.7\" }}\nreserve = \"9mbit\"\n\
             [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"1mbit\"\nceiling = \"1500kbit\"\n"
        ));
        assert!(!gate.promises(Direction::Up).iter().any(|one| matches!(one, Promise::Named { .. })));
        let pattern = Pattern {
            addresses: 500,
            load: 2.0,
            sizes: (64, FULL),
            in_a_row: 20,
            in_turn: true,
            seconds: 5.0,
        };
        let outcome = run(&gate, 9e6, traffic(pattern, 10e6, 9e6, FULL, 0.2, seed));
        assert!(outcome.sent > 3000 && outcome.others_lost > 1000, "{scheduler}: {outcome:?}");
        assert_eq!(outcome.lost, 0, "{scheduler}: {outcome:?}");
    }
}
