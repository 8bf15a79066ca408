//! Max-min fair allocation of link capacity to flows, computed exactly (Bertsekas and Gallager
//! 1992, section 6.5.2; ATM TM 4.0, appendix I.3).
//!
//! An allocation is max-min fair if no flow can have more except at the expense of a flow that has
//! no more than it. Each flow has `minimum + weight · share`, where the share is that of the first
//! of its links to fill. This is TM 4.0's "max-min" with weight 1 and no minimum, "MCR plus equal
//! share" with the MCR, and "weighted" with weights.
//!
//! All links are filled at once: the share of every flow rises until a link is full; the flows of
//! that link then keep theirs.
//!
//! # Examples
//!
//! ```
//! use tidegate_core::maxmin::{Demand, Exact, allocate};
//!
//! // One flow crosses both links, beside one flow on the first and three on the second.
//! let capacities = [Exact::from_integer(10), Exact::from_integer(10)];
//! let flows = [&[0, 1][..], &[0], &[1], &[1], &[1]].map(Demand::of);
//! let rates = allocate(&capacities, &flows)?;
//! assert_eq!(rates[0], Exact::new(10, 4));
//! assert_eq!(rates[1], Exact::new(30, 4));
//! # Ok::<(), tidegate_core::maxmin::Unallocatable>(())
//! ```

use alloc::vec;
use alloc::vec::Vec;
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Zero};
use thiserror::Error;

/// An exact rate, weight or capacity.
pub type Exact = Ratio<u128>;

/// A flow that demands capacity on each of its links.
#[derive(Clone, Debug)]
pub struct Demand {
    /// Indexes of its links, each once.
    pub links: Vec<usize>,
    /// Its weight, above zero.
    pub weight: Exact,
    /// Its guaranteed minimum: the MCR.
    pub minimum: Exact,
}

impl Demand {
    /// A flow of weight 1 without a minimum.
    pub fn of(links: &[usize]) -> Demand {
        Demand { links: links.to_vec(), weight: Exact::from_integer(1), minimum: Exact::zero() }
    }
}

/// The reason for which no allocation exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unallocatable {
    /// A flow has no link, so that its rate is unbounded.
    #[error("flow {flow} passes no link")]
    NoLink {
        /// The flow's index.
        flow: usize,
    },
    /// A flow passes a link that does not exist.
    #[error("flow {flow} passes link {link}, which does not exist")]
    UnknownLink {
        /// The flow's index.
        flow: usize,
        /// The link's index.
        link: usize,
    },
    /// A flow has a weight of zero.
    #[error("flow {flow} has no weight")]
    NoWeight {
        /// The flow's index.
        flow: usize,
    },
    /// The minima of the flows of a link exceed its capacity.
    #[error("the minima of the flows of link {link} are more than it carries")]
    Minima {
        /// The link's index.
        link: usize,
    },
    /// A figure does not fit into 128-bit integers.
    #[error("these figures are too large to be computed exactly")]
    TooLarge,
}

/// Computes the rate of each flow, in the unit of the capacities of the links.
///
/// # Errors
/// When a flow has no link, an unknown link or no weight, minima do not fit, or a figure is too
/// large.
pub fn allocate(capacities: &[Exact], flows: &[Demand]) -> Result<Vec<Exact>, Unallocatable> {
    check(capacities, flows)?;
    let mut links = Links::new(capacities, flows)?;
    let mut rates: Vec<Option<Exact>> = vec![None; flows.len()];
    //= kung1997 4
    while let Some(share) = links.next_share()? {
        let full = links.at(share)?;
        for (flow, rate) in flows.iter().zip(&mut rates) {
            if rate.is_none() && flow.links.iter().any(|link| full[*link]) {
                let above = times(flow.weight, share)?;
                *rate = Some(plus(flow.minimum, above)?);
                links.fix(flow, above)?;
            }
        }
    }
    Ok(rates.into_iter().map(Option::unwrap_or_default).collect())
}

fn check(capacities: &[Exact], flows: &[Demand]) -> Result<(), Unallocatable> {
    for (ix, flow) in flows.iter().enumerate() {
        if flow.links.is_empty() {
            return Err(Unallocatable::NoLink { flow: ix });
        }
        if let Some(link) = flow.links.iter().find(|link| **link >= capacities.len()) {
            return Err(Unallocatable::UnknownLink { flow: ix, link: *link });
        }
        if flow.weight.is_zero() {
            return Err(Unallocatable::NoWeight { flow: ix });
        }
    }
    Ok(())
}

/// Capacity left on the links for the flows whose shares still rise.
struct Links {
    /// Capacity less the minima and the fixed rates above them.
    left: Vec<Exact>,
    /// Weights of the flows that are not fixed.
    weights: Vec<Exact>,
}

impl Links {
    fn new(capacities: &[Exact], flows: &[Demand]) -> Result<Links, Unallocatable> {
        let mut links = Links { left: capacities.to_vec(), weights: vec![Exact::zero(); capacities.len()] };
        for flow in flows {
            for &link in &flow.links {
                let left = links.left[link].checked_sub(&flow.minimum);
                links.left[link] = left.ok_or(Unallocatable::Minima { link })?;
                links.weights[link] = plus(links.weights[link], flow.weight)?;
            }
        }
        Ok(links)
    }

    /// The share at which the next link is full; `None` when every flow is fixed.
    fn next_share(&self) -> Result<Option<Exact>, Unallocatable> {
        let mut least: Option<Exact> = None;
        for (left, weight) in self.left.iter().zip(&self.weights).filter(|(_, weight)| !weight.is_zero()) {
            let share = left.checked_div(weight).ok_or(Unallocatable::TooLarge)?;
            least = Some(least.map_or(share, |least| least.min(share)));
        }
        Ok(least)
    }

    /// Returns, for each link, true if it is full at this share.
    fn at(&self, share: Exact) -> Result<Vec<bool>, Unallocatable> {
        let is_full =
            |(left, weight): (&Exact, &Exact)| Ok(!weight.is_zero() && times(*weight, share)? == *left);
        self.left.iter().zip(&self.weights).map(is_full).collect()
    }

    /// Fixes the rate of a flow at `above` more than its minimum.
    fn fix(&mut self, flow: &Demand, above: Exact) -> Result<(), Unallocatable> {
        for &link in &flow.links {
            let left = self.left[link].checked_sub(&above);
            self.left[link] = left.ok_or(Unallocatable::TooLarge)?;
            let weight = self.weights[link].checked_sub(&flow.weight);
            self.weights[link] = weight.ok_or(Unallocatable::TooLarge)?;
        }
        Ok(())
    }
}

fn plus(one: Exact, other: Exact) -> Result<Exact, Unallocatable> {
    one.checked_add(&other).ok_or(Unallocatable::TooLarge)
}

fn times(one: Exact, other: Exact) -> Result<Exact, Unallocatable> {
    one.checked_mul(&other).ok_or(Unallocatable::TooLarge)
}
