//! One line behind a port: its pace, propagation delay, jitter, loss and reordering, and the packets
//! in flight.
//!
//! A driver makes these calls in order. [`opens`](Line::opens): the time at which a packet may
//! start. [`begin`](Line::begin): the time at which its last bit is out. [`fly`](Line::fly): its
//! fate (lost, at the far end, or in flight). [`land`](Line::land): the packets that have reached
//! the far end. The driver keeps the clock and the random generator.
//!
//! A line may have a priority [lane](Lane) of cells, which the driver asks first.
//!
//! A plain line has a rate and nothing else. It costs one test, because everything rare is boxed.

use super::pace::Paced;
use super::{Jitter, Lane, LinePlan, Loss, LossState, Reordering, Steps};
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;

/// The fate of a packet that a line carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flight {
    /// It is lost.
    Lost,
    /// It has arrived at the far end.
    Arrived,
    /// It is in flight; [`land`](Line::land) returns it when it arrives.
    InFlight {
        /// True if it is the first to arrive, so that [`next_arrival`](Line::next_arrival) has
        /// changed.
        first: bool,
    },
}

/// A line that carries items of type `T`: a packet, or the number of one. The lane, which few lines
/// have, comes last.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Line<T> {
    /// True if bytes leave at the rate at any time.
    is_steady: bool,
    /// True if items are lost at all.
    loses: bool,
    rate: Rate,
    /// Pace, delay, loss and reordering; `None` as long as the line is plain, and no packet takes
    /// less than a tick.
    extras: Option<Box<Extras<T>>>,
    /// Cells that go ahead of its port's packets; `None` until it is opened.
    lane: Option<Box<Lane<T>>>,
}

/// The properties and state of a line besides its rate.
#[derive(Clone, Debug)]
#[repr(C)]
struct Extras<T> {
    // Fields that every packet touches come first.
    loss: Loss,
    loss_state: LossState,
    lost: u64,
    paced: Option<Paced>,
    delay: Span,
    /// True if every packet takes the delay, unless it is overtaken.
    has_one_delay: bool,
    jitter: Jitter,
    /// Changes of the delay, and the time from which they count.
    delays: Option<(Arc<Steps<Span>>, Time)>,
    reordering: Reordering,
    /// Items in flight with their arrival times, in order of arrival.
    in_flight: VecDeque<(Time, T)>,
    /// True if packets were ever reordered.
    reorders: bool,
    /// Arrival of the last packet that no later packet overtakes, once packets are reordered.
    last: Time,
}

impl<T: Copy> Line<T> {
    /// Creates a line with the properties of the plan; a trace, and changes, count from `now`.
    pub fn new(now: Time, plan: &LinePlan) -> Line<T> {
        let mut line = Line { rate: plan.rate, is_steady: true, loses: false, extras: None, lane: None };
        line.change(now, plan);
        line
    }

    /// Applies another plan to the line, from `now` on. A trace that stays continues at its
    /// position, as changes that stay do, and loss that stays in its state. Packets in flight keep
    /// their arrival times, and no later packet arrives before them except by reordering.
    pub fn change(&mut self, now: Time, plan: &LinePlan) {
        (self.rate, self.is_steady, self.loses) = (plan.rate, plan.pace.is_steady(), plan.loss.happens());
        if self.extras.is_none() && plan.is_plain() {
            return;
        }
        let extras = self.extras.get_or_insert_default();
        if extras.loss != plan.loss {
            (extras.loss, extras.loss_state) = (plan.loss, LossState::default());
        }
        (extras.delay, extras.jitter, extras.reordering) = (plan.delay, plan.jitter, plan.reordering);
        extras.has_one_delay = plan.has_one_delay();
        if extras.delays.as_ref().map(|(delays, _)| delays) != plan.delays.as_ref() {
            extras.delays = plan.delays.clone().map(|delays| (delays, now));
        }
        if plan.reorders() && !extras.reorders {
            extras.reorders = true;
            extras.last = extras.in_flight.back().map_or(now, |(last, _)| *last);
        }
        if extras.paced.as_ref().is_none_or(|paced| !paced.follows(&plan.pace)) {
            extras.paced = plan.pace.begun(now);
        }
    }

    /// The rate; a line that is not [steady](Self::is_steady) does not send at it.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// The propagation delay, at first and without jitter.
    pub fn delay(&self) -> Span {
        self.extras.as_ref().map_or(Span::ZERO, |extras| extras.delay)
    }

    /// Returns true if bytes leave at the line's rate at any time: neither a trace nor changes of
    /// the rate determine it.
    pub fn is_steady(&self) -> bool {
        self.is_steady
    }

    /// Returns true if every packet is at the far end as soon as its last bit is out: without
    /// delay, loss, reordering and packets in flight.
    pub fn is_immediate(&self) -> bool {
        self.extras.as_ref().is_none_or(|extras| {
            extras.delay == Span::ZERO
                && extras.has_one_delay
                && !extras.loss.happens()
                && !extras.reordering.happens()
                && extras.in_flight.is_empty()
        })
    }

    /// Returns the propagation delay if it alone determines when an item arrives: on a steady line
    /// whose delay never differs, and on which nothing is reordered. A driver may then keep the
    /// packets in flight itself, and only ask which are [lost](Self::loses).
    pub fn only_delay(&self) -> Option<Span> {
        let is_only = |extras: &Extras<T>| {
            extras.paced.is_none() && extras.has_one_delay && !extras.reorders && extras.in_flight.is_empty()
        };
        self.extras.as_ref().is_none_or(|extras| is_only(extras)).then(|| self.delay())
    }

    fn paced(&self) -> Option<&Paced> {
        self.extras.as_ref()?.paced.as_ref()
    }

    /// Returns when a packet that waits at `now` may start on the free line: `now`, or the next
    /// opportunity of a trace, or the end of an outage; [`Time::NEVER`] at the end of time. Asking
    /// changes nothing. `now` does not go back.
    #[inline]
    pub fn opens(&mut self, now: Time) -> Time {
        match &mut self.extras {
            None => now,
            Some(extras) => extras.paced.as_mut().map_or(now, |paced| paced.opens(now)),
        }
    }

    /// Time for which outages have kept the line down from `from` on and before `until`; a trace has
    /// none.
    pub fn down_between(&self, from: Time, until: Time) -> Span {
        self.paced().map_or(Span::ZERO, |paced| paced.down_between(from, until))
    }

    /// Returns true in an outage of the line.
    pub fn is_down(&self, now: Time) -> bool {
        self.paced().is_some_and(|paced| paced.is_down(now))
    }

    /// Starts a packet that is charged `len` bytes, at `now` or when the line
    /// [`opens`](Self::opens). Returns when its last bit is out, at least a tick later unless a
    /// trace determines otherwise; [`Time::NEVER`] if the line stays down.
    #[inline(always)]
    pub fn begin(&mut self, now: Time, len: u32) -> Time {
        let taken = self.rate.time_for(len);
        match &mut self.extras {
            None => now + taken,
            Some(_) if self.is_steady => now + taken.max(Span::TICK),
            Some(extras) => match &mut extras.paced {
                None => now + taken.max(Span::TICK),
                Some(paced) => paced.departure(now, len),
            },
        }
    }

    /// Returns the priority lane, which is opened if there is none.
    pub fn open_lane(&mut self) -> &mut Lane<T> {
        self.lane.get_or_insert_default()
    }

    /// Returns the priority lane; `None` if it was not opened.
    #[inline(always)]
    pub fn lane(&self) -> Option<&Lane<T>> {
        self.lane.as_deref()
    }

    /// Like [`lane`](Self::lane), to be changed.
    #[inline(always)]
    pub fn lane_mut(&mut self) -> Option<&mut Lane<T>> {
        self.lane.as_deref_mut()
    }

    /// Returns true if no cell of the priority lane waits or is being sent.
    #[inline(always)]
    pub fn has_idle_lane(&self) -> bool {
        self.lane.as_ref().is_none_or(|lane| lane.is_idle())
    }

    /// Starts a cell of the priority lane that is charged `len` bytes; returns when its last bit is
    /// out, as [`begin`](Self::begin).
    pub fn begin_cell(&mut self, now: Time, cell: T, len: u32) -> Time {
        self.open_lane().begin(now, cell, len);
        self.begin(now, len)
    }

    /// Sends an item over the line at `now`, whose last bit is out at `leaves`, now or later. Draws
    /// the numbers of its [loss](Loss::takes), and for a packet that is not lost those of its
    /// [jitter](Jitter::takes), and one if the line reorders packets. The caller keeps a copy of an
    /// item that is lost or has arrived.
    #[inline(always)]
    pub fn fly(&mut self, now: Time, leaves: Time, item: T, rng: &mut Rng) -> Flight {
        match &mut self.extras {
            None if leaves <= now => Flight::Arrived,
            extras => extras.get_or_insert_default().fly(now, leaves, item, rng),
        }
    }

    /// Decides whether the line loses the item that is sent now. Draws the numbers of its
    /// [loss](Loss::takes).
    #[inline(always)]
    pub fn loses(&mut self, rng: &mut Rng) -> bool {
        self.loses && self.extras.as_mut().is_some_and(|extras| extras.loses(rng))
    }

    /// Returns when the first item in flight arrives; [`Time::NEVER`] when none is.
    #[inline]
    pub fn next_arrival(&self) -> Time {
        let first = self.extras.as_ref().and_then(|extras| extras.in_flight.front());
        first.map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Takes the first item that has arrived by `now`.
    #[inline]
    pub fn land(&mut self, now: Time) -> Option<T> {
        let in_flight = &mut self.extras.as_mut()?.in_flight;
        let arrived = in_flight.front().is_some_and(|(at, _)| *at <= now);
        if arrived { in_flight.pop_front().map(|(_, item)| item) } else { None }
    }

    /// Number of items in flight.
    pub fn in_flight(&self) -> usize {
        self.extras.as_ref().map_or(0, |extras| extras.in_flight.len())
    }

    /// Packets that were lost since the line was made.
    pub fn lost(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.lost)
    }

    /// Bytes that the line could send from `from` on and before `until`, by its trace or the
    /// changes of its rate; `None` for a steady line. Before the trace started there is none.
    pub fn offered(&self, from: Time, until: Time) -> Option<u64> {
        self.paced().map(|paced| paced.offered(from, until))
    }

    /// Those of them before `until` that packets have used; zero for a steady line. `until` is not
    /// before the start of the latest packet.
    pub fn used(&self, until: Time) -> u64 {
        self.paced().map_or(0, |paced| paced.used(until))
    }
}

impl<T> Default for Extras<T> {
    fn default() -> Extras<T> {
        Extras {
            paced: None,
            delay: Span::ZERO,
            has_one_delay: true,
            jitter: Jitter::NONE,
            delays: None,
            loss: Loss::NONE,
            loss_state: LossState::default(),
            reordering: Reordering::NONE,
            in_flight: VecDeque::new(),
            reorders: false,
            last: Time::from_ticks(0),
            lost: 0,
        }
    }
}

impl<T> Extras<T> {
    #[inline(always)]
    fn loses(&mut self, rng: &mut Rng) -> bool {
        let takes = self.loss.takes(&mut self.loss_state, rng);
        self.lost += u64::from(takes);
        takes
    }

    #[inline(always)]
    fn fly(&mut self, now: Time, leaves: Time, item: T, rng: &mut Rng) -> Flight {
        if self.loses(rng) {
            return Flight::Lost;
        }
        let due = if self.has_one_delay {
            leaves.max(now) + self.delay
        } else {
            self.arrives(leaves.max(now), rng)
        };
        if self.reorders {
            return self.fly_reordered(now, due, item, rng);
        }
        match self.in_flight.back() {
            None if due == now => Flight::Arrived,
            last => {
                let at = last.map_or(due, |(last, _)| due.max(*last));
                self.in_flight.push_back((at, item));
                Flight::InFlight { first: self.in_flight.len() == 1 }
            }
        }
    }

    /// Returns when an item is at the far end whose last bit is out at `out`, if its delay may be
    /// another one than those of others.
    #[cold]
    #[inline(never)]
    fn arrives(&self, out: Time, rng: &mut Rng) -> Time {
        let changed = self.delays.as_ref().map(|(delays, start)| delays.at(out.since(*start)).0);
        out + self.jitter.takes(changed.unwrap_or(self.delay), rng)
    }

    #[cold]
    #[inline(never)]
    fn fly_reordered(&mut self, now: Time, due: Time, item: T, rng: &mut Rng) -> Flight {
        let longer = self.reordering.takes(rng);
        if longer > Span::ZERO {
            return self.fly_until(due + longer, item);
        }
        if due == now && self.in_flight.is_empty() {
            return Flight::Arrived;
        }
        self.last = due.max(self.last);
        self.fly_until(if self.jitter.reorders() { due } else { self.last }, item)
    }

    /// Inserts an item ahead of all that arrive after `at`.
    fn fly_until(&mut self, at: Time, item: T) -> Flight {
        let place = self.in_flight.partition_point(|(before, _)| *before <= at);
        self.in_flight.insert(place, (at, item));
        Flight::InFlight { first: place == 0 }
    }
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
