//! What is to happen besides packets: set-ups, answers, warnings, tear-downs. Rare, so that their
//! times need not be the event queue's.

use std::collections::BTreeMap;
use tidegate_core::admission::signalling::{Message, What};
use tidegate_core::units::{Span, Time};

/// Something to be done for a flow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    /// Its source asks for it to be set up.
    SetUp,
    /// Its source asks for the change with this number.
    Change(usize),
    /// A message reaches a link of its route.
    Pass(Message),
    /// A message reaches its source.
    Told(What),
    /// A message reaches its destination.
    Asked(What),
    /// A warning reaches its source: so far was it ahead.
    Warned(Span),
    /// It has nothing more to send: it is torn down as soon as its packets are through.
    Finish,
    /// Its destination tears it down.
    HangUp,
}

/// Deeds by their time, those of one instant in the order in which they were noted.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    deeds: BTreeMap<(Time, u64), (u32, Deed)>,
    noted: u64,
}

impl Agenda {
    pub(super) fn note(&mut self, at: Time, flow: u32, deed: Deed) {
        self.noted += 1;
        self.deeds.insert((at, self.noted), (flow, deed));
    }

    /// When the first is due; [`Time::NEVER`] when there is none.
    pub(super) fn next(&self) -> Time {
        self.deeds.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at)
    }

    pub(super) fn pop(&mut self) -> Option<(Time, u32, Deed)> {
        self.deeds.pop_first().map(|((at, _), (flow, deed))| (at, flow, deed))
    }
}
