//! The fast event queue: a line of few, a tournament of many.

use super::EventQueue;
use super::line::{Line, PLACES};
use super::tournament::Tournament;
use tidegate_core::units::Time;

/// The fast event queue.
///
/// Up to 16 components stand in a sorted line; more play a knock-out tournament, where a new time
/// costs log₂ of their number. No memory is taken after the beginning.
#[derive(Clone, Debug)]
pub struct Calendar {
    first: (Time, u32),
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Line(Line),
    Tournament(Tournament),
}

impl EventQueue for Calendar {
    fn new(components: u32) -> Self {
        let kind = if components as usize <= PLACES {
            Kind::Line(Line::new())
        } else {
            Kind::Tournament(Tournament::new(components))
        };
        Calendar { first: (Time::NEVER, 0), kind }
    }

    #[inline(always)]
    fn set(&mut self, component: u32, at: Time) {
        self.first = match &mut self.kind {
            Kind::Line(line) => {
                line.set(component, at);
                line.first()
            }
            Kind::Tournament(tournament) => tournament.set(component, at),
        };
    }

    #[inline(always)]
    fn first(&mut self) -> (Time, u32) {
        self.first
    }
}
