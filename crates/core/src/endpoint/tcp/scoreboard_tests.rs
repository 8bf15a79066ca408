//! The scoreboard against the RFC's text, byte by byte.

use super::*;
use crate::rng::Rng;
use std::collections::BTreeSet;

/// RFC 6675, sections 3 and 4, over a set of the bytes that were SACKed. Positions are those of the
/// RFC: the highest byte, −1 for none.
struct Literal {
    mss: i64,
    high_ack: i64,
    high_data: i64,
    high_rxt: i64,
    rescue_rxt: i64,
    recovery_point: i64,
    sacked: BTreeSet<i64>,
}

impl Literal {
    fn is_sacked(&self, byte: i64) -> bool {
        self.sacked.contains(&byte)
    }

    /// "either DupThresh discontiguous SACKed sequences have arrived above SeqNum or more than
    /// (DupThresh - 1) * SMSS bytes with sequence numbers greater than SeqNum have been SACKed".
    fn is_lost(&self, byte: i64) -> bool {
        let above: Vec<i64> = self.sacked.range(byte + 1..).copied().collect();
        let sequences = above.iter().filter(|one| !self.is_sacked(**one - 1)).count();
        sequences >= 3 || above.len() as i64 > 2 * self.mss
    }

    fn pipe(&self) -> i64 {
        let unknown = (self.high_ack + 1..=self.high_data).filter(|byte| !self.is_sacked(*byte));
        unknown.map(|byte| i64::from(!self.is_lost(byte)) + i64::from(byte <= self.high_rxt)).sum()
    }

    /// Bytes from a position on: at most a segment, and none beyond the next that was SACKed.
    fn from(&self, byte: i64) -> (i64, i64) {
        let end = (byte..byte + self.mss).find(|one| self.is_sacked(*one) || *one > self.high_data);
        (byte, end.unwrap_or(byte + self.mss))
    }

    fn next_segment(&mut self, new: Option<(i64, i64)>) -> Option<(i64, i64)> {
        let highest = self.sacked.last().copied().unwrap_or(-1);
        let missing =
            (self.high_ack + 1..highest).filter(|byte| !self.is_sacked(*byte) && *byte > self.high_rxt);
        let missing: Vec<i64> = missing.collect();
        let lost = missing.iter().copied().find(|byte| self.is_lost(*byte));
        if lost.is_none() && new.is_some() {
            return new;
        }
        if let Some(byte) = lost.or(missing.first().copied()) {
            let segment = self.from(byte);
            self.high_rxt = segment.1 - 1;
            return Some(segment);
        }
        let last = (self.high_ack + 1..=self.high_data).rev().find(|byte| !self.is_sacked(*byte))?;
        if self.high_ack <= self.rescue_rxt {
            return None;
        }
        self.rescue_rxt = self.recovery_point;
        let first = (self.high_ack + 1..=last)
            .rev()
            .take_while(|byte| !self.is_sacked(*byte))
            .take(self.mss as usize);
        Some((first.last()?, last + 1))
    }
}

#[test]
fn the_scoreboard_is_the_text_of_the_rfc() {
    let mut rng = Rng::named(1, "scoreboard");
    let (mut again, mut rescued, mut fresh) = (0, 0, 0);
    for _ in 0..1500 {
        let mss = 1 + rng.below(4);
        let mut board = Scoreboard::default();
        let (mut una, mut max) = (0, mss * (4 + rng.below(12)));
        let mut literal = Literal {
            mss: mss as i64,
            high_ack: -1,
            high_data: max as i64 - 1,
            high_rxt: -1,
            rescue_rxt: -1,
            recovery_point: i64::MAX,
            sacked: BTreeSet::new(),
        };
        for step in 0..40 {
            let extent = |una, max| Extent { una, max, mss };
            if rng.chance(0.2) {
                una = (una + rng.below(2 * mss + 1)).min(max);
                // The byte at SND.UNA was not SACKed: the receiver would have acknowledged it.
                una += (una..max).take_while(|byte| literal.is_sacked(*byte as i64)).count() as u64;
            }
            let start = (una + 1 + rng.below(1 + max.saturating_sub(una + 1))).min(max);
            let block = Block { start, end: (start + rng.below(3 * mss)).min(max) };
            let news = (block.start..block.end).filter(|byte| !literal.is_sacked(*byte as i64)).count() > 0;
            assert_eq!(board.update(extent(una, max), [block].into_iter()), news);
            literal.sacked.extend((block.start..block.end).map(|byte| byte as i64));
            literal.high_ack = una as i64 - 1;
            literal.sacked.retain(|byte| *byte >= una as i64);
            if step == 5 {
                let end = board.next_gap(una, max).map_or(una, |gap| gap.1.min(una + mss));
                board.begin_recovery(end);
                (literal.high_rxt, literal.rescue_rxt) = (end as i64 - 1, end as i64 - 1);
            }
            let lost = (una..max).find(|byte| !literal.is_sacked(*byte as i64));
            assert_eq!(board.first_is_lost(una), lost == Some(una) && literal.is_lost(una as i64));
            assert_eq!(board.pipe(extent(una, max)) as i64, literal.pipe());
            if step < 5 || una == max {
                continue;
            }
            let new = rng.chance(0.4).then_some((max, max + mss));
            let next = board.next_segment(extent(una, max), new);
            let signed = |(start, end): (u64, u64)| (start as i64, end as i64);
            assert_eq!(next.map(signed), literal.next_segment(new.map(signed)));
            match next {
                Some(next) if Some(next) == new => {
                    (max, fresh) = (max + mss, fresh + 1);
                    literal.high_data = max as i64 - 1;
                }
                Some(_) if literal.rescue_rxt == i64::MAX => rescued += 1,
                Some(_) => again += 1,
                None => {}
            }
            assert_eq!(board.pipe(extent(una, max)) as i64, literal.pipe());
        }
    }
    assert!(again > 1000 && rescued > 100 && fresh > 1000, "{again} {rescued} {fresh}");
}
