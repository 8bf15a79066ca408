//! Arrival times of a capture's packets when its clock was set meanwhile.
//!
//! The packets of an interface are split into epochs wherever time goes back by more than a second
//! or forward by more than [`LONG`]. Once all packets are known, each epoch is placed:
//!
//! - Time goes back by some 2³² s: the file's 32-bit seconds wrapped, and are counted on.
//! - Time goes back by at most [`LATE`], three times or more: packets were written late. They are
//!   sorted.
//! - Time goes back otherwise: the clock was set. The epoch starts one mean gap behind the previous
//!   packet.
//! - Time goes forward, and at least half of the packets in the two seconds before and after are of
//!   flows on both sides: there was no pause, the clock was set. The epoch starts one mean gap
//!   behind the previous packet. A gap of more than a year is treated likewise, whatever the flows.
//! - Time goes forward otherwise: it is a pause, and is kept.
//!
//! Steps found at one interface apply to the others.

use super::error::TracePlace;
use super::mended::{ClockStep, MAX_STEPS, Mended};
use super::ticks::{SECOND, Ticks};

/// The shortest gap that may be a step of the clock.
const LONG: Ticks = 30 * SECOND;
/// Longest lateness of packets from a capture program that collects them before it writes.
const LATE: Ticks = 60 * SECOND;
/// Number of late places from which packets count as written late.
const OFTEN: usize = 3;
/// Time before and after a gap in which flows are compared.
pub(super) const BESIDE: Ticks = 2 * SECOND;
/// Fewest packets beside a gap for a comparison.
const ENOUGH: u64 = 5;
const WRAP: Ticks = (1 << 32) * SECOND;
const DAY: Ticks = 86_400 * SECOND;
/// Upper bound of a pause.
const YEAR: Ticks = 365 * DAY;
/// The latest time after a file's first packet, so that a [`Span`](tidegate_core::units::Span)
/// holds it.
const MOST: Ticks = 4 * YEAR;

/// The most epochs: limited by the bits of a packet's mark.
pub(super) const MAX_EPOCHS: usize = 1 << 14;

/// Packets of one interface between which the clock is steady.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    /// The previous epoch of this interface.
    before: Option<usize>,
    /// Earliest and latest time by the clock of the file.
    pub(super) first: Ticks,
    pub(super) latest: Ticks,
    place: TracePlace,
}

/// Packets beside a gap, and those of flows on both sides of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beside {
    /// Packets in the last two seconds of the epoch before, and in the first two of this one.
    pub(super) at_end: u64,
    pub(super) at_start: u64,
    /// Packets among them of flows that are in both.
    pub(super) shared_start: u64,
    pub(super) shared_end: u64,
}

/// The clocks of a file's interfaces.
#[derive(Default)]
pub(super) struct Clock {
    epochs: Vec<Epoch>,
    /// The current epoch of each interface.
    current: Vec<Option<usize>>,
    latest: Option<Ticks>,
    pub(super) reordered: u64,
}

impl Clock {
    /// Returns the epoch number of a packet, and its time since one second before the epoch's first
    /// packet.
    pub(super) fn see(&mut self, interface: u32, time: Ticks, place: TracePlace) -> (usize, u64) {
        let at = interface as usize;
        if at >= self.current.len() {
            self.current.resize(at + 1, None);
        }
        let before = self.current[at];
        let steady = before.filter(|epoch| {
            let latest = self.epochs[*epoch].latest;
            (latest - SECOND..=latest + LONG).contains(&time)
        });
        let number = match steady {
            Some(epoch) => {
                self.reordered += u64::from(self.latest.is_some_and(|latest| time < latest));
                epoch
            }
            // A file with more jumps than that has no usable clock.
            None if self.epochs.len() == MAX_EPOCHS => before.unwrap_or(MAX_EPOCHS - 1),
            None => {
                self.epochs.push(Epoch { before, first: time, latest: time, place });
                self.current[at] = Some(self.epochs.len() - 1);
                self.latest = None;
                self.epochs.len() - 1
            }
        };
        let epoch = &mut self.epochs[number];
        epoch.latest = epoch.latest.max(time.min(epoch.first + MOST));
        self.latest = Some(self.latest.map_or(time, |latest| latest.max(time)));
        // Within an epoch, no packet is more than a second before its first one.
        let since = (time - epoch.first + SECOND).clamp(0, MOST);
        (number, u64::try_from(since).unwrap_or(0))
    }

    pub(super) fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    /// Returns the previous epoch of the same interface.
    pub(super) fn before(&self, epoch: usize) -> Option<usize> {
        self.epochs[epoch].before
    }

    /// Returns the shift of each epoch's times. `packets` is their number in the file, and `beside`
    /// has the packets beside the beginning of each epoch. Steps are recorded in `mended`.
    pub(super) fn shifts(&self, packets: u64, beside: &[Beside], mended: &mut Mended) -> Vec<Ticks> {
        let within: Ticks = self.epochs.iter().map(|epoch| epoch.latest - epoch.first).sum();
        let gaps = packets.saturating_sub(self.epochs.len() as u64).max(1);
        let gap = (within / Ticks::from(gaps)).clamp(1, SECOND);
        let back = |epoch: &Epoch| epoch.before.map_or(0, |before| self.epochs[before].latest - epoch.first);
        let late = self.epochs.iter().map(back).filter(|by| (SECOND..=LATE).contains(by)).count() >= OFTEN;
        let mut shifts: Vec<Ticks> = Vec::with_capacity(self.epochs.len());
        for (at, epoch) in self.epochs.iter().enumerate() {
            let Some(before) = epoch.before else {
                shifts.push(self.of_another_interface(epoch, &shifts));
                continue;
            };
            let (by, kept) = (-back(epoch), shifts[before]);
            let end = self.epochs[before].latest + kept;
            let start = self.epochs.first().map_or(0, |first| first.first);
            let known = shifts.iter().rev().copied().find(|shift| {
                *shift != kept && (end - SECOND..=end + 5 * SECOND).contains(&(epoch.first + shift))
            });
            let wrapped = (by + WRAP).abs() < DAY;
            let shift = if wrapped {
                kept + WRAP
            } else if by < 0 && late && -by <= LATE {
                shifts.push(kept);
                continue;
            } else if let Some(known) = known {
                shifts.push(known);
                continue;
            } else if by > 0 && by <= YEAR && !goes_on(&beside[at]) && epoch.first + kept - start < MOST {
                shifts.push(kept);
                continue;
            } else {
                end + gap - epoch.first
            };
            mended.step(epoch.place, by, wrapped);
            shifts.push(shift);
        }
        shifts
    }

    /// Returns the shift of an interface's first epoch: none, unless that is more than a year from
    /// all other epochs.
    fn of_another_interface(&self, epoch: &Epoch, shifts: &[Ticks]) -> Ticks {
        match (self.epochs.first(), shifts.last()) {
            (Some(first), Some(latest)) if (epoch.first - first.first).abs() > YEAR => {
                let end = self.epochs[shifts.len() - 1].latest + latest;
                let near = |shift: &&Ticks| (epoch.first + **shift - end).abs() < DAY;
                shifts.iter().rev().find(near).copied().unwrap_or(end - epoch.first)
            }
            _ => 0,
        }
    }
}

/// Returns true if flows continue across a gap as if there were none.
fn goes_on(beside: &Beside) -> bool {
    let mostly = |shared: u64, all: u64| shared >= ENOUGH && shared * 2 >= all;
    mostly(beside.shared_start, beside.at_start) && mostly(beside.shared_end, beside.at_end)
}

impl Mended {
    fn step(&mut self, place: TracePlace, by: Ticks, wrapped: bool) {
        if self.steps.len() == MAX_STEPS {
            self.more_steps += 1;
            return;
        }
        let milliseconds = i64::try_from(by / (SECOND / 1000)).unwrap_or(i64::MAX);
        self.steps.push(ClockStep { place, milliseconds, wrapped });
    }
}
