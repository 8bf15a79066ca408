//! Reservations under a random storm of set-ups, changes and tear-downs from either end, with
//! messages of a random number under way. No link is over-booked at any moment. Once all is quiet,
//! every flow has at all links of its route the reservation that its source learned, and nothing
//! else is booked anywhere.

mod common;

use common::{pick, rounds};
use std::collections::{BTreeMap, VecDeque};
use tidegate_core::admission::signalling::{Act, Message, MessageKind, Next, pass};
use tidegate_core::admission::{FlowId, FlowSpec, Ledger, Policy, Refusal, Stamps};
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

const LINKS: usize = 8;
const OPERATIONS: u64 = 10_000;

/// A flow as its source knows it.
#[derive(Debug)]
struct Flow {
    /// Links on its route, in order.
    route: Vec<usize>,
    /// Promised reservation.
    has: Option<FlowSpec>,
    /// Pending request.
    asks: Option<FlowSpec>,
    gone: bool,
}

struct Storm {
    rng: Rng,
    now: Time,
    ledgers: Vec<Ledger>,
    flows: BTreeMap<FlowId, Flow>,
    /// Messages under way, a queue for each flow and direction: they may cross, not overtake.
    wires: BTreeMap<(FlowId, bool), VecDeque<Message>>,
    /// Promises of each link to its switch.
    promised: BTreeMap<(usize, FlowId), FlowSpec>,
    refused: u64,
    granted: u64,
    crossed: u64,
}

fn is_forward(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::SetUp(_) | MessageKind::Change(_) | MessageKind::TearDown { forward: true })
}

impl Storm {
    fn new(seed: u64) -> Storm {
        let policy = |at| Policy {
            reservable: 1_000_000 + at * 50_000,
            longest_interval: (at % 2 == 0).then(|| Span::from_secs(10)),
        };
        Storm {
            rng: Rng::named(seed, "storm"),
            now: Time::ORIGIN,
            ledgers: (0..LINKS as u64).map(|at| Ledger::new(policy(at))).collect(),
            flows: BTreeMap::new(),
            wires: BTreeMap::new(),
            promised: BTreeMap::new(),
            refused: 0,
            granted: 0,
            crossed: 0,
        }
    }

    fn spec(&mut self) -> FlowSpec {
        let interval = pick(&mut self.rng, &[None, Some(1), Some(100), Some(1000), Some(20_000)]);
        FlowSpec {
            rate: 1000 * (1 + self.rng.below(200)),
            interval: interval.map(Span::from_millis),
            largest: pick(&mut self.rng, &[40, 250, 1500]),
        }
    }

    fn send(&mut self, message: Message) {
        self.wires.entry((message.flow, is_forward(message.kind))).or_default().push_back(message);
    }

    fn operate(&mut self, nth: u64) {
        let alive: Vec<FlowId> =
            self.flows.iter().filter(|(_, flow)| !flow.gone).map(|(id, _)| *id).collect();
        let choice = self.rng.below(10);
        if alive.is_empty() || choice < 4 {
            let first = self.rng.below(LINKS as u64) as usize;
            let route: Vec<usize> = (first..LINKS).take(1 + self.rng.below(5) as usize).collect();
            let (flow, spec) = (FlowId(nth), self.spec());
            self.flows.insert(flow, Flow { route, has: None, asks: Some(spec), gone: false });
            self.send(Message { flow, place: 0, kind: MessageKind::SetUp(spec) });
            return;
        }
        let id = pick(&mut self.rng, &alive);
        let spec = self.spec();
        let flow = self.flows.get_mut(&id).unwrap();
        match choice {
            4..7 if flow.asks.is_none() && flow.has.is_some() => {
                flow.asks = Some(spec);
                self.send(Message { flow: id, place: 0, kind: MessageKind::Change(spec) });
            }
            7 | 8 => {
                flow.gone = true;
                self.send(Message { flow: id, place: 0, kind: MessageKind::TearDown { forward: true } });
            }
            // The destination knows of the flow once it has a promise.
            9 if flow.has.is_some() => {
                let place = flow.route.len() as u32 - 1;
                self.crossed += u64::from(flow.asks.is_some());
                self.send(Message { flow: id, place, kind: MessageKind::TearDown { forward: false } });
            }
            _ => {}
        }
    }

    /// Passes time; the flow at hand has stamped packets up to now, or for a while to come.
    fn stamps(&mut self) -> Stamps {
        self.now += Span::from_millis(self.rng.below(20));
        let latest = self.now + Span::from_millis(pick(&mut self.rng, &[0, 0, 5, 300]));
        Stamps { passed: self.now, latest }
    }

    /// Moves one message on.
    fn step(&mut self) -> bool {
        if self.wires.is_empty() {
            return false;
        }
        let nth = self.rng.below(self.wires.len() as u64) as usize;
        let wire = *self.wires.keys().nth(nth).unwrap();
        let queue = self.wires.get_mut(&wire).unwrap();
        let message = queue.pop_front().unwrap();
        if queue.is_empty() {
            self.wires.remove(&wire);
        }
        let route = self.flows[&message.flow].route.clone();
        let at = route[message.place as usize];
        let stamps = self.stamps();
        let (act, next) = pass(&mut self.ledgers[at], message, route.len() as u32, stamps);
        match act {
            Act::Promise(spec) => _ = self.promised.insert((at, message.flow), spec),
            Act::Close => _ = self.promised.remove(&(at, message.flow)),
            Act::Nothing => {}
        }
        match next {
            Next::Link(message) => self.send(message),
            Next::Destination(MessageKind::SetUp(_) | MessageKind::Change(_)) => {
                let place = route.len() as u32 - 1;
                self.send(Message { flow: message.flow, place, kind: MessageKind::Confirm });
            }
            Next::Destination(_) => {}
            Next::Source(kind) => self.told(message.flow, &route, kind),
        }
        true
    }

    fn told(&mut self, id: FlowId, route: &[usize], kind: MessageKind) {
        let flow = self.flows.get_mut(&id).unwrap();
        match kind {
            MessageKind::Confirm => {
                flow.has = flow.asks.take();
                self.granted += 1;
            }
            MessageKind::Refuse(place, refusal) => {
                let asked = flow.asks.take();
                self.refused += 1;
                flow.gone |= flow.has.is_none();
                let policy = self.ledgers[route[place as usize]].policy();
                // The stated reason is true.
                match (refusal, asked) {
                    (Refusal::TooMuch { asked: rate, left, reservable }, Some(spec)) => {
                        assert!(rate == spec.rate && left < rate && reservable == policy.reservable);
                    }
                    (Refusal::IntervalTooLong { most }, Some(spec)) => assert!(spec.interval > Some(most)),
                    (Refusal::IntervalTooShort { least }, Some(spec)) => assert!(spec.interval < Some(least)),
                    (Refusal::Unknown, _) => {}
                    other => panic!("{other:?}"),
                }
            }
            MessageKind::TearDown { .. } => (flow.gone, flow.has, flow.asks) = (true, None, None),
            other => panic!("{other:?} reached a source"),
        }
    }

    /// Checks that hold at every moment.
    fn audit(&self) {
        for (at, ledger) in self.ledgers.iter().enumerate() {
            let promised = self.promised.range((at, FlowId(0))..(at + 1, FlowId(0)));
            let sum: u64 = promised.map(|(_, spec)| spec.rate).sum();
            let taken = ledger.booked() + ledger.claimed();
            assert!(sum <= ledger.booked() && taken <= ledger.policy().reservable);
            assert_eq!(ledger.left(), ledger.policy().reservable - taken);
        }
    }

    /// Checks that hold when nothing is under way.
    fn audit_at_rest(&mut self) {
        for ledger in &mut self.ledgers {
            ledger.expire(Time::NEVER);
            assert_eq!(ledger.claimed(), 0);
        }
        let mut expected = BTreeMap::new();
        for (id, flow) in self.flows.iter().filter(|(_, flow)| !flow.gone) {
            let spec = flow.has.unwrap_or_else(|| panic!("{id:?} {flow:?} waits for ever"));
            assert_eq!(flow.asks, None, "{id:?}");
            flow.route.iter().for_each(|at| _ = expected.insert((*at, *id), spec));
        }
        assert_eq!(self.promised, expected);
        for (at, ledger) in self.ledgers.iter().enumerate() {
            let here: Vec<_> = expected.iter().filter(|((of, _), _)| *of == at).collect();
            assert_eq!(ledger.flows(), here.len(), "link {at} remembers flows that are gone");
            assert_eq!(ledger.booked(), here.iter().map(|(_, spec)| spec.rate).sum::<u64>());
            assert!(here.iter().all(|((_, id), spec)| ledger.granted(*id) == Some(**spec)));
        }
    }
}

#[test]
fn a_storm_of_requests_leaks_nothing_and_does_nothing_by_halves() {
    let (mut granted, mut refused, mut crossed) = (0, 0, 0);
    for seed in 0..rounds(3) {
        let mut storm = Storm::new(seed);
        for nth in 0..OPERATIONS {
            storm.operate(nth);
            for _ in 0..storm.rng.below(12) {
                storm.step();
                storm.audit();
            }
            if nth % 500 == 0 {
                while storm.step() {}
                storm.audit_at_rest();
                // Flows that are gone are dropped.
                storm.flows.retain(|_, flow| !flow.gone);
            }
        }
        while storm.step() {}
        storm.audit_at_rest();
        granted += storm.granted;
        refused += storm.refused;
        crossed += storm.crossed;
    }
    assert!(granted > 3000 && refused > 1000 && crossed > 30, "{granted} {refused} {crossed}");
}

fn ledger(reservable: u64) -> Ledger {
    Ledger::new(Policy { reservable, longest_interval: Some(Span::from_secs(2)) })
}

fn spec(rate: u64, interval: u64) -> FlowSpec {
    FlowSpec { rate, interval: Some(Span::from_millis(interval)), largest: 250 }
}

#[test]
fn a_refusal_says_what_was_left() {
    let mut ledger = ledger(100_000);
    ledger.set_up(FlowId(1), spec(70_000, 500)).unwrap();
    let refusal = ledger.set_up(FlowId(2), spec(40_000, 500)).unwrap_err();
    assert_eq!(refusal.to_string(), "40000 bit/s asked for, 30000 of 100000 bit/s left");
    let refusal = ledger.set_up(FlowId(2), spec(20_000, 99)).unwrap_err();
    assert_eq!(refusal.to_string(), "the average interval is shorter than a packet's time, 0.1 s");
    let refusal = ledger.set_up(FlowId(2), spec(20_000, 2001)).unwrap_err();
    assert_eq!(refusal.to_string(), "the average interval is longer than 2 s");
    // 1/AR itself, and the limit itself, are granted.
    ledger.set_up(FlowId(2), spec(20_000, 100)).unwrap();
    ledger.set_up(FlowId(3), spec(10_000, 2000)).unwrap();
    assert_eq!((ledger.left(), ledger.flows()), (0, 3));
}

#[test]
fn a_change_holds_both_until_it_is_decided() {
    let mut ledger = ledger(100_000);
    ledger.set_up(FlowId(1), spec(60_000, 500)).unwrap();
    ledger.confirm(FlowId(1), Stamps::NONE).unwrap();
    // Less: the released rate is not free before the change is certain.
    ledger.change(FlowId(1), spec(10_000, 500)).unwrap();
    assert_eq!(ledger.left(), 40_000);
    assert_eq!(ledger.change(FlowId(1), spec(1000, 500)), Err(Refusal::UnderWay));
    ledger.withdraw(FlowId(1));
    assert_eq!((ledger.left(), ledger.granted(FlowId(1)).map(|spec| spec.rate)), (40_000, Some(60_000)));
    // More: the missing rate is booked at once.
    ledger.change(FlowId(1), spec(95_000, 500)).unwrap();
    assert_eq!((ledger.left(), ledger.granted(FlowId(1)).map(|spec| spec.rate)), (5000, Some(60_000)));
    ledger.confirm(FlowId(1), Stamps::NONE).unwrap();
    assert_eq!(ledger.granted(FlowId(1)).map(|spec| spec.rate), Some(95_000));
    assert!(ledger.tear_down(FlowId(1), Stamps::NONE) && !ledger.tear_down(FlowId(1), Stamps::NONE));
    assert_eq!((ledger.left(), ledger.confirm(FlowId(1), Stamps::NONE)), (100_000, None));
}

/// A released rate is free only when the stamps given at it have passed, or nothing waits.
#[test]
fn what_stamps_claim_is_not_resold() {
    let at = |seconds| Time::ORIGIN + Span::from_secs(seconds);
    let mut ledger = ledger(100_000);
    ledger.set_up(FlowId(1), spec(90_000, 500)).unwrap();
    ledger.confirm(FlowId(1), Stamps::NONE).unwrap();
    ledger.change(FlowId(1), spec(10_000, 500)).unwrap();
    ledger.confirm(FlowId(1), Stamps { passed: at(0), latest: at(10) }).unwrap();
    assert_eq!((ledger.booked(), ledger.claimed(), ledger.left()), (10_000, 80_000, 10_000));
    let refusal = ledger.set_up(FlowId(2), spec(50_000, 500)).unwrap_err();
    assert_eq!(refusal, Refusal::TooMuch { asked: 50_000, left: 10_000, reservable: 100_000 });
    assert!(ledger.tear_down(FlowId(1), Stamps { passed: at(5), latest: at(12) }));
    ledger.expire(at(10));
    assert_eq!((ledger.claimed(), ledger.left()), (10_000, 90_000));
    ledger.expire(Time::NEVER);
    assert_eq!((ledger.claimed(), ledger.left()), (0, 100_000));
}

/// The rate that may be reserved follows what is kept for datagrams. A reservation stays when it becomes
/// less, and its owner may still ask for less, and for no more.
#[test]
fn a_limit_binds_requests_and_leaves_promises() {
    let mut ledger = ledger(100_000);
    ledger.set_up(FlowId(1), spec(80_000, 500)).unwrap();
    ledger.confirm(FlowId(1), Stamps::NONE).unwrap();
    ledger.limit(60_000);
    assert_eq!((ledger.booked(), ledger.left()), (80_000, 0));
    let refusal = Err(Refusal::TooMuch { asked: 10_000, left: 0, reservable: 60_000 });
    assert_eq!(ledger.set_up(FlowId(2), spec(10_000, 1000)), refusal);
    assert!(matches!(ledger.change(FlowId(1), spec(80_001, 500)), Err(Refusal::TooMuch { .. })));
    ledger.change(FlowId(1), spec(30_000, 500)).unwrap();
    ledger.confirm(FlowId(1), Stamps::NONE).unwrap();
    assert_eq!(ledger.left(), 30_000);
    // Never more than the policy has.
    ledger.limit(1_000_000);
    assert_eq!(ledger.left(), 70_000);
}
