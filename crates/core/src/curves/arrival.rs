//! Arrival curves: the least of several token buckets.

use super::Exact;
use alloc::vec;
use alloc::vec::Vec;
use num_traits::Zero;

/// A token bucket: at most `burst + rate · t` bytes over any time t.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bucket {
    /// In bytes.
    pub burst: Exact,
    /// In bytes a second.
    pub rate: Exact,
}

impl Bucket {
    fn at(&self, time: &Exact) -> Exact {
        &self.burst + &self.rate * time
    }
}

/// A concave arrival curve: the least of several token buckets, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrivalCurve {
    /// Buckets that are the least one over some time, in the order of these times: bursts grow, and
    /// rates fall.
    buckets: Vec<Bucket>,
}

impl ArrivalCurve {
    /// A token bucket.
    pub fn bucket(burst: Exact, rate: Exact) -> ArrivalCurve {
        ArrivalCurve { buckets: vec![Bucket { burst, rate }] }
    }

    /// No traffic.
    pub fn zero() -> ArrivalCurve {
        ArrivalCurve::bucket(Exact::zero(), Exact::zero())
    }

    /// The least of these buckets; `None` of none.
    pub fn least(buckets: impl IntoIterator<Item = Bucket>) -> Option<ArrivalCurve> {
        let mut all: Vec<Bucket> = buckets.into_iter().collect();
        all.sort();
        let mut least: Vec<Bucket> = Vec::new();
        for bucket in all {
            if least.last().is_some_and(|last| last.rate <= bucket.rate) {
                continue;
            }
            // The last one is nowhere the least if this one takes over from the one before it first.
            while let [.., before, last] = least.as_slice()
                && meet(before, &bucket) <= meet(before, last)
            {
                least.pop();
            }
            least.push(bucket);
        }
        (!least.is_empty()).then_some(ArrivalCurve { buckets: least })
    }

    /// The buckets: bursts grow, and rates fall.
    pub fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }

    /// The bucket of the longest times: the sustained rate, with its burst.
    pub fn sustained(&self) -> &Bucket {
        // There is at least one.
        &self.buckets[self.buckets.len() - 1]
    }

    /// The traffic of a moment.
    pub fn burst(&self) -> &Exact {
        &self.buckets[0].burst
    }

    /// Most bytes over a closed interval of this length.
    pub fn at(&self, time: &Exact) -> Exact {
        &self.buckets[self.index_at(time)].burst + &self.buckets[self.index_at(time)].rate * time
    }

    /// The rate just after this time.
    pub(super) fn rate_after(&self, time: &Exact) -> &Exact {
        &self.buckets[self.index_at(time)].rate
    }

    /// Index of the bucket that is the least just after this time.
    fn index_at(&self, time: &Exact) -> usize {
        self.corners().iter().filter(|corner| *corner <= time).count()
    }

    /// Times at which another bucket becomes the least.
    pub(super) fn corners(&self) -> Vec<Exact> {
        self.buckets.windows(2).map(|pair| meet(&pair[0], &pair[1])).collect()
    }

    /// The least of both.
    #[must_use]
    pub fn and_at_most(&self, other: &ArrivalCurve) -> ArrivalCurve {
        let both = self.buckets.iter().chain(&other.buckets).cloned();
        ArrivalCurve::least(both).unwrap_or_else(ArrivalCurve::zero)
    }

    /// The traffic of both.
    #[must_use]
    pub fn and(&self, other: &ArrivalCurve) -> ArrivalCurve {
        let mut times: Vec<Exact> = [self.corners(), other.corners(), vec![Exact::zero()]].concat();
        times.sort();
        times.dedup();
        let sum = |time: &Exact| {
            let (one, two) = (&self.buckets[self.index_at(time)], &other.buckets[other.index_at(time)]);
            Bucket { burst: &one.burst + &two.burst, rate: &one.rate + &two.rate }
        };
        ArrivalCurve { buckets: times.iter().map(sum).collect() }
    }

    /// The traffic of all.
    pub fn sum<'a>(curves: impl IntoIterator<Item = &'a ArrivalCurve>) -> ArrivalCurve {
        curves.into_iter().fold(ArrivalCurve::zero(), |sum, curve| sum.and(curve))
    }

    /// The traffic of all but one, for each of them; `None` if one of the others has no curve.
    pub fn sums_of_others(curves: &[Option<&ArrivalCurve>]) -> Vec<Option<ArrivalCurve>> {
        let add =
            |sum: &Option<ArrivalCurve>, curve: &Option<&ArrivalCurve>| Some(sum.as_ref()?.and((*curve)?));
        let mut behind = vec![Some(ArrivalCurve::zero())];
        for curve in curves.iter().skip(1).rev() {
            behind.push(add(&behind[behind.len() - 1], curve));
        }
        let mut before = Some(ArrivalCurve::zero());
        let mut sums = Vec::new();
        for (curve, behind) in curves.iter().zip(behind.iter().rev()) {
            sums.push(before.as_ref().zip(behind.as_ref()).map(|(before, behind)| before.and(behind)));
            before = add(&before, curve);
        }
        sums
    }

    /// The traffic behind a server in which no packet spends more than `delay`: what leaves over a
    /// time t has arrived over at most t and the delay.
    #[must_use]
    pub fn behind(&self, delay: &Exact) -> ArrivalCurve {
        let later = |bucket: &Bucket| Bucket { burst: bucket.at(delay), rate: bucket.rate.clone() };
        // Buckets that the delay has passed are no longer the least.
        ArrivalCurve { buckets: self.buckets[self.index_at(delay)..].iter().map(later).collect() }
    }
}

/// The time at which the second bucket, of a larger burst and a lower rate, becomes the lesser.
fn meet(first: &Bucket, second: &Bucket) -> Exact {
    (&second.burst - &first.burst) / (&first.rate - &second.rate)
}
