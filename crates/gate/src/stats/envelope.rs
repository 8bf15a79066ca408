//! The token bucket of a flow that reserves, and the packets that came beyond it.

use tidegate_core::contract::Contract;
use tidegate_core::shaper::TokenBucket;
use tidegate_core::units::Time;

/// A flow's bucket, which its reservation fills and which holds its workahead.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    contract: Contract,
    bucket: TokenBucket,
    /// Packets that came when the bucket had less than their bytes; they took none.
    pub(crate) beyond: u64,
}

impl Envelope {
    /// Returns the envelope of a flow with this contract, whose bucket is full; `None` for a
    /// contract without a reservation and a workahead.
    pub(crate) fn of(contract: &Contract) -> Option<Envelope> {
        let bucket = TokenBucket::new(contract.reserve?, contract.committed_burst()?);
        Some(Envelope { contract: *contract, bucket, beyond: 0 })
    }

    /// Returns the envelope of the flow with a new contract: the same while its bucket is the same.
    pub(crate) fn changed(before: Option<Envelope>, contract: &Contract) -> Option<Envelope> {
        let now = Envelope::of(contract)?;
        let Some(before) = before else { return Some(now) };
        let terms = |one: &Envelope| (one.contract.reserve, one.contract.committed_burst());
        Some(if terms(&before) == terms(&now) { before } else { Envelope { beyond: before.beyond, ..now } })
    }

    /// Notes that a packet of `len` bytes arrives.
    pub(crate) fn see(&mut self, now: Time, len: u32) {
        match self.bucket.conforms_at(len) <= now {
            true => self.bucket.take(now, len),
            false => self.beyond += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_core::units::{Rate, Span};

    fn contract(bits: u64, workahead: u32) -> Contract {
        let reserve = Rate::from_bits_per_second(bits);
        Contract { reserve, workahead: Some(workahead), ..Contract::default() }
    }

    #[test]
    fn packets_beyond_the_bucket_are_counted_and_take_nothing() {
        // 1,000 bytes each 8 ms, and 2,000 at once.
        let mut envelope = Envelope::of(&contract(1_000_000, 2_000)).unwrap();
        for (millis, beyond) in [(0, 0), (0, 0), (0, 1), (7, 2), (8, 2), (8, 3), (24, 3), (24, 3), (24, 4)] {
            envelope.see(Time::ORIGIN + Span::from_millis(millis), 1_000);
            assert_eq!(envelope.beyond, beyond, "at {millis} ms");
        }
    }

    #[test]
    fn a_flow_needs_a_reservation_and_a_workahead() {
        assert!(Envelope::of(&Contract::default()).is_none());
        assert!(Envelope::of(&Contract { workahead: None, ..contract(1_000_000, 1) }).is_none());
        let interval = Some(Span::from_millis(16));
        assert!(Envelope::of(&Contract { workahead: None, interval, ..contract(1_000_000, 1) }).is_some());
    }

    #[test]
    fn a_new_contract_keeps_the_count_and_an_equal_one_the_bucket() {
        let mut envelope = Envelope::of(&contract(1_000_000, 1_000)).unwrap();
        envelope.see(Time::ORIGIN, 1_000);
        envelope.see(Time::ORIGIN, 1_000);
        let mut same = Envelope::changed(Some(envelope.clone()), &contract(1_000_000, 1_000)).unwrap();
        same.see(Time::ORIGIN, 1_000);
        assert_eq!(same.beyond, 2);
        let mut other = Envelope::changed(Some(envelope), &contract(2_000_000, 1_000)).unwrap();
        other.see(Time::ORIGIN, 1_000);
        assert_eq!(other.beyond, 1);
        assert!(Envelope::changed(Some(other), &Contract::default()).is_none());
    }
}
