//! The fair queues: every tag is looked for among all members whenever it is asked for.

use super::super::Ticks;
use super::super::tree::{Member, Queued};
use super::tags::{FRACTION, SERVER, Tag, scaled, span, ticks, weight};
use tidegate_core::units::Rate;

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
    /// True while it is held.
    is_away: bool,
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
    /// The latest finish tag of a served packet.
    latest: Tag,
    /// Virtual time at the beginning of the last service, when that was, and when it ends.
    reached: Tag,
    began: Ticks,
    sent: Ticks,
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
            reached: 0,
            began: 0,
            sent: 0,
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
        let may_have_more = |flow: &&Flow| flow.is_class && flow.waits && !flow.is_away;
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

    /// A class has no token any more, or may not send it. If it was served beyond the last one, the others receive that
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
                is_away: false,
                start: 0,
                finish: 0,
                finishes: Vec::new(),
                fluid: Vec::new(),
            }),
        }
    }

    /// No member could send anything since the last service. When its last bit is out, nobody is ahead any
    /// more; where that is not known, virtual time goes on with the clock until then.
    fn was_idle(&mut self, now: Ticks) {
        let is_fluid = self.which == Which::Wfq;
        if is_fluid && self.at_port {
            return;
        }
        let ahead = self.latest.saturating_sub(self.reached).div_ceil(1 << FRACTION) as Ticks;
        let over = if self.server.is_some() { self.sent } else { self.began + ahead };
        if now >= over {
            let ends = self.flows.iter().flat_map(|flow| &flow.fluid).map(|packet| packet.end);
            let last = if is_fluid { ends.max().unwrap_or(0) } else { self.latest };
            self.virtual_time = self.virtual_time.max(last);
            self.flows.iter_mut().for_each(|flow| flow.fluid.clear());
        } else if self.server.is_none() {
            let reached = self.reached + (Tag::from(now - self.began) << FRACTION);
            self.virtual_time = self.virtual_time.max(reached);
            self.flows.iter_mut().for_each(|flow| flow.fluid.retain(|packet| packet.end > reached));
        }
    }

    /// A packet joins its member's queue. `queued` is true if the queue has other packets, `alone`
    /// if no member has any that it could send.
    pub fn joins(&mut self, now: Ticks, place: usize, packet: &Queued, queued: bool, alone: bool) {
        self.pass(now);
        let len = packet.len;
        if alone {
            self.was_idle(now);
        }
        let now = self.virtual_time;
        let flow = &mut self.flows[place];
        flow.waits = true;
        if self.which == Which::Wfq {
            // `finish` is that of the latest packet that came.
            flow.is_class = packet.packet.is_none();
            let goes_on = queued && (flow.is_class || flow.is_away);
            let start = if goes_on { flow.finish } else { flow.finish.max(now) };
            flow.finish = start + span(flow.rate, len);
            flow.finishes.push(flow.finish);
            if !flow.is_away {
                flow.fluid.push(Fluid { start, end: flow.finish, weight: weight(flow.rate) });
            }
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
            flow.start = finish;
            flow.finish = finish + span(flow.rate, next);
        }
        self.reached = self.virtual_time;
        self.began = now;
        self.sent = now + self.server.map_or(0, |rate| rate.time_for(len).ticks());
    }

    /// A member is held: what it has queued leaves the fluid system.
    pub fn leaves(&mut self, now: Ticks, place: usize) {
        self.pass(now);
        self.flows[place].is_away = true;
        if self.which == Which::Wfq && self.flows[place].is_class && self.flows[place].waits {
            self.ends(place);
        }
        let flow = &mut self.flows[place];
        flow.fluid.truncate(flow.fluid.len().saturating_sub(flow.finishes.len()));
    }

    /// A member is held no longer: its packets are as if they arrived now. `alone` is true if no other
    /// has any that it could send.
    pub fn returns(&mut self, now: Ticks, place: usize, queue: &[Queued], alone: bool) {
        self.pass(now);
        if alone {
            self.was_idle(now);
        }
        let now = self.virtual_time;
        let flow = &mut self.flows[place];
        flow.is_away = false;
        let Some(first) = queue.first() else { return };
        if self.which == Which::Wfq {
            let least = ticks(now + span(flow.rate, first.len));
            let late = least.saturating_sub(ticks(flow.finishes[0])) << FRACTION;
            flow.finish += late;
            for (finish, packet) in flow.finishes.iter_mut().zip(queue) {
                *finish += late;
                let start = finish.saturating_sub(span(flow.rate, packet.len));
                flow.fluid.push(Fluid { start, end: *finish, weight: weight(flow.rate) });
            }
        } else {
            let late = now.saturating_sub(flow.start);
            flow.start += late;
            flow.finish += late;
        }
    }

    /// The token of a member has another length. WFQ's fluid server may have served a part of it.
    pub fn resized(&mut self, place: usize, len: u32) -> bool {
        let flow = &mut self.flows[place];
        if self.which != Which::Wfq {
            flow.finish = flow.start + span(flow.rate, len);
        }
        self.which != Which::Wfq
    }

    /// The latest packet of a member, of `len` bytes, was pushed out; `queued` is true if it has
    /// others.
    pub fn pushed_out(&mut self, now: Ticks, place: usize, len: u32, queued: bool) {
        self.pass(now);
        let virtual_time = self.virtual_time;
        let flow = &mut self.flows[place];
        flow.waits = queued;
        if self.which == Which::Wfq && flow.is_away {
            flow.finishes.pop();
            flow.finish = flow.finish.saturating_sub(span(flow.rate, len));
        } else if self.which == Which::Wfq {
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
