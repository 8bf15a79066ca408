//! Transports: properties of all of them, and of a fixed window.

use std::collections::{BTreeSet, VecDeque};
use tidegate_core::contract::Contract;
use tidegate_core::endpoint::window::WindowParams;
use tidegate_core::endpoint::{
    Action, BuiltInTransport, Endpoint, EndpointSetup, HostCx, Payload, RECORDS, TransportKind,
};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::{Key, Member, NamedPolicy, NodeContext, Role, Stamps, Supply};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, Span, Time};

const SIZE: u32 = 1000;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

fn setup(flow: u32, stop: Time) -> EndpointSetup {
    let peer = Some(1 - flow);
    EndpointSetup {
        flow,
        peer,
        rng: Rng::named(1, "endpoint"),
        start: Time::ORIGIN,
        stop,
        rate: rate(1_000_000),
        data: None,
    }
}

/// Packets on their way, by when they arrive; the end that receives them, their length and their
/// payload.
type Flying = VecDeque<(Time, usize, u32, Payload)>;

/// The two ends of a connection with a fixed delay between them in each direction, and nothing
/// else.
struct Wire {
    ends: [Box<dyn Endpoint>; 2],
    next: [Time; 2],
    flying: Flying,
    delay: Span,
    /// One of this many packets of data is lost; 0 for none.
    lose_each: u64,
    sent: [u64; 2],
    /// Data that arrived, and the largest packet of each direction.
    arrived: u64,
    largest: [u32; 2],
    /// True if any data were ECN-capable.
    ecn_capable: bool,
    now: Time,
}

impl Wire {
    fn new(transport: &BuiltInTransport, delay: Span, stop: Time) -> Wire {
        let made = TransportKind::BuiltIn(transport.clone()).build().unwrap();
        let ends = [made.sender(setup(0, stop), SIZE), made.receiver(setup(1, Time::NEVER), SIZE)];
        let (next, flying) = ([Time::ORIGIN; 2], Flying::new());
        let (sent, arrived, largest, now) = ([0; 2], 0, [0; 2], Time::ORIGIN);
        let (lose_each, ecn_capable) = (0, false);
        Wire { ends, next, flying, delay, lose_each, sent, arrived, largest, ecn_capable, now }
    }

    fn act(&mut self, end: usize, call: impl FnOnce(&mut dyn Endpoint, &mut HostCx<'_>) -> Time) {
        let mut out = Vec::new();
        let mut cx = HostCx { now: self.now, out: &mut out };
        self.next[end] = call(self.ends[end].as_mut(), &mut cx).max(self.now);
        for action in out {
            if let Action::Send { len, payload, mark, .. } = action {
                self.sent[end] += 1;
                self.ecn_capable |= end == 0 && mark.is_ecn_capable();
                self.largest[end] = self.largest[end].max(len);
                let lost = end == 0 && self.lose_each > 0 && self.sent[0].is_multiple_of(self.lose_each);
                if !lost {
                    self.flying.push_back((self.now + self.delay, 1 - end, len, payload));
                }
            }
        }
    }

    fn run(&mut self, until: Time) {
        loop {
            let arrival = self.flying.front().map_or(Time::NEVER, |(at, ..)| *at);
            let woken = usize::from(self.next[1] < self.next[0]);
            let at = arrival.min(self.next[woken]);
            if at > until {
                return;
            }
            self.now = at;
            if arrival <= self.next[woken] {
                let (_, end, len, payload) = self.flying.pop_front().unwrap();
                self.arrived += u64::from(end == 1);
                self.act(end, |one, cx| one.receive(cx, &Packet::new(BodyId(0), len), &payload));
            } else {
                self.act(woken, |one, cx| one.wake(cx));
            }
        }
    }
}

#[test]
fn records_are_complete() {
    let names: BTreeSet<_> = RECORDS.iter().map(|record| record.name).collect();
    assert_eq!(names.len(), RECORDS.len());
    for record in RECORDS {
        assert!(matches!(record.role, Role::Transport { .. }), "{}", record.name);
        assert_eq!(record.stamps, Stamps::Unordered, "{}", record.name);
        assert!(record.help.ends_with('.') && !record.source.is_empty(), "{}", record.name);
        assert_eq!(record.is_responsive(), record.role == Role::Transport { responsive: true });
    }
    for example in BuiltInTransport::examples() {
        assert_eq!(example.check(), Ok(()));
        let again = BuiltInTransport::read(example.record().name, &example.values()).unwrap().unwrap();
        assert_eq!(again, example);
    }
}

/// Data are in packets of at most the size asked for, answers are no larger than declared, the flow
/// ends at its stop, and its times do not go back.
#[test]
fn every_transport_keeps_to_its_sizes_and_its_stop() {
    for transport in BuiltInTransport::examples() {
        let stop = Time::ORIGIN + Span::from_secs(2);
        let mut wire = Wire::new(&transport, Span::from_millis(10), stop);
        wire.lose_each = 7;
        wire.run(stop);
        let before = wire.sent[0];
        assert!(before > 10, "{transport:?}: {before} sent");
        wire.run(stop + Span::from_secs(1000));
        assert_eq!(wire.sent[0], before, "{transport:?}");
        assert!(wire.flying.is_empty());
        let answer = TransportKind::BuiltIn(transport.clone()).build().unwrap().largest_answer();
        assert!(wire.largest[0] <= SIZE && wire.largest[1] <= answer, "{transport:?}: {:?}", wire.largest);
    }
}

/// Data may be marked on their way only where the transport says so.
#[test]
fn every_transport_says_whether_its_data_are_ecn_capable() {
    let mut said = BTreeSet::new();
    for transport in BuiltInTransport::examples() {
        let mut wire = Wire::new(&transport, Span::from_millis(10), Time::NEVER);
        wire.run(Time::ORIGIN + Span::from_secs(1));
        let negotiates = TransportKind::BuiltIn(transport.clone()).build().unwrap().negotiates_ecn();
        assert_eq!(wire.ecn_capable, negotiates, "{transport:?}");
        said.insert(negotiates);
    }
    assert_eq!(said.len(), 2);
}

/// A transport that measures round-trip times has one as soon as something was acknowledged, of
/// twice the delay, and none before; at the receiving end there is none.
#[test]
fn every_transport_says_whether_it_measures_round_trips() {
    let mut said = BTreeSet::new();
    for transport in BuiltInTransport::examples() {
        let mut wire = Wire::new(&transport, Span::from_millis(40), Time::NEVER);
        let measures = TransportKind::BuiltIn(transport.clone()).build().unwrap().measures_round_trips();
        wire.run(Time::ORIGIN + Span::from_millis(79));
        assert_eq!(wire.ends[0].round_trip(), None, "{transport:?}");
        wire.run(Time::ORIGIN + Span::from_secs(5));
        let measured = wire.ends[0].round_trip().map(|span| (span.as_secs_f64() / 0.08 * 10.0).round());
        assert_eq!(measured, measures.then_some(10.0), "{transport:?}");
        assert_eq!(wire.ends[1].round_trip(), None, "{transport:?}");
        said.insert(measures);
    }
    assert_eq!(said.len(), 2);
}

/// A later beginning of time changes nothing.
#[test]
fn every_transport_is_the_same_at_any_time() {
    for transport in BuiltInTransport::examples() {
        let sent = |shift: Span| {
            let begin = Time::ORIGIN + shift;
            let mut wire = Wire::new(&transport, Span::from_millis(3), begin + Span::from_secs(1));
            wire.next = [begin; 2];
            wire.lose_each = 5;
            wire.run(begin + Span::from_secs(2));
            (wire.sent, wire.arrived)
        };
        assert_eq!(sent(Span::ZERO), sent(Span::from_secs(100_000)), "{transport:?}");
    }
}

/// A window is sent each round trip, and a lost packet holds its place until the timeout.
#[test]
fn a_window_a_round_trip() {
    let params = |window| WindowParams { window, acknowledgement: 40, timeout: Span::from_millis(500) };
    for window in [1, 2, 17, 1000] {
        let transport = BuiltInTransport::Window(params(window));
        let stop = Time::ORIGIN + Span::from_millis(999);
        let mut wire = Wire::new(&transport, Span::from_millis(10), stop);
        wire.run(stop);
        assert_eq!(wire.sent[0], u64::from(window) * 50);
    }
    // One packet and all lost: one a timeout.
    let mut wire = Wire::new(&BuiltInTransport::Window(params(1)), Span::from_millis(10), Time::NEVER);
    wire.lose_each = 1;
    wire.run(Time::ORIGIN + Span::from_millis(2400));
    assert_eq!((wire.sent, wire.arrived), ([5, 0], 0));
}

/// The timeout must let a whole window leave.
#[test]
fn a_timeout_that_is_too_short_is_refused() {
    let check = |timeout, bits| {
        let params = WindowParams { window: 10, acknowledgement: 40, timeout };
        let members = [Member {
            count: 1,
            contract: Contract::default(),
            largest: SIZE,
            traffic: None,
            signalled: false,
        }];
        let node = NodeContext {
            link: rate(bits),
            steady: true,
            reservable: None,
            supply: Supply::Link,
            members: &members,
        };
        BuiltInTransport::Window(params).check_at(&node)
    };
    // Ten packets of 8000 bits at 1 Mbit/s.
    assert_eq!(check(Span::from_millis(80), 1_000_000), Ok(()));
    let fault = check(Span::from_millis(79), 1_000_000).unwrap_err();
    assert_eq!(fault.key, Key::Param("timeout"));
    assert_eq!(check(Span::from_millis(8), 10_000_000), Ok(()));
}
