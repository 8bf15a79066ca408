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
    /// `None` before the first event with a known lead time.
    lanes: Option<Box<Lanes>>,
    others: Tournament,
    first_of_others: (Time, u32),
}

impl Many {
    /// The lanes for this number of components.
    #[inline(always)]
    fn lanes(&mut self, components: u32) -> &mut Lanes {
        self.lanes.get_or_insert_with(|| Box::new(Lanes::new(components)))
    }

    #[inline(always)]
    fn first(&self) -> (Time, u32) {
        match &self.lanes {
            Some(lanes) => lanes.first().min(self.first_of_others),
            None => self.first_of_others,
        }
    }

    #[inline(always)]
    fn set(&mut self, component: u32, at: Time) {
        if let Some(lanes) = &mut self.lanes
            && lanes.has(component)
        {
            if lanes.first().1 == component {
                lanes.pop();
            } else {
                lanes.remove(component);
            }
        }
        self.first_of_others = self.others.set(component, at);
    }

    /// Inserts an event of a component that has none pending.
    #[inline(always)]
    fn insert_after(&mut self, components: u32, component: u32, now: Time, at: Time) {
        if !self.lanes(components).insert(component, now, at) {
            self.first_of_others = self.others.set(component, at);
        }
    }

    #[inline(always)]
    fn renew_first(&mut self, components: u32, component: u32, now: Time, at: Time) {
        let lanes = self.lanes(components);
        let in_lane = lanes.has(component);
        if in_lane {
            lanes.pop();
        }
        if at != Time::NEVER && lanes.insert(component, now, at) {
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
        self.kind = Kind::Many(Many { lanes: None, others, first_of_others: self.first });
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
                many.insert_after(self.components, component, now, at);
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
                many.renew_first(self.components, component, now, at);
                self.first = many.first();
            }
        }
    }

    #[inline(always)]
    fn first(&mut self) -> (Time, u32) {
        self.first
    }
}
