//! Connections whose control has a model of the path: it sets the window at each acknowledgement,
//! also during recovery, by samples of the delivery rate.

use super::Sender;
use crate::endpoint::tcp::congestion::{Delivery, Repair};
use crate::endpoint::tcp::rack::Arrived;
use crate::endpoint::tcp::rates::Rates;
use crate::rng::Rng;
use crate::units::Time;

/// Bytes in the network and bytes found to be lost before an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    flight: u64,
    lost: u64,
}

impl Sender {
    /// Gives the congestion control a random stream of its own, from the endpoint's.
    pub(in crate::endpoint::tcp) fn draw_from(&mut self, rng: &Rng) {
        if self.by_model {
            let seed = rng.clone().bits();
            self.congestion.draw_from(Rng::named(seed, "congestion control"));
        }
    }

    fn rates(&mut self) -> Option<&mut Rates> {
        self.rack.as_mut().and_then(|rack| rack.rates.as_deref_mut())
    }

    /// State before an acknowledgement, if a model asks for it.
    pub(super) fn before(&self) -> Option<Before> {
        let rack = self.rack.as_ref()?;
        let lost = rack.rates.as_ref()?.lost();
        Some(Before { flight: rack.pipe(), lost })
    }

    /// Lets the model set the window after an acknowledgement.
    pub(super) fn rule(&mut self, now: Time, arrived: Arrived, before: Option<Before>) {
        let Some(before) = before else { return };
        let (flight, is_recovering) = (self.outstanding(), self.recovery.active);
        let repair = match self.una < self.recovery.recover {
            true if is_recovering => Repair::Recovery,
            true => Repair::Timeout,
            false => Repair::None,
        };
        let Some(rack) = &mut self.rack else { return };
        let min_rtt = rack.min_rtt();
        let Some(rates) = &mut rack.rates else { return };
        let sample = rates.sample(min_rtt);
        let ruling = self.congestion.delivered(&Delivery {
            now,
            total: rates.delivered(),
            arrived: arrived.bytes,
            lost: rates.lost() - before.lost,
            sample,
            rtt: arrived.last,
            prior_flight: before.flight,
            flight,
            repair,
        });
        if ruling.limits_samples {
            rates.limit(flight);
        }
    }

    /// Tells the model that data leave with nothing in the network before.
    pub(super) fn resume(&mut self, now: Time) {
        if !self.by_model || self.outstanding() > 0 {
            return;
        }
        if self.max == 0 {
            self.congestion.begin(now, self.timer.srtt());
        } else if self.rates().is_some_and(|rates| rates.is_limited()) {
            self.congestion.resumed(now);
        }
    }

    /// Records that the window has room for more data than the application has.
    pub(super) fn limit_samples(&mut self) {
        let flight = self.outstanding();
        if self.by_model && self.next_new().is_none() && flight < self.congestion.cwnd() {
            self.rates().into_iter().for_each(|rates| rates.limit(flight));
        }
    }
}
