//! Pending events in a knock-out tournament: of every four, the earliest goes one round further.
//!
//! A component's new time is played up from its own place to the final: three comparisons a round,
//! and no branch that depends on times. There is nothing to tune, no case is worse than another,
//! and no memory is taken after the beginning.

use core::hint::select_unpredictable;
use tidegate_core::units::Time;

/// Components, or winners of other groups, that play against each other.
const GROUP: usize = 4;

/// The places of a group: the times and components that stand there, on one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group {
    times: [Time; GROUP],
    components: [u32; GROUP],
}

impl Group {
    /// Puts a component at a place. Returns the group's winner: of equal times the one at the lower
    /// place, which has the lower component.
    #[inline(always)]
    fn play(&mut self, place: usize, time: Time, component: u32) -> (Time, u32) {
        self.times[place % GROUP] = time;
        self.components[place % GROUP] = component;
        let [a, b, c, d] = self.times;
        let (in_left, in_right) = (b < a, d < c);
        let left = select_unpredictable(in_left, b, a);
        let right = select_unpredictable(in_right, d, c);
        let wins = right < left;
        let winner = select_unpredictable(wins, 2 + usize::from(in_right), usize::from(in_left));
        (select_unpredictable(wins, right, left), self.components[winner % GROUP])
    }
}

/// The event queue for many components: a tournament among all of them.
///
/// A new time costs half as many rounds as the number of components has bits, and a component takes
/// 21 to 37 bytes where there are many.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Groups, the final first. Those whose winners take part in group n begin with 4 · n + 1.
    groups: Vec<Group>,
    /// The group of the first components.
    bottom: usize,
}

impl Tournament {
    pub(super) fn new(components: u32) -> Self {
        let first_round = (components as usize).div_ceil(GROUP).max(1);
        let (mut bottom, mut width) = (0, 1);
        while width < first_round {
            (bottom, width) = (bottom + width, width * GROUP);
        }
        let nobody = Group { times: [Time::NEVER; GROUP], components: [0; GROUP] };
        Tournament { groups: vec![nobody; bottom + first_round], bottom }
    }

    /// Sets a component's time and returns the first event.
    #[inline(always)]
    pub(super) fn set(&mut self, component: u32, at: Time) -> (Time, u32) {
        let (mut time, mut winner) = (at, component);
        let mut place = component as usize;
        let mut number = self.bottom.wrapping_add(place / GROUP);
        // As a slice, whose length no write below can change.
        let groups = self.groups.as_mut_slice();
        loop {
            (time, winner) = groups[number].play(place, time, winner);
            if number == 0 {
                return (time, winner);
            }
            place = number.wrapping_sub(1);
            number = place / GROUP;
        }
    }
}
