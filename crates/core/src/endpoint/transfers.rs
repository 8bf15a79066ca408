//! Finite transfers: an application that hands a connection a number of bytes at a time, one after
//! the other, by a Poisson process, or once.

mod sizes;
mod workloads;

use alloc::vec::Vec;
pub use sizes::{Distribution, Sizes};

use super::period::Period;
use crate::rng::Rng;
use crate::units::{Span, Time};
use core::ops::Range;

/// Finite transfers on one connection.
#[derive(Clone, Debug)]
pub struct Transfers {
    /// Sizes of the transfers.
    pub sizes: Sizes,
    /// Times at which they begin.
    pub arrivals: Arrivals,
}

/// Times at which transfers begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// The first one when the connection is open, and each other one this think time after the one
    /// before has ended: a closed loop.
    AfterThink(Period),
    /// By a Poisson process with this mean time between them, from the connection's start on,
    /// whatever the network does: an open loop. A transfer waits for those before it.
    Poisson(Span),
    /// A single one, at the connection's start.
    Once,
}

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The time at which the application handed it over.
    pub began: Time,
    /// Size in bytes.
    pub bytes: u64,
    /// The time at which its first byte was sent for the first time; `None` before.
    pub first_sent: Option<Time>,
    /// The time at which its last byte was acknowledged; `None` before.
    pub ended: Option<Time>,
    /// Bytes of it that were sent again, each time that they were.
    pub sent_again: u64,
}

impl Transfer {
    /// The completion time: from the handover to the acknowledgement of the last byte. `None` until
    /// then.
    pub fn took(&self) -> Option<Span> {
        self.ended.map(|ended| ended.since(self.began))
    }
}

/// An application that hands over finite transfers.
#[derive(Debug)]
pub struct Transferring {
    transfers: Transfers,
    rng: Rng,
    /// The time at which the next transfer begins; [`Time::NEVER`] if that depends on
    /// acknowledgements, or if there is none.
    next_at: Time,
    /// All transfers handed over, in order.
    begun: Vec<Transfer>,
    /// Number of those that have ended: the first ones, for data arrive in order.
    ended: usize,
    /// Number of the first byte of the first one that has not ended.
    first_byte: u64,
}

impl Transferring {
    /// An application of a connection that begins at `start`.
    pub fn new(transfers: Transfers, start: Time, mut rng: Rng) -> Transferring {
        let next_at = match transfers.arrivals {
            Arrivals::AfterThink(_) | Arrivals::Once => start,
            Arrivals::Poisson(mean) => start + rng.exponential(mean),
        };
        Transferring { transfers, rng, next_at, begun: Vec::new(), ended: 0, first_byte: 0 }
    }

    /// The time at which the next transfer begins; [`Time::NEVER`] if that depends on
    /// acknowledgements, or if there is none.
    pub fn next_at(&self) -> Time {
        self.next_at
    }

    /// Returns true if transfers begin whether the connection is open or not.
    pub fn is_open_loop(&self) -> bool {
        !matches!(self.transfers.arrivals, Arrivals::AfterThink(_))
    }

    /// Begins a transfer if one is due. Returns its size in bytes.
    pub fn begin(&mut self, now: Time) -> Option<u64> {
        if now < self.next_at {
            return None;
        }
        let bytes = self.transfers.sizes.draw(&mut self.rng);
        let due = self.next_at;
        let (began, next_at) = match self.transfers.arrivals {
            // The connection may have been opened meanwhile.
            Arrivals::AfterThink(_) => (now, Time::NEVER),
            Arrivals::Once => (due, Time::NEVER),
            Arrivals::Poisson(mean) => (due, due + self.rng.exponential(mean)),
        };
        self.next_at = next_at;
        self.begun.push(Transfer { began, bytes, first_sent: None, ended: None, sent_again: 0 });
        Some(bytes)
    }

    /// Called when the bytes with these numbers, from 0, are sent, for the first time or again.
    pub fn sent(&mut self, now: Time, bytes: Range<u64>, again: bool) {
        let mut from = self.first_byte;
        for transfer in &mut self.begun[self.ended..] {
            let to = from + transfer.bytes;
            if from >= bytes.end {
                return;
            }
            if to > bytes.start {
                if again {
                    transfer.sent_again += to.min(bytes.end) - from.max(bytes.start);
                } else {
                    transfer.first_sent.get_or_insert(now);
                }
            }
            from = to;
        }
    }

    /// Called when all bytes before `number` are acknowledged: transfers that consist of them have
    /// ended.
    pub fn acknowledged(&mut self, now: Time, number: u64) {
        while let Some(transfer) = self.begun.get_mut(self.ended)
            && self.first_byte + transfer.bytes <= number
        {
            transfer.ended = Some(now);
            self.first_byte += transfer.bytes;
            self.ended += 1;
            if let Arrivals::AfterThink(think) = self.transfers.arrivals {
                self.next_at = now + think.draw(&mut self.rng);
            }
        }
    }

    /// All transfers handed over so far, in order of time; those that have ended come first.
    pub fn begun(&self) -> &[Transfer] {
        &self.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(arrivals: Arrivals) -> Transferring {
        let transfers = Transfers { sizes: Sizes::Fixed(1_000), arrivals };
        Transferring::new(transfers, Time::ORIGIN + Span::from_secs(1), Rng::named(1, "transfers"))
    }

    /// Gaps of a Poisson process are exponential: their mean and their squared mean are 1 and 2.
    #[test]
    fn open_loop_transfers_come_as_a_poisson_process() {
        let mut application = application(Arrivals::Poisson(Span::from_millis(10)));
        let mut gaps = Vec::new();
        let mut before = Time::ORIGIN + Span::from_secs(1);
        for _ in 0..100_000 {
            let at = application.next_at();
            // A call later than that changes nothing.
            assert_eq!(application.begin(at + Span::from_millis(1)), Some(1_000));
            gaps.push(at.since(before).as_secs_f64() / 0.01);
            before = at;
        }
        let n = gaps.len() as f64;
        let moment = |power: i32| gaps.iter().map(|gap| gap.powi(power)).sum::<f64>() / n;
        // Standard deviations of the terms are 1 and √20.
        assert!((moment(1) - 1.0).abs() < 3.29 / n.sqrt(), "{}", moment(1));
        assert!((moment(2) - 2.0).abs() < 3.29 * (20.0 / n).sqrt(), "{}", moment(2));
        assert!(application.begun().windows(2).all(|two| two[0].began < two[1].began));
    }

    /// Bytes of a segment that ends one transfer and begins the next count for each.
    #[test]
    fn a_segment_counts_for_the_transfers_that_it_holds() {
        let mut application = application(Arrivals::Poisson(Span::from_millis(1)));
        let at = |millis| Time::ORIGIN + Span::from_millis(millis);
        for _ in 0..3 {
            let due = application.next_at();
            application.begin(due);
        }
        application.sent(at(2_000), 0..1_500, false);
        application.sent(at(2_001), 1_500..1_900, false);
        application.sent(at(2_002), 500..1_500, true);
        application.sent(at(2_003), 500..1_500, true);
        application.acknowledged(at(2_004), 1_999);
        let of = |transfer: &Transfer| (transfer.first_sent, transfer.ended, transfer.sent_again);
        let begun: Vec<_> = application.begun().iter().map(of).collect();
        let expected =
            [(Some(at(2_000)), Some(at(2_004)), 1_000), (Some(at(2_000)), None, 1_000), (None, None, 0)];
        assert_eq!(begun, expected);
        application.sent(at(2_005), 1_900..3_000, false);
        application.sent(at(2_006), 1_000..3_000, true);
        application.acknowledged(at(2_007), 3_000);
        let begun: Vec<_> = application.begun().iter().map(of).collect();
        let expected = [
            (Some(at(2_000)), Some(at(2_004)), 1_000),
            (Some(at(2_000)), Some(at(2_007)), 2_000),
            (Some(at(2_005)), Some(at(2_007)), 1_000),
        ];
        assert_eq!(begun, expected);
    }
}
