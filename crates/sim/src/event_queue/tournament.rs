//! Pending events in a knock-out tournament: of every two, the earlier goes one round further.
//!
//! A component's new time is played up from its own place to the final: one comparison a round,
//! and no branch that depends on times. There is nothing to tune, no case is worse than another,
//! and no memory is taken after the beginning.
//!
//! Places are in blocks, each a tournament of its own whose winner takes part in a block above.

use core::hint::select_unpredictable;
use tidegate_core::units::Time;

/// Places in a block: as many as a `u8` can index, so that no index needs a check.
const PLACES: usize = 1 << 8;
/// Most rounds of a block: 2 to this power start in it.
const MAX_ROUNDS: u32 = 7;

/// One block: the winner of places 2i and 2i + 1 takes place i; the overall winner is at place 1.
#[derive(Clone, Debug)]
struct Block {
    times: [Time; PLACES],
    components: [u32; PLACES],
}

impl Block {
    /// Puts a component at a place and plays its rounds from there; returns the winner.
    #[inline(always)]
    fn play(&mut self, place: u8, mut time: Time, mut component: u32) -> (Time, u32) {
        let mut place = usize::from(place);
        self.times[place] = time;
        self.components[place] = component;
        loop {
            let (rival_time, rival) = (self.times[place ^ 1], self.components[place ^ 1]);
            if rival_time == time {
                component = smaller(component, rival);
            } else {
                let later = rival_time < time;
                time = select_unpredictable(later, rival_time, time);
                component = select_unpredictable(later, rival, component);
            }
            place >>= 1;
            self.times[place] = time;
            self.components[place] = component;
            if place <= 1 {
                break;
            }
        }
        (time, component)
    }
}

/// Returns the winner among equal times: the lower component.
#[cold]
fn smaller(component: u32, rival: u32) -> u32 {
    component.min(rival)
}

/// The event queue for many components: a tournament among all of them.
///
/// A new time costs as many rounds as the number of components has bits, and a component takes
/// 24 to 48 bytes where there are many.
#[derive(Clone, Debug)]
pub(super) struct Tournament {
    /// Blocks, layer by layer: the layer of all components first, that of a single block last.
    blocks: Vec<Block>,
    /// Rounds of each block.
    rounds: u32,
    /// The first place of the first round: 2 to the number of rounds.
    size: u8,
    /// Blocks in the first layer.
    width: usize,
}

impl Tournament {
    pub(super) fn new(components: u32) -> Self {
        let all_rounds = components.max(2).next_power_of_two().ilog2();
        let rounds = all_rounds.div_ceil(all_rounds.div_ceil(MAX_ROUNDS));
        let width = (components as usize).div_ceil(1 << rounds).max(1);
        let mut count = width;
        let mut layer = width;
        while layer > 1 {
            layer = layer.div_ceil(1 << rounds);
            count += layer;
        }
        let nobody = Block { times: [Time::NEVER; PLACES], components: [0; PLACES] };
        Tournament { blocks: vec![nobody; count], rounds, size: 1 << rounds, width }
    }

    /// Sets a component's time and returns the first event.
    #[inline(always)]
    pub(super) fn set(&mut self, component: u32, at: Time) -> (Time, u32) {
        match &mut self.blocks[..] {
            [block] => block.play(self.size.wrapping_add(component as u8), at, component),
            _ => self.set_in_layers(component, at),
        }
    }

    #[inline(never)]
    fn set_in_layers(&mut self, component: u32, at: Time) -> (Time, u32) {
        let size = usize::from(self.size);
        let (mut number, mut before, mut width) = (component as usize, 0, self.width);
        let mut winner = (at, component);
        loop {
            let place = size | (number & (size - 1));
            number >>= self.rounds;
            winner = self.blocks[before + number].play(place as u8, winner.0, winner.1);
            if width == 1 {
                return winner;
            }
            before += width;
            width = (width + size - 1) >> self.rounds;
        }
    }
}
