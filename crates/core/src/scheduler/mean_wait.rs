//! The mean waiting time at a node, and the deviation from it that a packet carries to the next hop
//! (Clark, Shenker and Zhang 1992, section 6).

use crate::packet::Packet;
use crate::units::Time;

/// Mean of the waiting times of all packets served at a node, in whole ticks, rounded down.
#[derive(Default)]
pub(super) struct MeanWait {
    served: u64,
    /// Sum of the waiting times in ticks.
    waited: u128,
}

impl MeanWait {
    /// Counts a packet whose service begins at `now`, and adds its deviation from the mean, itself
    /// included, to the value that it carries.
    //= pincheira1994 2.3.3
    #[inline]
    pub(super) fn carry_deviation(&mut self, now: Time, packet: &mut Packet) {
        let waited = now.since(packet.arrived).ticks();
        self.served += 1;
        self.waited += u128::from(waited);
        // At most the longest wait, which fits in 64 bits.
        let mean = (self.waited / u128::from(self.served)) as u64;
        let deviation = i128::from(waited) - i128::from(mean);
        let carry = i128::from(packet.carry) + deviation;
        packet.carry = carry.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    }
}
