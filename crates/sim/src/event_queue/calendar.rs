//! The fast event queue: a sorted line for few events; lanes and a tournament for many.

use super::EventQueue;
use super::lanes::Lanes;
use super::line::Line;
use super::tournament::Tournament;
use tidegate_core::units::Time;

/// The fast event queue.
///
/// Few pending events are kept in a sorted line, whatever the number of components. When the line
/// is full, or new times often belong far from its end, the queue switches to many for good. Events
/// that become known equally long before their time share a lane, where insertion takes constant
/// time. All others are in a knock-out tournament, where it takes log₄ of the number of components.
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
    Many(Many),
}

/// Storage for many pending events.
#[derive(Clone, Debug)]
struct Many {
    lanes: Box<Lanes>,
    others: Tournament,
    first_of_others: (Time, u32),
}

impl Many {
    #[inline(always)]
    fn first(&self) -> (Time, u32) {
        self.lanes.first().min(self.first_of_others)
    }

    #[inline(always)]
    fn set(&mut self, component: u32, at: Time) {
        if self.lanes.has(component) {
            if self.lanes.first().1 == component {
                self.lanes.pop();
            } else {
                self.lanes.remove(component);
            }
        }
        self.first_of_others = self.others.set(component, at);
    }

    /// Inserts an event of a component that has none pending.
    #[inline(always)]
    fn insert_after(&mut self, component: u32, now: Time, at: Time) {
        if !self.lanes.insert(component, now, at) {
            self.first_of_others = self.others.set(component, at);
        }
    }

    #[inline(always)]
    fn renew_first(&mut self, component: u32, now: Time, at: Time) {
        let in_lane = self.lanes.has(component);
        if in_lane {
            self.lanes.pop();
        }
        if at != Time::NEVER && self.lanes.insert(component, now, at) {
            if !in_lane {
                self.first_of_others = self.others.set(component, Time::NEVER);
            }
        } else if !in_lane || at != Time::NEVER {
            self.first_of_others = self.others.set(component, at);
        }
    }
}

impl Calendar {
    #[cold]
    #[inline(never)]
    fn become_many(&mut self) {
        let Kind::Line(line) = &self.kind else { return };
        let mut others = Tournament::new(self.components);
        for (at, component) in line.pending() {
            self.first = others.set(component, at);
        }
        let lanes = Box::new(Lanes::new(self.components));
        self.kind = Kind::Many(Many { lanes, others, first_of_others: self.first });
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
                    self.become_many();
                }
            }
            Kind::Many(many) => {
                many.set(component, at);
                self.first = many.first();
            }
        }
    }

    #[inline(always)]
    fn insert(&mut self, component: u32, at: Time) {
        match &mut self.kind {
            Kind::Line(line) if at != Time::NEVER => {
                let keeps = line.insert(component, at);
                self.first = line.first();
                if !keeps {
                    self.become_many();
                }
            }
            _ => self.set(component, at),
        }
    }

    #[inline(always)]
    fn insert_after(&mut self, component: u32, now: Time, at: Time) {
        match &mut self.kind {
            Kind::Line(_) => self.insert(component, at),
            Kind::Many(many) => {
                many.insert_after(component, now, at);
                self.first = many.first();
            }
        }
    }

    #[inline(always)]
    fn renew_first(&mut self, now: Time, at: Time) {
        let (_, component) = self.first;
        match &mut self.kind {
            Kind::Line(line) => {
                line.pop();
                let keeps = at == Time::NEVER || line.insert(component, at);
                self.first = line.first();
                if !keeps {
                    self.become_many();
                }
            }
            Kind::Many(many) => {
                many.renew_first(component, now, at);
                self.first = many.first();
            }
        }
    }

    #[inline(always)]
    fn first(&mut self) -> (Time, u32) {
        self.first
    }
}
