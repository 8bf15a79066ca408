//! The fair queues: every tag is looked for among all members whenever it is asked for.
//!
//! Virtual time is in units of 2⁻⁴⁰ tick, and rounded down at every step.

use super::super::Ticks;
use super::super::tree::{Member, Queued};
use tidegate_core::units::Rate;

/// Virtual time.
type Tag = u128;

const FRACTION: u32 = 40;

/// Kind of fair queue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Wfq,
    Wf2qPlus,
    SelfClocked,
    StartTime,
}

/// A packet in the fluid system: its service time there, and its weight.
struct Fluid {
    start: Tag,
    end: Tag,
    weight: u128,
}

struct Flow {
    rate: Rate,
    /// True while it has packets queued.
    waits: bool,
    /// True for a class, of which a token is queued.
    is_class: bool,
    /// True if it was not able to send at some time since it last did, with packets.
    was_held: bool,
    start: Tag,
    finish: Tag,
    /// WFQ: the finish tags of the queued packets, and the content of the fluid system.
    finishes: Vec<Tag>,
    fluid: Vec<Fluid>,
}

/// A fair queue.
pub struct Fair {
    which: Which,
    unreserved: Rate,
    server: Option<Rate>,
    /// True in front of the link, false in a class.
    at_port: bool,
    flows: Vec<Flow>,
    virtual_time: Tag,
    as_of: Ticks,
    /// WF²Q+: the remainder of the packet in service, in bytes times 2⁴⁰.
    undone: u128,
    /// The latest finish tag of a served packet, and the end of the busy period.
    latest: Tag,
    over: Ticks,
}

/// Weight that serves a byte in one unit of [`Tag`].
const SERVER: u128 = 800_000_000_000 << 16;

/// Whole ticks; nearly the next one counts as the next.
fn ticks(tag: Tag) -> u128 {
    (tag + (1 << (FRACTION - 6))) >> FRACTION
}

/// Service time of `len` bytes at this rate, from the time of 2²⁴ bytes, which is how a rate is
/// held.
fn span(rate: Rate, len: u32) -> Tag {
    (u128::from(len) * u128::from(rate.time_for(1 << 24).ticks())) << (FRACTION - 24)
}

/// The rate as it is held, in units of 2⁻¹⁶ bit/s.
fn weight(rate: Rate) -> u128 {
    let held = u128::from(rate.time_for(1 << 24).ticks());
    ((800_000_000_000u128 << 40) + held / 2) / held
}

/// `a × b / c`, rounded down: long division, digit by digit.
fn scaled(a: u128, b: u128, c: u128) -> u128 {
    let (mut quotient, mut rest) = (0, 0);
    for digit in (0..128 / 16).rev().map(|nth| (a >> (16 * nth)) & 0xffff) {
        let left = (rest << 16) + digit * b;
        (quotient, rest) = ((quotient << 16) + left / c, left % c);
    }
    quotient
}

impl Fair {
    pub fn new(which: Which, unreserved: Rate, server: Option<Rate>, at_port: bool) -> Fair {
        Fair {
            which,
            unreserved,
            server,
            at_port,
            flows: Vec::new(),
            virtual_time: 0,
            as_of: 0,
            undone: 0,
            latest: 0,
            over: 0,
        }
    }

    /// Advances time to `now`.
    fn pass(&mut self, now: Ticks) {
        let passed = now - std::mem::replace(&mut self.as_of, now);
        let Some(server) = self.server else { return };
        match self.which {
            Which::Wfq if self.at_port => self.serve_fluid(u128::from(passed) << FRACTION, weight(server)),
            Which::Wfq => {}
            Which::Wf2qPlus => {
                let all =
                    (u128::from(passed) << (FRACTION + 24)) / u128::from(server.time_for(1 << 24).ticks());
                let done = all.min(self.undone);
                self.work(done);
            }
            Which::SelfClocked | Which::StartTime => {}
        }
    }

    /// The fluid server serves every member with content in it, and classes with a token.
    fn serve_fluid(&mut self, mut left: Tag, rate: u128) {
        let may_have_more = |flow: &&Flow| flow.is_class && flow.waits;
        loop {
            let firsts = || self.flows.iter().filter_map(|flow| flow.fluid.first());
            let weights: u128 = firsts().map(|first| first.weight).sum();
            let ending = self.flows.iter().filter(|flow| !may_have_more(flow));
            let next = ending.filter_map(|flow| flow.fluid.first()).map(|first| first.end).min();
            let takes = next.map(|next| scaled(next - self.virtual_time, weights, rate));
            let Some((next, takes)) = next.zip(takes).filter(|(_, takes)| *takes <= left) else {
                if weights > 0 {
                    self.virtual_time += scaled(left, rate, weights);
                }
                return;
            };
            left -= takes;
            self.virtual_time = next;
            for flow in self.flows.iter_mut().filter(|flow| !may_have_more(&&**flow)) {
                flow.fluid.retain(|packet| packet.end > next);
            }
        }
    }

    /// A class has no token any more. If it was served beyond the last one, the others receive that
    /// service.
    fn ends(&mut self, place: usize) {
        let flow = &mut self.flows[place];
        let own = flow.fluid.last().map_or(0, |packet| packet.weight);
        let undue = self.virtual_time.saturating_sub(flow.finish);
        let now = self.virtual_time;
        flow.fluid.retain(|packet| packet.end > now);
        if undue > 0 && own > 0 {
            self.serve_fluid(undue, own);
        }
    }

    /// Completes `done` bytes (times 2⁴⁰) of the packet in service.
    fn work(&mut self, done: u128) {
        self.undone -= done;
        let mut left = done;
        loop {
            let now = self.virtual_time;
            let ahead = || self.flows.iter().filter(|flow| !flow.waits && flow.finish > now);
            let counting = self.flows.iter().filter(|flow| flow.waits).chain(ahead());
            let all: u128 = counting.map(|flow| weight(flow.rate)).sum();
            if all == 0 {
                return;
            }
            match ahead().map(|flow| flow.finish).min() {
                Some(next) if scaled(next - now, all, SERVER) <= left => {
                    left -= scaled(next - now, all, SERVER);
                    self.virtual_time = next;
                }
                _ => {
                    self.virtual_time += scaled(left, SERVER, all);
                    return;
                }
            }
        }
    }

    pub fn opened(&mut self, now: Ticks, place: usize, reserve: Option<Rate>) {
        self.pass(now);
        let rate = reserve.unwrap_or(self.unreserved);
        match self.flows.get_mut(place) {
            Some(flow) => flow.rate = rate,
            None => self.flows.push(Flow {
                rate,
                waits: false,
                is_class: false,
                was_held: false,
                start: 0,
                finish: 0,
                finishes: Vec::new(),
                fluid: Vec::new(),
            }),
        }
    }

    /// A packet joins its member's queue. `queued` is true if the queue has other packets, `alone`
    /// if no member has any.
    pub fn joins(&mut self, now: Ticks, place: usize, packet: &Queued, queued: bool, alone: bool) {
        self.pass(now);
        let len = packet.len;
        if alone && now >= self.over && self.which != Which::Wfq {
            self.virtual_time = self.virtual_time.max(self.latest);
        }
        if alone && now >= self.over && !self.at_port && self.which == Which::Wfq {
            let ends = self.flows.iter().flat_map(|flow| &flow.fluid).map(|packet| packet.end);
            self.virtual_time = ends.max().unwrap_or(0).max(self.virtual_time);
            self.flows.iter_mut().for_each(|flow| flow.fluid.clear());
        }
        let now = self.virtual_time;
        let flow = &mut self.flows[place];
        flow.waits = true;
        if self.which == Which::Wfq {
            // `finish` is that of the latest packet that came.
            flow.is_class = packet.packet.is_none();
            let goes_on = flow.is_class && queued;
            let start = if goes_on { flow.finish } else { flow.finish.max(now) };
            flow.finish = start + span(flow.rate, len);
            flow.finishes.push(flow.finish);
            flow.fluid.push(Fluid { start, end: flow.finish, weight: weight(flow.rate) });
        } else if !queued {
            flow.start = flow.finish.max(now);
            flow.finish = flow.start + span(flow.rate, len);
        }
    }

    /// The first packet of a member is served; `next` is the length of the one behind it.
    pub fn served(&mut self, now: Ticks, place: usize, len: u32, next: Option<u32>) {
        self.pass(now);
        let (start, mut finish) = (self.flows[place].start, self.flows[place].finish);
        match self.which {
            Which::Wfq => {
                finish = self.flows[place].finishes.remove(0);
                if !self.at_port {
                    self.serve_fluid(u128::from(len) << FRACTION, SERVER);
                }
            }
            Which::SelfClocked => self.virtual_time = self.virtual_time.max(finish),
            Which::StartTime => self.virtual_time = self.virtual_time.max(start),
            Which::Wf2qPlus => {
                self.work(self.undone);
                self.virtual_time = self.virtual_time.max(start);
                self.undone = u128::from(len) << FRACTION;
                if self.server.is_none() {
                    self.work(self.undone);
                }
            }
        }
        self.flows[place].waits = next.is_some();
        if self.which == Which::Wfq && self.flows[place].is_class && next.is_none() {
            self.ends(place);
        }
        if self.which == Which::Wfq && self.at_port {
            return;
        }
        self.latest = self.latest.max(finish);
        let flow = &mut self.flows[place];
        if let Some(next) = next.filter(|_| self.which != Which::Wfq) {
            // Behind a hold, the finish tag is no earlier than virtual time.
            let least = if flow.was_held { self.virtual_time } else { 0 };
            flow.finish = (finish + span(flow.rate, next)).max(least);
            flow.start = flow.finish - span(flow.rate, next);
        }
        flow.was_held = false;
        let sent = self.server.map_or(0, |rate| rate.time_for(len).ticks());
        let tags = self.latest.saturating_sub(self.virtual_time).div_ceil(1 << FRACTION);
        self.over = now + sent.max(tags as Ticks);
    }

    /// A member that has packets cannot send one.
    pub fn is_held(&mut self, place: usize) {
        self.flows[place].was_held = true;
    }

    /// The token of a member has another length. WFQ's fluid server may have served a part of it.
    pub fn resized(&mut self, place: usize, len: u32) -> bool {
        let flow = &mut self.flows[place];
        if self.which != Which::Wfq {
            flow.finish = flow.start + span(flow.rate, len);
        }
        self.which != Which::Wfq
    }

    /// The latest packet of a member was pushed out; `queued` is true if it has others.
    pub fn pushed_out(&mut self, now: Ticks, place: usize, queued: bool) {
        self.pass(now);
        let virtual_time = self.virtual_time;
        let flow = &mut self.flows[place];
        flow.waits = queued;
        if self.which == Which::Wfq {
            flow.finishes.pop();
            let alike = flow.fluid.iter().all(|packet| packet.weight == weight(flow.rate));
            let is_class = flow.is_class;
            if !is_class && let Some(last) = flow.fluid.pop_if(|_| alike) {
                flow.finish = last.start.max(virtual_time);
            }
            if is_class && let Some(last) = flow.fluid.last_mut() {
                if last.end > virtual_time {
                    flow.finish = last.start.max(virtual_time);
                    last.end = flow.finish;
                }
                self.ends(place);
            }
        } else if !queued {
            flow.finish = flow.start;
        }
    }

    /// The finish tag of the latest packet that a member has queued, in ticks, and of `behind`
    /// further bytes.
    pub fn last(&self, place: usize, member: &Member, behind: u64) -> u128 {
        let flow = &self.flows[place];
        let queued = member.queue.iter().skip(1).map(|packet| span(flow.rate, packet.len));
        let last = flow.finishes.last().copied().unwrap_or_else(|| flow.finish + queued.sum::<Tag>());
        ticks(last + span(flow.rate, behind as u32))
    }

    /// The member that sends now, of those that are able to.
    pub fn first(&self, now: Ticks, members: &[Member], able: &[usize]) -> Option<usize> {
        let order = |place: usize| members[place].queue.first().map(|first: &Queued| first.order);
        let finish = |place: &usize| {
            let flow = &self.flows[*place];
            (ticks(*flow.finishes.first().unwrap_or(&flow.finish)), order(*place))
        };
        let start = |place: &usize| (ticks(self.flows[*place].start), order(*place));
        match self.which {
            Which::Wfq | Which::SelfClocked => able.iter().copied().min_by_key(finish),
            Which::StartTime => able.iter().copied().min_by_key(start),
            Which::Wf2qPlus => {
                let mut then =
                    Fair { flows: Vec::new(), ..Fair::new(self.which, self.unreserved, self.server, true) };
                (then.virtual_time, then.as_of, then.undone) = (self.virtual_time, self.as_of, self.undone);
                then.flows.extend(self.flows.iter().map(|flow| Flow {
                    finishes: Vec::new(),
                    fluid: Vec::new(),
                    ..*flow
                }));
                then.pass(now);
                let eligible = |place: &usize| start(place).0 <= ticks(then.virtual_time);
                let soonest = able.iter().copied().filter(eligible).min_by_key(finish);
                soonest.or_else(|| able.iter().copied().min_by_key(start))
            }
        }
    }
}
