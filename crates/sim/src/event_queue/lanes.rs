//! Pending events, grouped by how long before their time they become known.
//!
//! Links of one rate send packets of one size in the same time. They finish in the order in which
//! they start, so that a new event belongs behind all events with the same lead time, at the end of
//! their *lane*. Only the first event of each lane is compared with others, whatever the number of
//! components.

use tidegate_core::ranking::ring::Ring;
use tidegate_core::units::{Span, Time};

/// Number of lanes: a power of two.
const LANES: usize = 16;
/// Candidate lanes for one lead time: a power of two.
const WAYS: usize = 4;

#[derive(Clone, Debug, Default)]
struct Lane {
    /// Lead time of its events: from when they become known to when they are due.
    ahead: Span,
    events: Ring<(Time, u32)>,
}

/// The first event of a lane.
#[derive(Clone, Copy, Debug)]
struct Head {
    event: (Time, u32),
    lane: u32,
}

/// Pending events in lanes.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lanes: [Lane; LANES],
    /// First events of all occupied lanes, the earliest first.
    heads: [Head; LANES],
    len: usize,
    /// One bit for each component, set while its event is in a lane.
    members: Box<[u64]>,
}

impl Lanes {
    pub(super) fn new(components: u32) -> Lanes {
        Lanes {
            lanes: Default::default(),
            heads: [Head { event: (Time::NEVER, 0), lane: 0 }; LANES],
            len: 0,
            members: vec![0; components as usize / 64 + 1].into(),
        }
    }

    /// Returns the first event; [`Time::NEVER`] when there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> (Time, u32) {
        self.heads[0].event
    }

    /// Returns true if the event of a component is in a lane.
    #[inline(always)]
    pub(super) fn has(&self, component: u32) -> bool {
        self.members[component as usize / 64] >> (component % 64) & 1 == 1
    }

    /// Inserts the event of a component that has none. Returns false if it belongs at the end of no
    /// lane.
    #[inline(always)]
    pub(super) fn insert(&mut self, component: u32, now: Time, at: Time) -> bool {
        let ahead = at.since(now);
        let Some(number) = self.lane_of(ahead) else { return false };
        let lane = &mut self.lanes[number];
        let event = (at, component);
        match lane.events.last() {
            Some(last) if *last > event => return false,
            Some(_) => {}
            None => {
                lane.ahead = ahead;
                self.insert_head(Head { event, lane: number as u32 });
            }
        }
        self.lanes[number].events.push(event);
        self.members[component as usize / 64] |= 1 << (component % 64);
        true
    }

    /// Returns the lane for this lead time, or an empty one to use for it.
    #[inline(always)]
    fn lane_of(&self, ahead: Span) -> Option<usize> {
        // The high bits of a product with the golden ratio depend on all bits of the number.
        let hash = ahead.ticks().wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60;
        let ways = (0..WAYS).map(|way| (hash as usize ^ way) % LANES);
        let has = |number: &usize| self.lanes[*number].ahead == ahead;
        let is_empty = |number: &usize| self.lanes[*number].events.is_empty();
        ways.clone().find(has).or_else(|| ways.clone().find(is_empty))
    }

    #[inline(always)]
    fn insert_head(&mut self, head: Head) {
        let mut place = self.len;
        self.len = self.len.wrapping_add(1);
        while let Some(before) = self.heads[..place].last().copied()
            && before.event > head.event
        {
            self.heads[place % LANES] = before;
            place = place.wrapping_sub(1);
        }
        self.heads[place % LANES] = head;
    }

    /// Removes the first event, which must exist.
    #[inline(always)]
    pub(super) fn pop(&mut self) {
        let Head { event: (_, component), lane } = self.heads[0];
        self.members[component as usize / 64] &= !(1 << (component % 64));
        let events = &mut self.lanes[lane as usize % LANES].events;
        events.pop();
        let next = events.first().copied();
        let mut place = 0usize;
        while let Some(after) = self.heads[..self.len].get(place.wrapping_add(1)).copied()
            && next.is_none_or(|next| after.event < next)
        {
            self.heads[place % LANES] = after;
            place = place.wrapping_add(1);
        }
        let event = next.unwrap_or((Time::NEVER, 0));
        self.heads[place % LANES] = Head { event, lane };
        self.len = self.len.wrapping_sub(usize::from(next.is_none()));
    }

    /// Removes the event of a component, which must be in a lane.
    #[cold]
    #[inline(never)]
    pub(super) fn remove(&mut self, component: u32) {
        self.members[component as usize / 64] &= !(1 << (component % 64));
        self.len = 0;
        self.heads = [Head { event: (Time::NEVER, 0), lane: 0 }; LANES];
        for number in 0..LANES {
            let events = &mut self.lanes[number].events;
            for _ in 0..events.len() {
                if let Some(event) = events.pop()
                    && event.1 != component
                {
                    events.push(event);
                }
            }
            if let Some(event) = events.first().copied() {
                self.insert_head(Head { event, lane: number as u32 });
            }
        }
    }
}
