//! One port's schedulers and the shared pool as slowly and as plainly as they can be written:
//! a list of packets, each with its stamp, searched from end to end.

use tidegate_core::contract::Contract;
use tidegate_core::params::Limit;
use tidegate_core::scheduler::Participation;
use tidegate_core::units::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Fifo,
    StrictPriority,
    VirtualClock,
}

impl Rule {
    pub const ALL: [Rule; 3] = [Rule::Fifo, Rule::StrictPriority, Rule::VirtualClock];

    pub fn name(self) -> &'static str {
        match self {
            Rule::Fifo => "fifo",
            Rule::StrictPriority => "strict-priority",
            Rule::VirtualClock => "virtual-clock",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Flow {
    pub contract: Contract,
    /// Its smallest and its largest packet, where they are known.
    pub sizes: Option<(u32, u32)>,
    pub participation: Participation,
    /// auxVC.
    pub aux_vc: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub body: u32,
    pub flow: usize,
    pub len: u32,
    /// Its place in the order of arrival.
    pub order: u64,
    /// Under VirtualClock ticks, else a place in the order of arrival.
    pub stamp: u64,
    /// True if it was a datagram and shares its stamp with the burst that it was part of.
    pub burst: bool,
}

/// One port.
#[derive(Debug)]
pub struct Oracle {
    pub rule: Rule,
    pub flows: Vec<Flow>,
    pub waiting: Vec<Waiting>,
    pub in_service: Option<Waiting>,
    /// The order of the latest arrival at this port.
    pub latest: u64,
}

impl Oracle {
    pub fn new(rule: Rule) -> Oracle {
        Oracle { rule, flows: Vec::new(), waiting: Vec::new(), in_service: None, latest: 0 }
    }

    pub fn open(&mut self, contract: Contract) {
        self.open_sized(contract, None);
    }

    pub fn open_sized(&mut self, contract: Contract, sizes: Option<(u32, u32)>) {
        let (participation, aux_vc) = (Participation::Active, Time::from_ticks(0));
        self.flows.push(Flow { contract, sizes, participation, aux_vc });
    }

    /// A change stamps later packets; a datagram flow that gains a reservation sends its waiting
    /// packets as one burst now.
    pub fn set(&mut self, now: Time, flow: usize, contract: Contract) {
        let gains = self.flows[flow].contract.reserve.is_none();
        self.flows[flow].contract = contract;
        if let Some(reserve) = contract.reserve
            && gains
            && self.rule == Rule::VirtualClock
        {
            let mut aux_vc = self.flows[flow].aux_vc;
            let datagrams = |waiting: &&mut Waiting| waiting.flow == flow && waiting.stamp == u64::MAX;
            for waiting in self.waiting.iter_mut().filter(datagrams) {
                aux_vc = aux_vc.max(now) + reserve.time_for(waiting.len);
            }
            for waiting in self.waiting.iter_mut().filter(datagrams) {
                (waiting.stamp, waiting.burst) = (aux_vc.ticks(), true);
            }
            self.flows[flow].aux_vc = aux_vc;
        }
    }

    pub fn arrive(&mut self, now: Time, flow: usize, body: u32, len: u32, order: u64) {
        let stamp = match (self.rule, self.flows[flow].contract.reserve) {
            (Rule::VirtualClock, None) => u64::MAX,
            (Rule::VirtualClock, Some(reserve)) => {
                let clock = &mut self.flows[flow].aux_vc;
                *clock = (*clock).max(now) + reserve.time_for(len);
                clock.ticks()
            }
            _ => order,
        };
        self.latest = order;
        self.waiting.push(Waiting { body, flow, len, order, stamp, burst: false });
    }

    /// The flow's waiting packets, first to last.
    fn of(&self, flow: usize) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().filter(move |waiting| waiting.flow == flow)
    }

    pub fn take_part(&mut self, now: Time, flow: usize, how: Participation) {
        let before = std::mem::replace(&mut self.flows[flow].participation, how);
        if before != Participation::Absent || how == Participation::Absent {
            return;
        }
        let Some(head) = self.of(flow).next().copied() else { return };
        if self.rule != Rule::VirtualClock {
            // Behind all packets here, in front of all to come.
            let end = self.latest + 1;
            self.waiting.iter_mut().filter(|other| other.flow == flow).for_each(|other| other.stamp = end);
        } else if let Some(reserve) = self.flows[flow].contract.reserve {
            // The first is not before a newcomer's first packet, and the others are as far behind
            // it as before.
            let first =
                self.of(flow).filter(|other| other.order == head.order || (head.burst && other.burst));
            let first = first.fold(now, |at, packet| at + reserve.time_for(packet.len));
            let late = first.since(Time::from_ticks(head.stamp));
            let others = self.waiting.iter_mut().filter(|other| other.flow == flow);
            others.for_each(|other| other.stamp += late.ticks());
            self.flows[flow].aux_vc += late;
        }
    }

    fn rank(&self, waiting: &Waiting) -> (u8, u64, u64) {
        let level =
            if self.rule == Rule::StrictPriority { self.flows[waiting.flow].contract.priority } else { 0 };
        (level, waiting.stamp, waiting.order)
    }

    /// The body that leaves next.
    pub fn start(&mut self) -> Option<u32> {
        let mut first: Option<usize> = None;
        for (ix, waiting) in self.waiting.iter().enumerate() {
            let heads_its_flow = self.waiting[..ix].iter().all(|other| other.flow != waiting.flow);
            if heads_its_flow
                && self.flows[waiting.flow].participation == Participation::Active
                && first.is_none_or(|first| self.rank(waiting) < self.rank(&self.waiting[first]))
            {
                first = Some(ix);
            }
        }
        self.in_service = Some(self.waiting.remove(first?));
        self.in_service.map(|waiting| waiting.body)
    }

    /// Packets here, the one in service included.
    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64 + u64::from(self.in_service.is_some())
    }

    pub fn bytes(&self) -> u64 {
        self.waiting.iter().chain(&self.in_service).map(|waiting| u64::from(waiting.len)).sum()
    }

    /// Takes the packet with the largest stamp of all; of equal ones the latest.
    pub fn push_out(&mut self) -> Waiting {
        self.push_out_among(|_| true)
    }

    /// Like [`Oracle::push_out`], among the packets of flows that meet a condition.
    fn push_out_among(&mut self, among: impl Fn(&Flow) -> bool) -> Waiting {
        let rank = |ix: &usize| self.rank(&self.waiting[*ix]);
        let among = |ix: &usize| among(&self.flows[self.waiting[*ix].flow]);
        let last = (0..self.waiting.len()).filter(among).max_by_key(rank).unwrap();
        self.waiting.remove(last)
    }

    /// Memory held, the packet in service included, in the unit of a limit.
    fn holds(&self, limit: Limit) -> u64 {
        match limit {
            Limit::Packets(_) => self.packets(),
            Limit::Bytes(_) => self.bytes(),
        }
    }

    /// Memory of packets that wait and may not be sent.
    fn blocked(&self, limit: Limit) -> u64 {
        let blocked = self
            .waiting
            .iter()
            .filter(|waiting| self.flows[waiting.flow].participation != Participation::Active);
        match limit {
            Limit::Packets(_) => blocked.count() as u64,
            Limit::Bytes(_) => blocked.map(|waiting| u64::from(waiting.len)).sum(),
        }
    }

    /// Reservations of flows without a bucket, or with packets of unknown sizes, in bytes a second.
    fn reserved(&self) -> u64 {
        let without = self.flows.iter().filter(|flow| flow.needs().is_none());
        let reserve = |flow: &Flow| flow.contract.reserve.map(|rate| rate.bytes_in_about(Span::from_secs(1)));
        without.filter_map(reserve).sum()
    }

    /// Need of the other flows with reservations.
    fn needed(&self, limit: Limit) -> u64 {
        let needs = self.flows.iter().filter_map(Flow::needs);
        match limit {
            Limit::Packets(_) => needs.map(|(packets, _)| packets).sum(),
            Limit::Bytes(_) => needs.map(|(_, bytes)| bytes).sum(),
        }
    }
}

impl Flow {
    /// Packets and bytes of a bucket full of its packets, however small, and of two that are as
    /// large as they come.
    fn needs(&self) -> Option<(u64, u64)> {
        let (reserve, (smallest, largest)) = (self.contract.reserve?, self.sizes?);
        let bucket = match (self.contract.workahead, self.contract.interval) {
            (Some(bytes), _) => u64::from(bytes),
            (None, interval) => reserve.bytes_in(interval?),
        };
        Some((bucket / u64::from(smallest) + 2, bucket + 2 * u64::from(largest)))
    }
}

/// The share of each port, as a numerator, and the common denominator. A port has the need of its
/// flows with buckets, or a part of it where the pool has less; half of the rest is divided in
/// proportion to the reservations of the others.
pub fn shares(ports: &[Oracle], limit: Limit) -> (Vec<i128>, i128) {
    let (Limit::Packets(pool) | Limit::Bytes(pool)) = limit;
    let pool = i128::from(pool);
    let needs: Vec<i128> = ports.iter().map(|port| port.needed(limit).into()).collect();
    let rates: Vec<i128> = ports.iter().map(|port| port.reserved().into()).collect();
    let (needed, reserved) = (needs.iter().sum::<i128>(), rates.iter().sum::<i128>());
    if needed > pool {
        return (needs.iter().map(|need| need * pool).collect(), needed);
    }
    // With nothing reserved by rate, that half is in no port's share.
    let whole = 2 * reserved.max(1);
    let share = |(need, rate): (&i128, &i128)| need * whole + (pool - needed) * rate;
    (needs.iter().zip(&rates).map(share).collect(), whole)
}

/// The longest queue by packets that has one to give; of equally long ones the one with the
/// latest arrival.
pub fn push_out(ports: &mut [Oracle]) -> Waiting {
    let gives = ports.iter_mut().filter(|port| !port.waiting.is_empty());
    gives.max_by_key(|port| (port.packets(), port.latest)).unwrap().push_out()
}

/// Takes a packet from the port that holds most beyond its share: one that may not be sent, if
/// those are more than a third of the rest.
pub fn evict_one(ports: &mut [Oracle], limit: Limit) -> Waiting {
    let (shares, whole) = shares(ports, limit);
    let beyond = |port: &Oracle, share: i128| i128::from(port.holds(limit)) * whole - share;
    let gives = ports.iter_mut().zip(shares).filter(|(port, _)| !port.waiting.is_empty());
    let (port, _) = gives.max_by_key(|(port, share)| (beyond(port, *share), port.latest)).unwrap();
    match 4 * port.blocked(limit) > port.holds(limit) {
        true => port.push_out_among(|flow| flow.participation != Participation::Active),
        false => port.push_out(),
    }
}
