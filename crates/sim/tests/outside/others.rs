//! A dropper, a detector, a meter, a transport and a congestion control from outside, each of which
//! does what a built-in one does.

use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::detector::{AnyDetector, Detector, DetectorKind};
use tidegate_core::dropper::{Dropper, Occupancy};
use tidegate_core::endpoint::tcp::congestion::{CongestionControl, Windows};
use tidegate_core::endpoint::{Endpoint, EndpointSetup, Transport, TransportKind};
use tidegate_core::meter::{Meter, ProfileIx, Reading};
use tidegate_core::packet::{Colour, FlowIx, Packet, PortIx};
use tidegate_core::params::{
    Carry, Fault, Limit, Marking, Member, NamedPolicy, NodeContext, Parameters, PolicyParams, PolicyRecord,
    ReceiverWindow, Role, Stamps, Value, parameters, words,
};
use tidegate_core::shaper::TokenBucket;
use tidegate_core::units::{Rate, Time};

/// Facts that the records here have in common.
const PLAIN: PolicyRecord = PolicyRecord {
    name: "",
    title: "",
    role: Role::Dropper,
    help: "",
    source: "a test",
    params: &[],
    reads: &[],
    stamps: Stamps::Unordered,
    divides: false,
    reads_queues: false,
    needs: None,
    carries: Carry::Nothing,
};

parameters! {
    /// Parameters of the tail.
    #[derive(Copy)]
    pub struct TailParams {
        /// Longest queue, the packet in service included
        limit: Limit,
        /// Longest queue that a red packet may join; without it, `limit`
        red: Option<Limit>,
        /// Marking of ECN-capable packets in place of drops
        ecn: TailEcn = TailEcn::Ignore,
    }
}

words! {
    /// Treatment of ECN-capable packets.
    pub enum TailEcn {
        /// They are dropped like others.
        Ignore = "ignore",
        /// They are marked.
        Mark = "mark",
    }
}

impl PolicyParams for TailParams {
    type Policy = Tail;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "tail",
        title: "Tail",
        help: "Drops the arriving packet when the queue would exceed its limit.",
        params: TailParams::PARAMS,
        ..PLAIN
    };

    fn make(&self) -> Result<Tail, Refused> {
        Ok(Tail { limit: self.limit, red: self.red.unwrap_or(self.limit), ecn: self.ecn })
    }

    fn example() -> TailParams {
        TailParams { limit: Limit::Packets(30), red: Some(Limit::Packets(20)), ecn: TailEcn::Mark }
    }

    fn check(&self) -> Result<(), Fault> {
        match (self.limit, self.red) {
            (Limit::Packets(limit), Some(Limit::Packets(red))) if red > limit => {
                Err(Fault::at("red", "`red` is above `limit`"))
            }
            _ => Ok(()),
        }
    }

    fn marking(&self) -> Marking {
        match self.ecn {
            TailEcn::Ignore => Marking::Never,
            TailEcn::Mark => Marking::EcnCapable { by: Some("ecn") },
        }
    }

    fn reads_colours(&self) -> bool {
        self.red.is_some()
    }
}

/// The tail of one queue.
pub struct Tail {
    limit: Limit,
    red: Limit,
    ecn: TailEcn,
}

impl Dropper for Tail {
    fn arrive(&mut self, _: &mut Ctx<'_>, packet: &Packet, at: &Occupancy) -> Verdict {
        let limit = if packet.mark.colour() == Colour::Red { self.red } else { self.limit };
        if limit.admits(at.queue.packets + 1, at.queue.bytes + u64::from(packet.len)) {
            return Verdict::Accept;
        }
        match self.ecn {
            TailEcn::Ignore => Verdict::Drop(Reason::QueueLimit),
            TailEcn::Mark => Verdict::Congested(Reason::QueueLimit),
        }
    }
}

parameters! {
    /// Parameters of the bucket meter.
    #[derive(Copy)]
    pub struct BucketParams {
        /// Greatest reservation of a profile; without it, any
        most: Option<Rate>,
    }
}

impl PolicyParams for BucketParams {
    type Policy = Buckets;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "bucket",
        title: "Bucket",
        role: Role::Meter { colours: false },
        help: "Drops packets that exceed `reserve` by more than `workahead`.",
        params: BucketParams::PARAMS,
        reads: &["reserve", "interval", "workahead"],
        needs: Some("reserve"),
        ..PLAIN
    };

    fn make(&self) -> Result<Buckets, Refused> {
        Ok(Buckets::default())
    }

    fn example() -> BucketParams {
        BucketParams { most: None }
    }

    fn check_at(&self, node: &NodeContext<'_>) -> Result<(), Fault> {
        let Some(most) = self.most.map(Rate::bits_per_second) else { return Ok(()) };
        let reserves = |member: &Member| member.contract.reserve.map(Rate::bits_per_second);
        match node.members.iter().position(|member| reserves(member).is_some_and(|rate| rate > most)) {
            Some(index) => Err(Fault::of(index, 0, "reserve", "it reserves more than `most`")),
            None => Ok(()),
        }
    }
}

/// The buckets of profiles; `None` for one that is not policed.
#[derive(Default)]
pub struct Buckets(Vec<Option<TokenBucket>>);

impl Meter for Buckets {
    fn set_profile(&mut self, profile: ProfileIx, terms: &Contract) {
        self.0.resize(self.0.len().max(profile.ix() + 1), None);
        let stated = terms.reserve.zip(terms.committed_burst());
        self.0[profile.ix()] = stated.map(|(rate, burst)| TokenBucket::new(rate, burst));
    }

    fn see(&mut self, cx: &mut Ctx<'_>, profile: ProfileIx, packet: &mut Packet) -> Reading {
        let Some(bucket) = &mut self.0[profile.ix()] else { return Verdict::Accept.into() };
        if bucket.conforms_at(packet.len) > cx.now {
            return Verdict::Drop(Reason::Meter).into();
        }
        bucket.take(cx.now, packet.len);
        Verdict::Accept.into()
    }
}

parameters! {
    /// The watch has no parameters.
    #[derive(Copy)]
    pub struct WatchParams {}
}

impl PolicyParams for WatchParams {
    type Policy = Watch;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "watch",
        title: "Watch",
        role: Role::Detector,
        help: "Names and polices flows by all of their drops.",
        params: WatchParams::PARAMS,
        ..PLAIN
    };

    fn make(&self) -> Result<Watch, Refused> {
        let word = |word: &str| Value::Text(word.into());
        let (drops, action) = (("drops", word("all")), ("action", word("police")));
        let values = [drops, action, ("persistence", Value::Number(0.1))];
        let history = DetectorKind::read("drop-history", &values).and_then(Result::ok);
        history.ok_or_else(|| Refused("there is no drop history".into()))?.build().map(Watch)
    }

    fn example() -> WatchParams {
        WatchParams {}
    }
}

/// The built-in drop history under another name.
pub struct Watch(AnyDetector);

impl Detector for Watch {
    fn set_flow(&mut self, flow: FlowIx, contract: &Contract) {
        self.0.set_flow(flow, contract);
    }

    fn forget(&mut self, flow: FlowIx) {
        self.0.forget(flow);
    }

    fn dropped(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) {
        self.0.dropped(cx, port, packet);
    }

    fn sees_arrivals(&self) -> bool {
        self.0.sees_arrivals()
    }

    fn arrive(&mut self, cx: &mut Ctx<'_>, port: PortIx, packet: &Packet) -> Verdict {
        self.0.arrive(cx, port, packet)
    }
}

parameters! {
    /// Parameters of the fixed window.
    #[derive(Copy)]
    pub struct StillParams {
        /// Packets that may be unacknowledged
        packets: u32 as Integer(1, 1_000) = 10,
    }
}

impl PolicyParams for StillParams {
    type Policy = Still;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "still-window",
        title: "Still window",
        role: Role::Transport { responsive: true },
        help: "Keeps a fixed number of packets unacknowledged.",
        params: StillParams::PARAMS,
        ..PLAIN
    };

    fn make(&self) -> Result<Still, Refused> {
        let values = [("window", Value::Integer(i64::from(self.packets)))];
        let window = TransportKind::read("window", &values).and_then(Result::ok);
        window.ok_or_else(|| Refused("there is no window".into()))?.build().map(Still)
    }

    fn example() -> StillParams {
        StillParams { packets: 5 }
    }

    fn receiver_window(&self, size: u32) -> Option<ReceiverWindow> {
        let packets = u64::from(self.packets) * u64::from(size);
        Some(ReceiverWindow { key: "packets", data: packets, packets })
    }
}

/// The built-in window under another name.
#[derive(Debug)]
pub struct Still(Box<dyn Transport + Send + Sync>);

impl Transport for Still {
    fn sender(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint> {
        self.0.sender(setup, size)
    }

    fn receiver(&self, setup: EndpointSetup, size: u32) -> Box<dyn Endpoint> {
        self.0.receiver(setup, size)
    }

    fn largest_answer(&self) -> u32 {
        self.0.largest_answer()
    }
}

parameters! {
    /// Parameters of a control that leaves a part of the window.
    pub struct LeavesParams {
        /// Part of the window that a loss leaves
        left: f64 = 0.5,
    }
}

impl PolicyParams for LeavesParams {
    type Policy = Leaves;

    const RECORD: PolicyRecord = PolicyRecord {
        name: "leaves",
        title: "Leaves a part",
        role: Role::CongestionControl,
        help: "Grows as Reno does, and leaves a part of the window after a loss.",
        params: LeavesParams::PARAMS,
        ..PLAIN
    };

    fn make(&self) -> Result<Leaves, Refused> {
        Ok(Leaves(self.left))
    }

    fn example() -> LeavesParams {
        LeavesParams { left: 0.6 }
    }
}

/// Reno with another reduction.
#[derive(Clone, Debug)]
pub struct Leaves(f64);

impl CongestionControl for Leaves {
    fn decrease(&mut self, _: Time, _: &Windows, flight: u64) -> u64 {
        (self.0 * flight as f64) as u64
    }

    fn copy(&self) -> Box<dyn CongestionControl> {
        Box::new(self.clone())
    }
}
