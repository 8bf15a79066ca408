//! A household behind one circuit: its call, which nothing marks, beside its own ten downloads and
//! ten uploads, in virtual time.

use super::simulator_tests::frame;
use super::tests::{Bench, file_with_circuits};
use super::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// From an end of a conversation to the gate.
const DELAY: Span = Span::from_millis(5);
/// Between two packets of the call.
const PERIOD: Span = Span::from_millis(20);
const DURATION: Span = Span::from_secs(10);
const CALL: u16 = 1;
/// Port of the first transfer, and number of transfers in each direction.
const TRANSFERS: u16 = 100;
const COUNT: usize = 10;
/// Payload of a frame of 1514 bytes, of an acknowledgement, and of a packet of the call.
const FULL: usize = 1472;
const ACK: usize = 24;
const VOICE: usize = 172;

/// A sender with a window: slow start, then one frame more in each round trip, and half of them
/// after a loss.
#[derive(Clone)]
struct Transfer {
    direction: Direction,
    /// The host inside.
    host: u8,
    /// Bytes that have left the gate.
    bytes: usize,
    /// Number of the next frame.
    next: u64,
    window: f64,
    /// Its least value.
    least: f64,
    threshold: f64,
    /// The number that the receiver expects, and its losses so far; what the sender knows of them.
    received: [u64; 2],
    known: [u64; 2],
    /// Losses of frames before this one have been answered.
    recover: u64,
    heard: Time,
}

impl Transfer {
    fn new(direction: Direction, host: u8) -> Transfer {
        Transfer {
            direction,
            host,
            bytes: 0,
            next: 0,
            window: 10.0,
            least: 2.0,
            threshold: f64::INFINITY,
            received: [0; 2],
            known: [0; 2],
            recover: 0,
            heard: Time::ORIGIN,
        }
    }

    fn acknowledged(&mut self, now: Time, received: [u64; 2]) {
        self.heard = now;
        let more = received[0].saturating_sub(self.known[0]) as f64;
        if received[1] > self.known[1] && received[0] > self.recover {
            self.window = (self.window / 2.0).max(self.least);
            (self.threshold, self.recover) = (self.window, self.next);
        } else {
            self.window += if self.window < self.threshold { more } else { more / self.window };
        }
        self.known = [0, 1].map(|ix| self.known[ix].max(received[ix]));
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A frame comes to the gate from a port inside or to it, with two numbers.
    Frame { up: bool, port: u16, numbers: [u64; 2] },
    /// An acknowledgement reaches the sender of a transfer.
    Acknowledged(usize, [u64; 2]),
    /// A transfer starts, and goes on if it has not heard anything for long.
    Check(usize),
}

struct Household {
    bench: Bench,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    transfers: Vec<Transfer>,
    /// The host that has the call.
    caller: u8,
    /// The call's packets that came to the gate in each direction, and the delays of those that
    /// left it.
    calls: [usize; 2],
    delays: [Vec<Span>; 2],
}

impl Household {
    fn new(text: &str, circuits: &str, transfers: Vec<Transfer>, caller: u8) -> Household {
        let file = file_with_circuits(text, circuits);
        let mut household = Household {
            bench: Bench::of(&Plan::of(&file)),
            events: BinaryHeap::new(),
            order: 0,
            transfers,
            caller,
            calls: [0; 2],
            delays: Default::default(),
        };
        for up in [true, false] {
            household.plan(Time::ORIGIN, Event::Frame { up, port: CALL, numbers: [0; 2] });
        }
        for ix in 0..household.transfers.len() {
            household.plan(Time::ORIGIN + Span::from_millis(7 * ix as u64), Event::Check(ix));
        }
        household
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    fn run(&mut self) {
        let end = Time::ORIGIN + DURATION;
        loop {
            let event = self.events.peek().map_or(end, |Reverse((at, ..))| *at);
            let now = event.min(self.bench.engine.next_due());
            if now >= end {
                break;
            }
            self.bench.now = now;
            self.bench.engine.advance(now, usize::MAX);
            for direction in Direction::BOTH {
                for departure in self.bench.engine.departures(direction).to_vec() {
                    let frame = self.bench.engine.frame(direction, departure).to_vec();
                    self.left(departure.due, direction, &frame);
                }
                let count = self.bench.engine.departures(direction).len();
                self.bench.engine.complete(direction, count, 0);
            }
            while let Some(Reverse((at, _, event))) =
                self.events.peek().copied().filter(|first| first.0.0 <= now)
            {
                self.events.pop();
                self.happen(at, event);
            }
        }
        self.bench.check_identity();
    }

    fn happen(&mut self, now: Time, event: Event) {
        match event {
            Event::Frame { up, port, mut numbers } => {
                let direction = if up { Direction::Up } else { Direction::Down };
                let payload = if port == CALL {
                    self.calls[direction as usize] += 1;
                    numbers = [numbers[0] + 1, now.ticks()];
                    self.plan(now + PERIOD, Event::Frame { up, port, numbers });
                    VOICE
                } else if self.transfers[usize::from(port - TRANSFERS)].direction == direction {
                    FULL
                } else {
                    ACK
                };
                let mut frame = frame((up, self.host(port), port, 0), payload, numbers[0]);
                frame[50..58].copy_from_slice(&numbers[1].to_be_bytes());
                self.bench.receive(direction, &frame);
            }
            Event::Acknowledged(ix, received) => {
                self.transfers[ix].acknowledged(now, received);
                self.send(now, ix);
            }
            Event::Check(ix) => {
                let Transfer { heard, known, window, next, .. } = &mut self.transfers[ix];
                if now.since(*heard) > Span::from_millis(500) {
                    (known[0], *window, *heard) = (*next, 2.0, now);
                }
                self.send(now, ix);
                self.plan(now + Span::from_millis(100), Event::Check(ix));
            }
        }
    }

    /// The host inside that has a port.
    fn host(&self, port: u16) -> u8 {
        if port == CALL { self.caller } else { self.transfers[usize::from(port - TRANSFERS)].host }
    }

    /// Sends what the window of a transfer allows.
    fn send(&mut self, now: Time, ix: usize) {
        let Transfer { direction, next, window, known, .. } = self.transfers[ix];
        let up = direction == Direction::Up;
        let until = next.max(known[0] + window as u64);
        for number in next..until {
            let port = TRANSFERS + ix as u16;
            self.plan(now + DELAY, Event::Frame { up, port, numbers: [number, 0] });
        }
        self.transfers[ix].next = until;
    }

    /// A frame has left the gate.
    fn left(&mut self, due: Time, direction: Direction, frame: &[u8]) {
        let number = |at: usize| u64::from_be_bytes(frame[at..at + 8].try_into().unwrap());
        let numbers = [number(42), number(50)];
        let up = direction == Direction::Up;
        let at = if up { 34 } else { 36 };
        let port = u16::from_be_bytes([frame[at], frame[at + 1]]);
        if port == CALL {
            return self.delays[direction as usize].push(due.since(Time::from_ticks(numbers[1])));
        }
        let ix = usize::from(port - TRANSFERS);
        if self.transfers[ix].direction != direction {
            return self.plan(due + DELAY, Event::Acknowledged(ix, numbers));
        }
        let transfer = &mut self.transfers[ix];
        transfer.bytes += frame.len();
        let [expected, lost] = transfer.received;
        transfer.received = [numbers[0] + 1, lost + numbers[0].saturating_sub(expected)];
        let numbers = transfer.received;
        self.plan(due + DELAY + DELAY, Event::Frame { up: !up, port, numbers });
    }

    /// The 99th percentile of the call's delay in a direction in ms, how many of its packets were
    /// lost, and the rate of the transfers in Mbit/s.
    fn call(&self, direction: Direction) -> (f64, usize, f64) {
        let mut delays = self.delays[direction as usize].clone();
        delays.sort_unstable();
        // The latest packet may still be on its way.
        let lost = (self.calls[direction as usize] - 1).saturating_sub(delays.len());
        let rate = self.rate(|transfer| transfer.direction == direction);
        (delays[delays.len() * 99 / 100].as_secs_f64() * 1e3, lost, rate)
    }

    /// The rate of some of the transfers in Mbit/s.
    fn rate(&self, counts: impl Fn(&Transfer) -> bool) -> f64 {
        let counted = self.transfers.iter().filter(|transfer| counts(transfer));
        counted.map(|transfer| transfer.bytes).sum::<usize>() as f64 * 8e-6 / DURATION.as_secs_f64()
    }
}

/// A gate in front of the household.
struct Case {
    /// Rates of the link in Mbit/s, up first.
    link: [f64; 2],
    /// The rest of the file, besides the flow of circuits.
    rest: &'static str,
    /// The line of its circuit, under the columns.
    circuit: &'static str,
    /// Rates of the household in Mbit/s.
    rates: [f64; 2],
}

const COLUMNS: &str = "name,addresses,class,up_reserve,down_reserve,up_ceiling,down_ceiling";
const PROVIDER: [f64; 2] = [100.0, 1000.0];
const CLASSES: &str = "[[class]]\nname = \"outer\"\nceiling = \"80mbit\"\n\
    [[class]]\nname = \"inner\"\nparent = \"outer\"\nup = { ceiling = \"10mbit\" }\n";

impl Case {
    /// The 99th percentile of the call's delay in ms, its lost packets, and the rate of the
    /// transfers in Mbit/s, in each direction.
    fn run(&self, within: &str) -> [(f64, usize, f64); 2] {
        let transfers = Direction::BOTH.map(|direction| vec![Transfer::new(direction, 1); COUNT]).concat();
        let household = self.household(within, transfers, 1);
        Direction::BOTH.map(|direction| household.call(direction))
    }

    /// The household with these transfers and the host of its call, after its time.
    fn household(&self, within: &str, transfers: Vec<Transfer>, caller: u8) -> Household {
        let Case { link: [up, down], rest, circuit, .. } = self;
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"{up}mbit\", down = \"{down}mbit\", overhead = 24 }}\n\
             {rest}[[flow]]\nname = \"circuits\"\ncircuits = \"circuits.csv\"\n{within}"
        );
        let circuits = format!("{COLUMNS}\n{circuit}\n");
        let mut household = Household::new(&text, &circuits, transfers, caller);
        household.run();
        household
    }

    /// Time of a full frame at the household's rate, in ms.
    fn frame(&self, direction: Direction) -> f64 {
        (FULL + 42 + 24) as f64 * 8e-3 / self.rates[direction as usize]
    }
}

/// Beside ten downloads and ten uploads of its own household, a call that nothing marks loses
/// nothing, and 99 % of its packets wait for at most one frame and 5 ms, whatever limits the
/// circuit: its ceiling, a class, or the link. With one queue they wait for a hundred milliseconds
/// and more on the way up, and some are lost; the transfers gain nothing by that.
#[test]
fn a_call_is_not_delayed_by_its_own_household() {
    let rates = [10.0, 50.0];
    let cases = [
        Case { link: PROVIDER, rest: "", circuit: "a,10.0.0.1,,,,10mbit,50mbit", rates },
        Case { link: PROVIDER, rest: CLASSES, circuit: "a,10.0.0.1,inner,5mbit,,,50mbit", rates },
        Case { link: rates, rest: "", circuit: "a,10.0.0.1,,,,,", rates },
        Case {
            link: PROVIDER,
            rest: "port = { scheduler = \"virtual-clock\" }\n",
            circuit: "a,10.0.0.1,,10mbit,50mbit,10mbit,50mbit",
            rates,
        },
    ];
    for case in cases {
        let (one_queue, fair) = (case.run("within = \"none\"\n"), case.run(""));
        let told = format!("under {:?}: {one_queue:?}, {fair:?}", case.rest);
        let most = Direction::BOTH.map(|direction| case.frame(direction) + 5.0);
        let holds = |(side, most): (usize, f64)| fair[side].0 <= most && fair[side].1 == 0;
        assert!(most.into_iter().enumerate().all(holds), "{told}");
        assert!(one_queue[0].0 > 20.0 * most[0] && one_queue[0].1 > 0, "{told}");
        let bulk = |both: [(f64, usize, f64); 2]| both.iter().map(|(_, _, rate)| rate).sum::<f64>();
        assert!(bulk(fair) > 0.99 * bulk(one_queue), "{told}");
    }
}

/// On a line so slow that a frame of each transfer takes longer than the call's period, the call is
/// not sparse (RFC 8290, section 4.1): it waits its turn, and loses nothing.
#[test]
fn a_call_on_a_slow_line_waits_its_turn() {
    let rates = [3.0, 20.0];
    let case = Case { link: PROVIDER, rest: "", circuit: "a,10.0.0.1,,,,3mbit,20mbit", rates };
    assert!(COUNT as f64 * case.frame(Direction::Up) > PERIOD.as_secs_f64() * 1e3);
    let (one_queue, fair) = (case.run("within = \"none\"\n"), case.run(""));
    let told = format!("{one_queue:?}, {fair:?}");
    let [(up, lost_up, _), (down, lost_down, _)] = fair;
    assert!(one_queue[0].0 > 500.0 && one_queue[0].1 > 0, "{told}");
    assert!(up < 15.0 * case.frame(Direction::Up) && down < case.frame(Direction::Down) + 5.0, "{told}");
    assert_eq!((lost_up, lost_down), (0, 0), "{told}");
}

/// A host with twenty downloads and one with a single download and the call have half of the
/// household's rate each, if that download always has frames waiting; what it leaves after a loss
/// goes to the others. The call waits for no more than a frame and 5 ms, and all of the rate is used.
/// Fair to conversations alone, the second host has one part of 21.
#[test]
fn each_host_of_a_household_has_its_share() {
    let rates = [10.0, 50.0];
    let case = Case { link: PROVIDER, rest: "", circuit: "a,10.0.0.0/24,,,,10mbit,50mbit", rates };
    let run = |within: &str, least: f64| {
        let mut transfers = vec![Transfer::new(Direction::Down, 1); 21];
        transfers[0] = Transfer { least, window: least.max(10.0), ..Transfer::new(Direction::Down, 2) };
        let household = case.household(within, transfers, 2);
        let rates = [1, 2].map(|host| household.rate(|transfer| transfer.host == host));
        (rates, household.call(Direction::Down))
    };
    let ([_, one_of_all], (_, _, all_before)) = run("", 2.0);
    for (least, share) in [(64.0, 0.49..0.51), (2.0, 0.44..0.5)] {
        let ([many, one], (delay, lost, all)) = run("within = \"host, 5-tuple\"\n", least);
        let told = format!("{many} and {one} Mbit/s, before {one_of_all}; the call {delay} ms, {lost} lost");
        assert!(share.contains(&(one / all)) && (many + one) / all > 0.9999, "{told}");
        assert!(one_of_all < 0.1 * all_before && all > 0.99 * all_before, "{told}");
        assert!(delay <= case.frame(Direction::Down) + 5.0 && lost == 0, "{told}");
    }
}
