//! RACK-TLP over paths that lose and reorder at random: the promises of RFC 8985, seen from
//! outside.

use crate::common::{pick, rounds};
use crate::wire::{DATA, RACK, SIZE, params, setup};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::endpoint::tcp::{LossRecovery, Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload, Transport};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// Fate of a segment: it is lost (`None`), or delayed by this time.
type Fate = Option<Span>;

/// A transmission: time, segment, and true for the first one.
#[derive(Clone, Copy, Debug)]
struct Left {
    at: Time,
    number: u64,
    is_first: bool,
}

/// A sender and a receiver with a delay between them; the fate of a segment depends on its number
/// and on the number of earlier transmissions.
struct Channel {
    sender: Sender,
    receiver: Box<dyn Endpoint>,
    delay: Span,
    fate: Box<dyn FnMut(u64, usize) -> Fate>,
    next: [Time; 2],
    flying: BTreeMap<(Time, u64), (usize, Segment)>,
    order: u64,
    now: Time,
    times: BTreeMap<u64, usize>,
    left: Vec<Left>,
    /// Acknowledgements that came to the sender, with their times.
    came: Vec<(Time, Segment)>,
}

impl Channel {
    fn new(
        params: &TcpParams,
        segments: u64,
        delay: Span,
        fate: impl FnMut(u64, usize) -> Fate + 'static,
    ) -> Channel {
        let made = params.make().unwrap();
        let mut sender = Sender::new(&made, Time::NEVER, SIZE);
        sender.offer(segments * DATA);
        Channel {
            sender,
            receiver: made.receiver(setup(), SIZE),
            delay,
            fate: Box::new(fate),
            next: [Time::ORIGIN, Time::NEVER],
            flying: BTreeMap::new(),
            order: 0,
            now: Time::ORIGIN,
            times: BTreeMap::new(),
            left: Vec::new(),
            came: Vec::new(),
        }
    }

    /// Runs until nothing more happens.
    fn run(&mut self) {
        for _ in 0..1_000_000 {
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let woken = usize::from(self.next[1] < self.next[0]);
            let at = arrival.min(self.next[woken]);
            if at == Time::NEVER {
                return;
            }
            self.now = self.now.max(at);
            let came = (arrival <= self.next[woken]).then(|| self.flying.pop_first().unwrap().1);
            self.call(came.map_or(woken, |(end, _)| end), came.map(|(_, segment)| segment));
        }
        panic!("no end");
    }

    fn call(&mut self, end: usize, came: Option<Segment>) {
        let mut out = Vec::new();
        let mut cx = HostCx { now: self.now, out: &mut out };
        let one: &mut dyn Endpoint = if end == 0 { &mut self.sender } else { self.receiver.as_mut() };
        self.next[end] = match came {
            None => one.wake(&mut cx),
            Some(segment) => one.receive(&mut cx, &Packet::new(BodyId(0), 1), &Payload::Tcp(segment)),
        };
        self.came.extend(came.filter(|_| end == 0).map(|segment| (self.now, segment)));
        for action in out {
            let Action::Send { payload: Payload::Tcp(segment), .. } = action else { panic!("{action:?}") };
            let mut late = Some(Span::ZERO);
            if end == 0 {
                let number = segment.sequence / DATA;
                let times = self.times.entry(number).or_insert(0);
                late = (self.fate)(number, *times);
                self.left.push(Left { at: self.now, number, is_first: *times == 0 });
                *times += 1;
            }
            if let Some(late) = late {
                self.order += 1;
                self.flying.insert((self.now + self.delay + late, self.order), (1 - end, segment));
            }
        }
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.sender.gauges(&mut |gauge, value| found = if gauge == name { value } else { found });
        found
    }

    fn delivered(&self) -> u64 {
        let mut delivered = 0.0;
        self.receiver.gauges(&mut |_, value| delivered = value);
        delivered as u64 / DATA
    }

    fn again(&self) -> impl Iterator<Item = Left> {
        self.left.iter().copied().filter(|left| !left.is_first)
    }

    /// Time of the first acknowledgement that shows that segments overtake each other: one for a
    /// segment that was sent once and is below others that had arrived, or one that reports a
    /// second arrival.
    fn learnt(&self) -> Option<Time> {
        let (mut known, mut highest, mut una) = (BTreeSet::new(), 0, 0);
        let again: Vec<Left> = self.again().collect();
        for (at, segment) in &self.came {
            let acked = una..segment.acknowledgement.max(una) / DATA;
            let blocks = segment.blocks().flat_map(|block| block.start / DATA..block.end / DATA);
            let fresh: BTreeSet<u64> = acked.chain(blocks).filter(|number| known.insert(*number)).collect();
            una = una.max(segment.acknowledgement / DATA);
            let was_again = |number| again.iter().any(|left| left.number == number && left.at <= *at);
            let [first, second, ..] = segment.sack;
            let is_twice = first.start < first.end
                && (first.end <= segment.acknowledgement
                    || second.start <= first.start && first.end <= second.end);
            if is_twice || fresh.iter().any(|number| *number < highest && !was_again(*number)) {
                return Some(*at);
            }
            highest = highest.max(fresh.last().copied().unwrap_or(0));
        }
        None
    }
}

fn drawn(rng: &mut Rng, window: u32) -> TcpParams {
    let control = pick(rng, &["reno", "cubic"]);
    TcpParams {
        initial_window: pick(rng, &[2, 4, 10]),
        receiver_window: window * DATA as u32,
        ..params((control, LossRecovery::Rack))
    }
}

/// Everything arrives, whatever is lost or late, retransmissions included.
#[test]
fn every_segment_arrives() {
    let (mut again, mut timeouts) = (0, 0.0);
    for seed in 0..rounds(200) {
        let rng = &mut Rng::named(seed, "channel");
        let window = pick(rng, &[4, 20, 100]);
        let params = drawn(rng, window);
        let delay = Span::from_millis(pick(rng, &[1, 10, 50]));
        let (loss, late) = (pick(rng, &[0.0, 0.01, 0.1, 0.3]), pick(rng, &[0.0, 0.02, 0.3]));
        let lateness = 1 + rng.below(2 * delay.ticks());
        let mut faults = Rng::named(seed, "faults");
        let mut channel = Channel::new(&params, 500, delay, move |_, _| {
            let wait = if faults.chance(late) { faults.below(lateness) } else { 0 };
            (!faults.chance(loss)).then_some(Span::from_ticks(wait))
        });
        channel.run();
        assert_eq!(channel.delivered(), 500, "{seed}");
        assert_eq!((channel.gauge("flight"), channel.next), (0.0, [Time::NEVER; 2]), "{seed}");
        again += channel.again().count();
        timeouts += channel.gauge("timeouts");
    }
    assert!(again > 5000 && timeouts > 100.0, "{again} {timeouts}");
}

/// A quarter of the least round trip is allowed (section 6.2, step 4): once the sender knows that
/// segments overtake each other, none that it sends from then on is sent again, and the timer never
/// expires.
#[test]
fn reordering_within_the_window_causes_no_retransmission_once_it_is_known() {
    let (mut learnt_by, mut needless, mut later) = (0, 0, 0);
    for seed in 0..rounds(200) {
        let rng = &mut Rng::named(seed, "channel");
        let window = pick(rng, &[8, 40, 200]);
        let params = drawn(rng, window);
        let delay = Span::from_millis(1 + rng.below(80));
        // min_RTT is twice the delay.
        let lateness = delay.ticks() / 2;
        let share = pick(rng, &[0.01, 0.05, 0.5]);
        let mut faults = Rng::named(seed, "faults");
        let mut channel = Channel::new(&params, 3000, delay, move |_, _| {
            Some(Span::from_ticks(if faults.chance(share) { faults.below(lateness) } else { 0 }))
        });
        channel.run();
        assert_eq!((channel.delivered(), channel.gauge("timeouts")), (3000, 0.0), "{seed}");
        needless += channel.again().count();
        let Some(learnt) = channel.learnt() else { continue };
        learnt_by += 1;
        let sent_later: BTreeSet<u64> = channel
            .left
            .iter()
            .filter(|left| left.is_first && left.at > learnt)
            .map(|left| left.number)
            .collect();
        later += sent_later.len();
        let again: Vec<Left> = channel.again().filter(|left| sent_later.contains(&left.number)).collect();
        assert!(again.is_empty(), "{seed}: {learnt:?}, {again:?}");
    }
    assert!(learnt_by > 190 && needless > 100 && later > 100_000, "{learnt_by} {needless} {later}");
}

/// The last of a flight's segments are lost, so that nothing shows the loss: PTO is 2 SRTT from the
/// last acknowledgement (section 7.2), and the timeout is three round trips, SRTT + 4 RTTVAR of one
/// measurement (RFC 6298).
#[test]
fn a_probe_repairs_a_lost_tail() {
    for seed in 0..rounds(200) {
        let rng = &mut Rng::named(seed, "tail");
        let flight = 2 + rng.below(30);
        let lost = 1 + rng.below(flight - 1);
        let delay = Span::from_millis(35 + rng.below(100));
        let window = TcpParams { initial_window: flight as u32, ..params(RACK) };
        let mut channel = Channel::new(&window, flight, delay, move |number, times| {
            (number < flight - lost || times > 0).then_some(Span::ZERO)
        });
        channel.run();
        assert_eq!((channel.delivered(), channel.gauge("timeouts")), (flight, 0.0), "{seed}");
        let again: Vec<Left> = channel.again().collect();
        let after = |round_trips: u64| Time::ORIGIN + Span::from_ticks(2 * delay.ticks() * round_trips);
        assert_eq!((again[0].number, again[0].at), (flight - 1, after(3)), "{seed}");
        // Its SACK shows that the others are lost, and the window of half the flight, as it was
        // then, lets them leave.
        assert_eq!(again.len() as u64, lost, "{seed}");
        assert!(
            again[1..].iter().all(|left| left.at >= after(4) && left.at <= after(6)),
            "{seed}: {again:?}"
        );
        // The window is at least two segments.
        assert!(channel.gauge("ssthresh") >= 2.0);
    }
}

/// A segment is lost several times in a row, with others behind it: later segments that have
/// arrived show each loss about a round trip after it, and the timer never does.
#[test]
fn a_segment_that_is_lost_again_and_again_needs_no_timeout() {
    for seed in 0..rounds(200) {
        let rng = &mut Rng::named(seed, "again");
        let (first, losses) = (20 + rng.below(100), 2 + rng.below(3));
        let delay = Span::from_millis(5 + rng.below(75));
        let params = TcpParams { initial_window: 40, receiver_window: 1_000_000, ..drawn(rng, 100) };
        let mut channel = Channel::new(&params, 1000, delay, move |number, times| {
            (number != first || times as u64 >= losses).then_some(Span::ZERO)
        });
        channel.run();
        assert_eq!((channel.delivered(), channel.gauge("timeouts")), (1000, 0.0), "{seed}");
        let all: Vec<Left> = channel.left.iter().copied().filter(|left| left.number == first).collect();
        assert_eq!(all.len() as u64, losses + 1, "{seed}");
        assert_eq!(channel.again().count() as u64, losses, "{seed}");
        let round_trip = Span::from_ticks(2 * delay.ticks());
        for pair in all.windows(2) {
            let took = pair[1].at.since(pair[0].at);
            assert!(took >= round_trip && took <= round_trip + round_trip, "{seed}: {took:?} {round_trip:?}");
        }
    }
}
