//! A property of a link that changes at stated times, once or again and again.

use crate::contract::Refused;
use crate::units::Span;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;

/// A value and its changes; times are from the start. With a period it begins again at the end of
/// each, with its first value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T> {
    first: T,
    /// Times in order, all above zero, and the values from then on.
    changes: Box<[(Span, T)]>,
    period: Option<Span>,
}

impl<T: Copy + PartialEq> Steps<T> {
    /// Creates a value that changes at these times to these values.
    ///
    /// # Errors
    /// When a change is at zero or not later than the one before it, and when the period is not
    /// longer than the time of the last change.
    pub fn new(
        first: T,
        changes: impl Into<Box<[(Span, T)]>>,
        period: Option<Span>,
    ) -> Result<Self, Refused> {
        let changes = changes.into();
        let mut before = Span::ZERO;
        for (at, _) in &changes {
            if *at <= before {
                return Err(Refused("a change comes at a time later than the one before it".to_owned()));
            }
            before = *at;
        }
        if period.is_some_and(|period| period <= before) {
            return Err(Refused("the period is longer than the time of the last change".to_owned()));
        }
        Ok(Steps { first, changes, period })
    }

    /// All of its values.
    pub fn values(&self) -> impl Iterator<Item = T> + '_ {
        core::iter::once(self.first).chain(self.changes.iter().map(|(_, value)| *value))
    }

    /// The time after which it begins again; `None` if it does not.
    pub fn period(&self) -> Option<Span> {
        self.period
    }

    /// Steps at these times with other values.
    pub fn map<U: Copy + PartialEq>(&self, value: impl Fn(T) -> U) -> Steps<U> {
        let changes = self.changes.iter().map(|(at, changed)| (*at, value(*changed))).collect();
        Steps { first: value(self.first), changes, period: self.period }
    }

    /// Returns the value when `since` has passed since the start, and the time from the start until
    /// which it holds: [`Span::MAX`] for ever.
    pub fn at(&self, since: Span) -> (T, Span) {
        let begun = match self.period {
            Some(period) => since.ticks() / period.ticks() * period.ticks(),
            None => 0,
        };
        let within = Span::from_ticks(since.ticks() - begun);
        let (value, end) = self.part(self.changes.partition_point(|(at, _)| *at <= within));
        (value, Span::from_ticks(begun.saturating_add(end.ticks())))
    }

    /// Each value of a period, or of all time without one, with the time that it lasts, up to a
    /// span since the start.
    pub(super) fn parts_until(&self, end: Span) -> impl Iterator<Item = (T, Span)> + '_ {
        let parts = (0..=self.changes.len()).map(|ix| (ix, self.part(ix)));
        parts.map_while(move |(ix, (value, until))| {
            let from = ix.checked_sub(1).map_or(Span::ZERO, |before| self.changes[before].0);
            (from < end).then(|| (value, Span::from_ticks(until.min(end).ticks() - from.ticks())))
        })
    }

    /// The value after so many changes, and its end within the period.
    fn part(&self, changes: usize) -> (T, Span) {
        let value = changes.checked_sub(1).map_or(self.first, |before| self.changes[before].1);
        let end = self.changes.get(changes).map(|(at, _)| *at).or(self.period);
        (value, end.unwrap_or(Span::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(ticks: u64) -> Span {
        Span::from_ticks(ticks)
    }

    #[test]
    fn times_out_of_order_are_refused() {
        let new = |times: &[u64], period: Option<u64>| {
            let changes: Vec<_> = times.iter().map(|at| (span(*at), 1)).collect();
            Steps::new(0, changes, period.map(span))
        };
        assert!(new(&[], None).is_ok() && new(&[], Some(1)).is_ok() && new(&[1, 2], Some(3)).is_ok());
        for (times, period) in
            [(&[0][..], None), (&[2, 2], None), (&[3, 2], None), (&[5], Some(5)), (&[], Some(0))]
        {
            assert!(new(times, period).is_err(), "{times:?} {period:?}");
        }
    }

    proptest! {
        /// The value is that of a walk from the start, tick by tick.
        #[test]
        fn a_value_is_that_of_the_latest_change(
            gaps in prop::collection::vec(1u64..9, 0..5), rest in prop::option::of(1u64..9), until in 1u64..200,
        ) {
            let mut at = 0;
            let changes: Vec<_> = (1..).zip(&gaps).map(|(value, gap)| { at += gap; (span(at), value) }).collect();
            let steps = Steps::new(0, changes.clone(), rest.map(|rest| span(at + rest))).unwrap();
            let mut value = 0;
            for tick in 0..until {
                let within = steps.period().map_or(tick, |period| tick % period.ticks());
                if within == 0 { value = 0; }
                value = changes.iter().find(|(at, _)| at.ticks() == within).map_or(value, |(_, value)| *value);
                let (found, end) = steps.at(span(tick));
                prop_assert_eq!(found, value);
                prop_assert!(end > span(tick));
                prop_assert_eq!(steps.at(span(end.ticks() - 1)).0, value);
            }
            let whole: u64 = steps.parts_until(span(until)).map(|(_, lasts)| lasts.ticks()).sum();
            prop_assert_eq!(whole, steps.period().map_or(until, |period| until.min(period.ticks())));
        }
    }
}
