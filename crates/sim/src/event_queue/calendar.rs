//! The fast event queue: a line of few, a tournament of many.

use super::EventQueue;
use super::line::Line;
use super::tournament::Tournament;
use tidegate_core::units::Time;

/// The fast event queue.
///
/// Few pending events stand in a sorted line, however many components there are. When the line has no place left, or new
/// times belong far from its end, the components begin a knock-out tournament, where a new time costs log₂ of their number,
/// and stay in it.
#[derive(Clone, Debug)]
pub struct Calendar {
    first: (Time, u32),
    components: u32,
    kind: Kind,
}

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a world has five, and the line is in every event's path")]
enum Kind {
    Line(Line),
    Tournament(Tournament),
}

impl Calendar {
    #[cold]
    #[inline(never)]
    fn begin_tournament(&mut self) {
        let Kind::Line(line) = &self.kind else { return };
        let mut tournament = Tournament::new(self.components);
        for (at, component) in line.pending() {
            self.first = tournament.set(component, at);
        }
        self.kind = Kind::Tournament(tournament);
    }
}

impl EventQueue for Calendar {
    fn new(components: u32) -> Self {
        Calendar { first: (Time::NEVER, 0), components, kind: Kind::Line(Line::new()) }
    }

    #[inline(always)]
    fn set(&mut self, component: u32, at: Time) {
        match &mut self.kind {
            Kind::Line(line) => {
                let keeps = line.set(component, at);
                self.first = line.first();
                if !keeps {
                    self.begin_tournament();
                }
            }
            Kind::Tournament(tournament) => self.first = tournament.set(component, at),
        }
    }

    #[inline(always)]
    fn insert(&mut self, component: u32, at: Time) {
        match &mut self.kind {
            Kind::Line(line) if at != Time::NEVER => {
                let keeps = line.insert(component, at);
                self.first = line.first();
                if !keeps {
                    self.begin_tournament();
                }
            }
            _ => self.set(component, at),
        }
    }

    #[inline(always)]
    fn replace_first(&mut self, to: u32, at: Time) {
        match &mut self.kind {
            Kind::Line(line) => {
                line.pop();
                let keeps = line.insert(to, at);
                self.first = line.first();
                if !keeps {
                    self.begin_tournament();
                }
            }
            Kind::Tournament(tournament) => {
                let (_, from) = self.first;
                if from != to {
                    tournament.set(from, Time::NEVER);
                }
                self.first = tournament.set(to, at);
            }
        }
    }

    #[inline(always)]
    fn first(&mut self) -> (Time, u32) {
        self.first
    }
}
