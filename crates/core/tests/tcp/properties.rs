//! Properties under any loss, reordering, duplication, delay and marking: every byte arrives in
//! order exactly once, no connection stands still, windows are kept, and the receiver's reports are
//! true.

use crate::common::{pick, rounds};
use crate::wire::{RENO_1990, congestion, params, setup};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::endpoint::tcp::{Ecn, LossRecovery, Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload, Transport};
use tidegate_core::packet::{BodyId, Mark, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};

/// Bytes of data in a segment, few so that they can be kept one by one, and of a packet.
const DATA: u64 = 8;
const SIZE: u32 = 48;

/// Every congestion control with every loss recovery.
const CONGESTION: [&str; 2] = ["reno", "cubic"];
pub const RECOVERY: [LossRecovery; 4] =
    [LossRecovery::Sack, LossRecovery::Rack, LossRecovery::NewReno, LossRecovery::Reno1990];

/// Treatment of packets by a network, in either direction.
#[derive(Clone, Copy, Debug)]
struct Faults {
    loss: f64,
    duplication: f64,
    /// Share of packets that are late, by up to 200 ms.
    late: f64,
    marking: f64,
}

/// Segments sent by the two ends, in order: time after the start, sender and segment.
type Sent = Vec<(Span, usize, Segment)>;

struct Chaos {
    params: TcpParams,
    sender: Sender,
    receiver: Box<dyn Endpoint>,
    faults: Faults,
    rng: Rng,
    next: [Time; 2],
    flying: BTreeMap<(Time, u64), (usize, Segment, Mark)>,
    order: u64,
    begins: Time,
    now: Time,
    sent: Sent,
    /// Bytes that have come to the receiver.
    arrived: BTreeSet<u64>,
    /// The highest acknowledgement that has come to the sender, and the end of the data sent.
    una: u64,
    max: u64,
    sacked: BTreeSet<u64>,
    again: u64,
    marks: u64,
    reported: u64,
    twice: u64,
}

impl Chaos {
    fn new(params: TcpParams, bytes: u64, faults: Faults, seed: u64, begins: Time) -> Chaos {
        let made = params.make().unwrap();
        let mut sender = Sender::new(&made, Time::NEVER, SIZE);
        sender.offer(bytes);
        Chaos {
            params,
            sender,
            receiver: made.receiver(setup(), SIZE),
            faults,
            rng: Rng::named(seed, "network"),
            next: [begins, Time::NEVER],
            flying: BTreeMap::new(),
            order: 0,
            begins,
            now: begins,
            sent: Sent::new(),
            arrived: BTreeSet::new(),
            una: 0,
            max: 0,
            sacked: BTreeSet::new(),
            again: 0,
            marks: 0,
            reported: 0,
            twice: 0,
        }
    }

    /// Runs until no event is left.
    fn run(&mut self) {
        for _ in 0..1_000_000 {
            let arrival = self.flying.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at);
            let woken = usize::from(self.next[1] < self.next[0]);
            let at = arrival.min(self.next[woken]);
            if at == Time::NEVER {
                return;
            }
            self.now = self.now.max(at);
            if arrival > self.next[woken] {
                self.call(woken, None, |one, cx| one.wake(cx));
                continue;
            }
            let ((_, _), (end, segment, mark)) = self.flying.pop_first().unwrap();
            let mut packet = Packet::new(BodyId(0), 1);
            packet.mark = mark;
            let is_new = match end {
                0 => {
                    self.una = self.una.max(segment.acknowledgement);
                    false
                }
                _ => {
                    let before = self.arrived.len();
                    self.arrived.extend(segment.sequence..segment.end());
                    self.arrived.len() > before
                }
            };
            if end == 0 && segment.acknowledgement >= self.una {
                self.sacked.extend(segment.blocks().flat_map(|block| block.start..block.end));
            }
            self.call(end, Some((&segment, is_new)), |one, cx| {
                one.receive(cx, &packet, &Payload::Tcp(segment))
            });
        }
        panic!("no end: {:?} {:?}", self.params, self.faults);
    }

    fn call(
        &mut self,
        end: usize,
        came: Option<(&Segment, bool)>,
        call: impl FnOnce(&mut dyn Endpoint, &mut HostCx<'_>) -> Time,
    ) {
        let mut out = Vec::new();
        let mut cx = HostCx { now: self.now, out: &mut out };
        let one: &mut dyn Endpoint = if end == 0 { &mut self.sender } else { self.receiver.as_mut() };
        self.next[end] = call(one, &mut cx);
        for action in out {
            let Action::Send { payload: Payload::Tcp(segment), mark, len, .. } = action else {
                panic!("{action:?}")
            };
            assert_eq!(len, self.params.header + segment.length);
            match end {
                0 => self.check_data(&segment, mark),
                _ => self.check_report(&segment, mark, came),
            }
            self.sent.push((self.now.since(self.begins), end, segment));
            self.pass(1 - end, segment, mark);
        }
    }

    /// A segment is within the receiver's window, and new data within the congestion window: the
    /// data that the sender knows to be in the network are no more. Limited transmit is two
    /// segments beyond it, and fast recovery of RFC 5681 counts a segment for each duplicate.
    fn check_data(&mut self, segment: &Segment, mark: Mark) {
        assert!(segment.length > 0 && u64::from(segment.length) <= DATA);
        assert!(segment.end() <= self.una + u64::from(self.params.receiver_window));
        assert!(segment.sequence <= self.max && segment.sequence >= self.una);
        let is_new = segment.sequence == self.max;
        assert!(is_new || segment.end() <= self.max);
        assert_eq!(mark.is_ecn_capable(), is_new && self.params.ecn == Ecn::On);
        if !is_new {
            self.again += 1;
            return;
        }
        self.max = segment.end();
        let mut cwnd = 0.0;
        self.sender.gauges(&mut |name, value| cwnd = if name == "cwnd" { value * DATA as f64 } else { cwnd });
        let known = self.sacked.range(self.una..).count() as u64;
        let lost = self.lost_below();
        let lost = (self.una..lost).filter(|byte| !self.sacked.contains(byte)).count() as u64;
        let in_network = self.max - self.una - known - lost;
        let beyond = if known > 0 { 0 } else { 2 * DATA };
        assert!(in_network <= cwnd as u64 + beyond, "{in_network} of {cwnd}, {:?}", self.params);
    }

    /// Number before which all bytes that were not SACKed count as lost: more than two segments
    /// behind it were SACKed.
    fn lost_below(&self) -> u64 {
        let third = self.sacked.range(self.una..).rev().nth(2 * DATA as usize);
        third.copied().unwrap_or(self.una)
    }

    /// An acknowledgement is of the first byte that is missing, and its blocks are of bytes that
    /// have come, the last one first (RFC 2018, section 4).
    fn check_report(&mut self, segment: &Segment, mark: Mark, came: Option<(&Segment, bool)>) {
        assert!(!mark.is_ecn_capable());
        let missing = (0..).find(|byte| !self.arrived.contains(byte)).unwrap();
        assert_eq!(segment.acknowledgement, missing);
        let mut blocks: Vec<_> = segment.blocks().collect();
        // A segment that has come a second time is the first block, once (RFC 2883, section 4).
        let uses_dsack = self.params.recovery == LossRecovery::Rack;
        if let Some((came, _)) = came.filter(|(_, is_new)| uses_dsack && !is_new) {
            let twice = blocks.remove(0);
            assert_eq!((twice.start, twice.end), (came.sequence, came.end()));
            self.twice += 1;
        }
        for block in &blocks {
            assert!(
                block.start > missing && (block.start..block.end).all(|byte| self.arrived.contains(&byte))
            );
            assert!(!self.arrived.contains(&(block.start - 1)) && !self.arrived.contains(&block.end));
        }
        let all: BTreeSet<u64> = blocks.iter().flat_map(|block| block.start..block.end).collect();
        assert_eq!(all.len() as u64, blocks.iter().map(|block| block.end - block.start).sum::<u64>());
        let uses_sack = matches!(self.params.recovery, LossRecovery::Sack | LossRecovery::Rack);
        if let Some((came, _)) = came.filter(|(came, _)| uses_sack && came.sequence > missing) {
            assert!((blocks[0].start..blocks[0].end).contains(&came.sequence));
            self.reported += 1;
        }
        assert!(uses_sack || blocks.is_empty());
    }

    /// The network has a packet.
    fn pass(&mut self, to: usize, segment: Segment, mark: Mark) {
        let copies = if self.rng.chance(self.faults.duplication) { 2 } else { 1 };
        for _ in 0..copies {
            let is_late = self.rng.chance(self.faults.late);
            let late = Span::from_micros(if is_late { self.rng.below(200_000) } else { 0 });
            let is_marked = mark.is_ecn_capable() && self.rng.chance(self.faults.marking);
            if !self.rng.chance(self.faults.loss) {
                self.order += 1;
                let at = self.now + Span::from_millis(20) + late;
                let mark = if is_marked { mark.congested() } else { mark };
                self.marks += u64::from(is_marked);
                self.flying.insert((at, self.order), (to, segment, mark));
            }
        }
    }
}

/// Parameters, bytes to transfer and faults at random.
fn case(rng: &mut Rng) -> (TcpParams, u64, Faults) {
    let granularity = Span::from_millis(pick(rng, &[1, 10, 100]));
    let params = TcpParams {
        congestion: congestion(pick(rng, &CONGESTION)),
        recovery: pick(rng, &RECOVERY),
        ecn: pick(rng, &[Ecn::On, Ecn::Off]),
        granularity,
        minimum_rto: Span::from_millis(pick(rng, &[100, 200, 1000])),
        maximum_rto: Span::from_secs(4),
        delayed_acks: pick(rng, &[Span::ZERO, Span::from_millis(100)]),
        initial_window: pick(rng, &[1, 2, 10]),
        receiver_window: pick(rng, &[1, 2, 5, 20, 60]) * DATA as u32,
        ..params(RENO_1990)
    };
    let faults = Faults {
        loss: pick(rng, &[0.0, 0.01, 0.1, 0.3]),
        duplication: pick(rng, &[0.0, 0.1]),
        late: pick(rng, &[0.0, 0.02, 0.5]),
        marking: pick(rng, &[0.0, 0.05, 1.0]),
    };
    (params, 1 + rng.below(60 * DATA), faults)
}

#[test]
fn every_byte_arrives_in_order_exactly_once() {
    let (mut again, mut marks, mut reported, mut twice) = (0, 0, 0, 0);
    for seed in 0..rounds(600) {
        let (params, bytes, faults) = case(&mut Rng::named(seed, "case"));
        let mut chaos = Chaos::new(params.clone(), bytes, faults, seed, Time::ORIGIN);
        chaos.run();
        assert_eq!(chaos.una, bytes, "{params:?} {faults:?}");
        assert_eq!(chaos.arrived.len() as u64, bytes);
        let mut delivered = 0.0;
        chaos.receiver.gauges(&mut |_, value| delivered = value);
        assert_eq!(delivered as u64, bytes);
        again += chaos.again;
        marks += chaos.marks;
        reported += chaos.reported;
        twice += chaos.twice;
    }
    assert!(
        again > 2000 && marks > 500 && reported > 1000 && twice > 300,
        "{again} {marks} {reported} {twice}"
    );
}

/// The beginning of time changes nothing, whatever the tick of the clock.
#[test]
fn a_later_start_changes_nothing() {
    for seed in 0..rounds(60) {
        let (params, bytes, faults) = case(&mut Rng::named(seed, "shifted"));
        let sent = |begins| {
            let mut chaos = Chaos::new(params.clone(), bytes, faults, seed, begins);
            chaos.run();
            chaos.sent
        };
        assert_eq!(sent(Time::ORIGIN), sent(Time::ORIGIN + Span::from_ticks(123_456_789_012_345)));
    }
}
