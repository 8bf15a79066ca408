//! Non-responsive flows, found from the history of drops (Clark and Fang 1998, section IV.E; on all
//! drops, Floyd and Fall 1999).
//!
//! A source that responds to congestion halves its window after a loss, or nearly, and then takes
//! about W/2 round-trip times to come back to the window of W packets at which it lost. Round-trip
//! times in which it loses packets are therefore about 2/W of all; where W is below 4, a loss is
//! found by a timeout, and silence follows. However large its share of the drops is (alone at a
//! link it has all of them), it cannot lose packets in most round-trip times for seconds. A source
//! that does not respond can.
//!
//! Time is divided into windows, and windows into intervals. A window counts against a flow in
//! which it had at least `share` of the drops, and drops in at least `persistence` of the
//! intervals; a flow is named at its first drop after `windows` such windows in succession. An
//! interval is to be no longer than a round-trip time: in a longer one a source loses packets more
//! than once, and responds in between.
//!
//! A named flow is released when for `release_after` it has offered, outside its profile, no more
//! packets a window than `release` times those that it lost in the last window that counted against
//! it. A packet is outside its flow's profile when it is not green; where all drops are looked at,
//! colours may say nothing, and so is every packet of a flow that reserves nothing.
//!
//! Choices where the papers leave one:
//! - Windows begin at the first drop, and follow one another for as long as there are drops.
//! - Drops are those of the node's dropper: not those of meters, of the pool or of other nodes, and
//!   no marks.
//! - Policed packets are not among the drops from which other flows' shares are computed.
//! - A release is detected at an arrival of any flow at the node.

use super::Detector;
use crate::context::{Ctx, Effect, Finding, Reason, Verdict};
use crate::contract::{Contract, Refused};
use crate::packet::{Colour, FlowIx, Packet, PortIx};
use crate::params::{Carry, Fault, Parameters, PolicyParams, PolicyRecord, Role, Stamps, parameters, words};
use crate::units::{Span, Time};
use alloc::format;
use alloc::vec::Vec;

words! {
    /// Drops that are looked at.
    pub enum Drops {
        /// Drops of packets out of profile, which are red or yellow.
        Out = "out",
        /// All drops.
        All = "all",
    }
}

words! {
    /// Action on a named flow.
    pub enum Action {
        /// It is reported.
        Report = "report",
        /// It is reported, and its packets outside its profile are dropped on arrival.
        Police = "police",
    }
}

parameters! {
    /// Parameters of the drop history.
    #[derive(Copy)]
    pub struct DropHistoryParams {
        /// Drops that count: of packets out of profile (red and yellow), or all
        drops: Drops = Drops::Out,
        /// Least share of a window's drops that counts against a flow, above 0
        share: f64 = 0.2,
        /// Least share of a window's intervals with drops that counts against a flow, above 0
        persistence: f64 = 0.4,
        /// Length of an interval: no longer than the shortest round-trip time, with queueing, of
        /// sources that respond
        interval: Span = Span::from_millis(10),
        /// Length of a window
        window: Span = Span::from_millis(400),
        /// Consecutive windows after which a flow is named
        windows: u16 as Integer(1, 1_000) = 4,
        /// Action on a named flow: it is reported, or its packets outside its profile are dropped
        /// as well
        action: Action = Action::Report,
        /// Most packets outside its profile that a flow offers in a window to be released, over
        /// those that it lost in the last window that counted against it
        release: f64 = 0.5,
        /// Time for which it offers no more than that, at least a window
        release_after: Span = Span::from_secs(5),
    }
}

impl PolicyParams for DropHistoryParams {
    type Policy = DropHistory;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "drop-history",
        title: "Drop history",
        role: Role::Detector,
        help: "Reports flows that have a large share of the drops and keep losing packets in most intervals \
               of a round-trip time, unlike sources that respond to congestion; on request it drops their \
               packets outside their profiles.",
        source: "Clark and Fang 1998, section IV.E; Floyd and Fall 1999",
        params: DropHistoryParams::PARAMS,
        reads: &["reserve"],
        stamps: Stamps::Unordered,
        divides: false,
        reads_queues: false,
        needs: None,
        carries: Carry::Nothing,
    };

    fn make(&self) -> Result<DropHistory, Refused> {
        Ok(DropHistory::new(self))
    }

    fn example() -> DropHistoryParams {
        DropHistoryParams {
            drops: Drops::All,
            share: 0.3,
            persistence: 0.5,
            interval: Span::from_millis(20),
            window: Span::from_millis(500),
            windows: 2,
            action: Action::Police,
            release: 0.5,
            release_after: Span::from_secs(1),
        }
    }

    fn reads_colours(&self) -> bool {
        self.drops == Drops::Out
    }

    fn check(&self) -> Result<(), Fault> {
        for (key, span) in [("interval", self.interval), ("window", self.window)] {
            if span == Span::ZERO {
                return Err(Fault::at(key, format!("`{key}` is zero")));
            }
        }
        for (key, share) in [("share", self.share), ("persistence", self.persistence)] {
            if share <= 0.0 {
                return Err(Fault::at(key, format!("`{key}` is zero: it would count against every flow")));
            }
        }
        if self.interval > self.window {
            return Err(Fault::at("interval", "`interval` is longer than `window`"));
        }
        if self.release_after < self.window {
            return Err(Fault::at("release_after", "`release_after` is shorter than `window`"));
        }
        Ok(())
    }
}

/// State of a flow that has lost packets.
#[derive(Clone, Copy, Default)]
struct Record {
    /// The latest window in which the flow lost packets.
    window: u64,
    /// Packets that the flow lost in that window.
    lost: u64,
    /// Intervals of that window with drops.
    intervals: u64,
    /// The latest of these intervals.
    interval: u64,
    /// Windows in succession that count against it, up to the one before that window.
    against: u16,
    /// True if the flow reserves a rate.
    reserves: bool,
    named: Option<Named>,
}

/// A flow that has been named.
#[derive(Clone, Copy)]
struct Named {
    /// The most packets in a window that do not keep it named.
    most: f64,
    /// Start of the window in which `offered` packets came.
    since: Time,
    offered: u64,
    /// Latest time at which the flow had offered more than `most` in a window.
    busy: Time,
}

/// The history of drops at a node, and the flows named from it.
pub struct DropHistory {
    params: DropHistoryParams,
    /// Number of intervals with drops at which a window counts against a flow.
    persistent: f64,
    /// Number of the window, from 1; 0 before the first drop.
    window: u64,
    /// Start of the window.
    since: Time,
    /// Drops in the window.
    lost: u64,
    /// Drops in the window before.
    lost_before: u64,
    /// Records by flow, up to the last one that has lost packets.
    records: Vec<Record>,
    named: Vec<FlowIx>,
    /// The earliest time at which a named flow may be released.
    release_at: Time,
}

impl DropHistory {
    /// A detector with these parameters, which has seen no packet.
    fn new(params: &DropHistoryParams) -> DropHistory {
        let intervals = params.window.ticks() as f64 / params.interval.ticks() as f64;
        DropHistory {
            params: *params,
            persistent: params.persistence * intervals,
            window: 0,
            since: Time::from_ticks(0),
            lost: 0,
            lost_before: 0,
            records: Vec::new(),
            named: Vec::new(),
            release_at: Time::NEVER,
        }
    }

    fn record(&mut self, flow: FlowIx) -> &mut Record {
        if self.records.len() <= flow.ix() {
            self.records.resize(flow.ix() + 1, Record::default());
        }
        &mut self.records[flow.ix()]
    }

    /// Begins the windows that have begun by now.
    fn pass(&mut self, now: Time) {
        if self.window == 0 {
            (self.window, self.since) = (1, now);
            return;
        }
        let passed = now.since(self.since).ticks() / self.params.window.ticks();
        if passed > 0 {
            self.lost_before = if passed == 1 { self.lost } else { 0 };
            self.lost = 0;
            self.window += passed;
            self.since += Span::from_ticks(passed * self.params.window.ticks());
        }
    }

    fn judge(&mut self, now: Time, packet: &Packet) -> Verdict {
        let DropHistoryParams { window, drops, action, .. } = self.params;
        let Some(record) = self.records.get_mut(packet.flow.ix()) else { return Verdict::Accept };
        let Some(named) = &mut record.named else { return Verdict::Accept };
        if !is_out(packet) && (drops == Drops::Out || record.reserves) {
            return Verdict::Accept;
        }
        let passed = now.since(named.since).ticks() / window.ticks();
        if passed > 0 {
            named.since += Span::from_ticks(passed * window.ticks());
            named.offered = 0;
        }
        named.offered += 1;
        if named.offered as f64 > named.most {
            named.busy = now;
        }
        match action {
            Action::Report => Verdict::Accept,
            //= clark1998 IV.E
            Action::Police => Verdict::Drop(Reason::NonResponsive),
        }
    }

    /// Releases the flows that have backed off.
    fn release(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) {
        let (records, release_after) = (&mut self.records, self.params.release_after);
        self.release_at = Time::NEVER;
        let release_at = &mut self.release_at;
        self.named.retain(|flow| {
            let record = &mut records[flow.ix()];
            let until = record.named.map_or(cx.now, |named| named.busy + release_after);
            if until > cx.now {
                *release_at = until.min(*release_at);
                return true;
            }
            *record = Record { reserves: record.reserves, ..Record::default() };
            let finding = Finding::BackedOff;
            cx.out.push(Effect::Finding { port, flow: *flow, body: packet.body, finding });
            false
        });
    }
}

impl Detector for DropHistory {
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        let reserves = contract.reserve.is_some();
        if reserves || flow.ix() < self.records.len() {
            self.record(flow).reserves = reserves;
        }
    }

    fn forget(&mut self, flow: FlowIx) {
        if let Some(record) = self.records.get_mut(flow.ix()) {
            *record = Record::default();
            self.named.retain(|named| *named != flow);
        }
    }

    fn dropped(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) {
        if self.params.drops == Drops::Out && !is_out(packet) {
            return;
        }
        self.pass(cx.now);
        self.lost += 1;
        let interval = cx.now.since(self.since).ticks() / self.params.interval.ticks();
        let (window, last) = (self.window, (self.lost_before as f64, self.persistent));
        let DropHistoryParams { share, windows, release, release_after, .. } = self.params;
        let record = self.record(packet.flow);
        if record.window != window {
            let lost = record.lost as f64;
            let against =
                //= clark1998 IV.E
                record.window + 1 == window && lost >= share * last.0 && record.intervals as f64 >= last.1;
            record.against = if against { record.against.saturating_add(1) } else { 0 };
            (record.window, record.lost, record.intervals) = (window, 0, 0);
            if record.against >= windows && record.named.is_none() {
                record.named = Some(Named { most: release * lost, since: cx.now, offered: 0, busy: cx.now });
                self.named.push(packet.flow);
                self.release_at = self.release_at.min(cx.now + release_after);
                let (flow, body) = (packet.flow, packet.body);
                cx.out.push(Effect::Finding { port, flow, body, finding: Finding::NonResponsive });
            }
        }
        let record = self.record(packet.flow);
        record.lost += 1;
        if record.intervals == 0 || record.interval != interval {
            record.intervals += 1;
            record.interval = interval;
        }
    }

    /// True while a flow is named.
    #[inline]
    fn sees_arrivals(&self) -> bool {
        !self.named.is_empty()
    }

    fn arrive(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) -> Verdict {
        let verdict = self.judge(cx.now, packet);
        if cx.now >= self.release_at {
            self.release(cx, port, packet);
        }
        verdict
    }
}

/// Returns true if a packet is out of its profile.
fn is_out(packet: &Packet) -> bool {
    packet.mark.colour() != Colour::Green
}
