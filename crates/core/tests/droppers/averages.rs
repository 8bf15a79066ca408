//! The average queue and the spread of drops from their definitions, over the whole history.

use tidegate_core::rng::Rng;
use tidegate_core::units::{Rate, TICKS_PER_SECOND, Time};

/// Contribution of one arrival to the history of an average.
enum Sample {
    Queue(f64),
    /// An idle link, with the number of packets that it could have sent.
    Idle(f64),
}

/// Rates over time: each from its time on.
#[derive(Default)]
pub struct Rates(pub Vec<(Time, Option<Rate>)>);

impl Rates {
    /// Number of packets of this length that could have been sent in this time; one, when the rate
    /// is not known at its end.
    fn packets(&self, from: Time, to: Time, len: f64) -> f64 {
        let mut sum = 0.0;
        for (ix, (since, rate)) in self.0.iter().enumerate() {
            let until = self.0.get(ix + 1).map_or(to, |(next, _)| *next);
            let (begin, end) = ((*since).max(from), until.min(to));
            if let Some(rate) = rate {
                let seconds = end.since(begin).ticks() as f64 / TICKS_PER_SECOND as f64;
                sum += seconds * rate.bits_per_second() / (8.0 * len);
            }
        }
        sum + f64::from(u8::from(self.0.last().is_none_or(|(_, rate)| rate.is_none())))
    }
}

/// An average queue that remembers every arrival.
#[derive(Default)]
pub struct Average {
    samples: Vec<Sample>,
    emptied: Option<Time>,
}

impl Average {
    pub fn arrive(&mut self, now: Time, queue: f64, rates: &Rates, typical: f64) {
        if queue > 0.0 {
            self.samples.push(Sample::Queue(queue));
        } else {
            let since = self.emptied.unwrap_or(now);
            self.samples.push(Sample::Idle(rates.packets(since, now, typical)));
            self.emptied = Some(now);
        }
    }

    pub fn emptied(&mut self, now: Time) {
        self.emptied = Some(now);
    }

    /// Σ w (1 − w)^(number of later samples) q, from the latest sample back.
    pub fn value(&self, weight: f64) -> f64 {
        let (mut sum, mut factor) = (0.0, 1.0);
        for sample in self.samples.iter().rev() {
            if factor < 1e-25 {
                break;
            }
            match sample {
                Sample::Queue(queue) => {
                    sum += factor * weight * queue;
                    factor *= 1.0 - weight;
                }
                Sample::Idle(packets) => factor *= (1.0 - weight).powf(*packets),
            }
        }
        sum
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, PartialEq)]
pub enum Fate {
    /// The average was below its thresholds.
    Below,
    Passed,
    Chosen,
}

/// Returns true if a packet is chosen, with p_a = p_b / (1 − count p_b).
pub fn chooses(fates: &[Fate], p_b: f64, rng: &mut Rng) -> bool {
    let count = fates.iter().rev().take_while(|fate| **fate == Fate::Passed).count() as f64;
    if count * p_b >= 1.0 {
        return true;
    }
    let p_a = p_b / (1.0 - count * p_b);
    p_a >= 1.0 || rng.unit() <= p_a
}
