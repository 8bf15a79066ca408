//! The last minute of every flow, host, subscriber or circuit, in parts of ten seconds.

use std::collections::{BTreeMap, VecDeque};
use tidegate_core::context::Reason;
use tidegate_core::steering::FlowOwner;
use tidegate_core::switch::Level;
use tidegate_core::units::{Span, Time};

/// Length of a part, and number of parts that are kept.
const PART: Span = Span::from_secs(10);
const PARTS: u64 = 6;
/// The most subjects of a direction with a history: a flood from many addresses fills no more memory.
const MAX_SUBJECTS: usize = 20_000;

/// The packets that are explained together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    /// Index of the rule; `None` for packets that match none.
    pub(super) rule: Option<usize>,
    pub(super) owner: FlowOwner,
}

/// The causes of waiting at a level.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Time for which the line was busy with packets of the level that are not of the level before.
    pub(super) ahead: Span,
    /// Time for which the ceiling of the level held them.
    pub(super) held: Span,
}

/// Round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trips {
    pub(super) count: u64,
    pub(super) sum: Span,
    pub(super) least: Span,
}

impl Trips {
    const NONE: Trips = Trips { count: 0, sum: Span::ZERO, least: Span::MAX };

    pub(super) fn add(&mut self, took: Span) {
        self.merge(&Trips { count: 1, sum: took, least: took });
    }

    fn merge(&mut self, other: &Trips) {
        self.count += other.count;
        self.sum += other.sum;
        self.least = self.least.min(other.least);
    }
}

/// The packets that were looked at in a part of the minute, or in all of it.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    pub(super) packets: u64,
    pub(super) waited: Span,
    pub(super) longest: Span,
    /// Time for which the line was down.
    pub(super) down: Span,
    /// Time for which nothing of these held them: their scheduler's own.
    pub(super) scheduled: Span,
    pub(super) shares: Vec<Share>,
    pub(super) dropped: [u64; Reason::ALL.len()],
    /// Round trips on the side that its packets come from.
    pub(super) round_trips: Trips,
}

impl Waits {
    pub(super) fn of_none(levels: usize) -> Waits {
        Waits {
            packets: 0,
            waited: Span::ZERO,
            longest: Span::ZERO,
            down: Span::ZERO,
            scheduled: Span::ZERO,
            shares: vec![Share::default(); levels],
            dropped: [0; Reason::ALL.len()],
            round_trips: Trips::NONE,
        }
    }

    /// Adds others, at the same levels.
    pub(super) fn add(&mut self, other: &Waits) {
        self.packets += other.packets;
        self.waited += other.waited;
        self.longest = self.longest.max(other.longest);
        self.down += other.down;
        self.scheduled += other.scheduled;
        for (share, more) in self.shares.iter_mut().zip(&other.shares) {
            share.ahead += more.ahead;
            share.held += more.held;
        }
        for (count, more) in self.dropped.iter_mut().zip(&other.dropped) {
            *count += more;
        }
        self.round_trips.merge(&other.round_trips);
    }
}

/// The last minute of a subject.
#[derive(Debug)]
pub(super) struct History {
    /// The levels of its packets, from their flow outwards.
    pub(super) levels: Vec<Level>,
    /// By the number of the part, from the start of the gate.
    parts: VecDeque<(u64, Waits)>,
}

impl History {
    /// All of the last minute.
    pub(super) fn sum(&self, now: Time) -> Waits {
        let mut sum = Waits::of_none(self.levels.len());
        self.recent(now).for_each(|waits| sum.add(waits));
        sum
    }

    /// Time for which packets waited in the last minute, and their number with those dropped.
    pub(super) fn weight(&self, now: Time) -> (Span, u64) {
        self.recent(now).fold((Span::ZERO, 0), |(waited, packets), part| {
            (waited + part.waited, packets + part.packets + part.dropped.iter().sum::<u64>())
        })
    }

    fn recent(&self, now: Time) -> impl Iterator<Item = &Waits> {
        let since = (number(now) + 1).saturating_sub(PARTS);
        self.parts.iter().filter(move |(number, _)| *number >= since).map(|(_, waits)| waits)
    }
}

/// The histories of a direction.
#[derive(Debug, Default)]
pub(super) struct Histories {
    by_subject: BTreeMap<Subject, History>,
    /// Subjects, by the part in which they are to be looked at again: to be forgotten if they had no
    /// packet since.
    ends: VecDeque<(u64, Subject)>,
}

impl Histories {
    /// The current part of a subject's history; `None` without levels, and for a new subject when
    /// there is no room.
    pub(super) fn part(&mut self, now: Time, subject: Subject, levels: &[Level]) -> Option<&mut Waits> {
        self.forget(now);
        // A flow that is no longer at the port has no levels.
        if levels.is_empty() {
            return None;
        }
        if self.by_subject.len() >= MAX_SUBJECTS && !self.by_subject.contains_key(&subject) {
            return None;
        }
        let fresh = || History { levels: levels.to_vec(), parts: VecDeque::new() };
        let history = self.by_subject.entry(subject).or_insert_with(fresh);
        if history.levels != levels {
            *history = fresh();
        }
        let current = number(now);
        if history.parts.back().is_none_or(|(number, _)| *number != current) {
            while history.parts.front().is_some_and(|(number, _)| number + PARTS <= current) {
                history.parts.pop_front();
            }
            history.parts.push_back((current, Waits::of_none(levels.len())));
            self.ends.push_back((current, subject));
        }
        history.parts.back_mut().map(|(_, waits)| waits)
    }

    /// Forgets a few subjects without a packet in the last minute.
    fn forget(&mut self, now: Time) {
        for _ in 0..4 {
            let Some((part, subject)) = self.ends.front().copied() else { return };
            if part + PARTS > number(now) {
                return;
            }
            self.ends.pop_front();
            let latest = self.by_subject.get(&subject).and_then(|history| history.parts.back());
            if latest.is_none_or(|(number, _)| *number <= part) {
                self.by_subject.remove(&subject);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Subject, &History)> {
        self.by_subject.iter().map(|(subject, history)| (*subject, history))
    }
}

/// The part of the time since the start that a time is in.
fn number(now: Time) -> u64 {
    now.since(Time::ORIGIN).ticks() / PART.ticks()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(rule: usize) -> Subject {
        Subject { rule: Some(rule), owner: FlowOwner::Rule }
    }

    #[test]
    fn only_the_last_minute_counts() {
        let mut histories = Histories::default();
        let levels = [Level::Flow, Level::Port];
        for second in 0..100 {
            let now = Time::ORIGIN + Span::from_secs(second);
            let part = histories.part(now, subject(0), &levels).unwrap();
            part.packets += 1;
            part.longest = part.longest.max(Span::from_millis(100 - second));
        }
        let [(_, history)] = histories.iter().collect::<Vec<_>>()[..] else { panic!("one") };
        let sum = history.sum(Time::ORIGIN + Span::from_secs(99));
        assert_eq!((sum.packets, sum.longest), (60, Span::from_millis(60)));
    }

    #[test]
    fn who_sends_nothing_is_forgotten() {
        let mut histories = Histories::default();
        for rule in 0..50 {
            _ = histories.part(Time::ORIGIN, subject(rule), &[Level::Flow]);
        }
        for second in 0..80 {
            _ = histories.part(Time::ORIGIN + Span::from_secs(second), subject(0), &[Level::Flow]);
        }
        assert_eq!(histories.iter().map(|(one, _)| one.rule).collect::<Vec<_>>(), [Some(0)]);
    }

    #[test]
    fn a_flood_of_subjects_is_bounded() {
        let mut histories = Histories::default();
        for rule in 0..2 * MAX_SUBJECTS {
            _ = histories.part(Time::ORIGIN, subject(rule), &[Level::Flow]);
        }
        assert_eq!(histories.iter().count(), MAX_SUBJECTS);
        assert!(histories.part(Time::ORIGIN, subject(0), &[Level::Flow]).is_some());
    }
}
