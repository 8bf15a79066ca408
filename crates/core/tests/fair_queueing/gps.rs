//! Generalized processor sharing (Parekh and Gallager 1993, section II) in exact rationals: a fluid
//! server that is advanced from event to event, with the rest of every packet.

use num_bigint::BigInt;
use num_integer::Integer;
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::{Add, Div, Mul, Sub};

/// A rational number in lowest terms, with a denominator above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ratio(BigInt, BigInt);

impl Ratio {
    pub fn new(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Ratio {
        let (mut numerator, mut denominator) = (numerator.into(), denominator.into());
        if denominator < BigInt::from(0) {
            (numerator, denominator) = (-numerator, -denominator);
        }
        let common = numerator.gcd(&denominator);
        Ratio(numerator / &common, denominator / common)
    }

    pub fn whole(number: u64) -> Ratio {
        Ratio(number.into(), 1.into())
    }

    /// The greatest whole number that is not above it.
    pub fn floor(&self) -> i128 {
        i128::try_from(self.0.div_floor(&self.1)).unwrap()
    }
}

impl Add for &Ratio {
    type Output = Ratio;
    fn add(self, other: &Ratio) -> Ratio {
        Ratio::new(&self.0 * &other.1 + &other.0 * &self.1, &self.1 * &other.1)
    }
}

impl Sub for &Ratio {
    type Output = Ratio;
    fn sub(self, other: &Ratio) -> Ratio {
        Ratio::new(&self.0 * &other.1 - &other.0 * &self.1, &self.1 * &other.1)
    }
}

impl Mul for &Ratio {
    type Output = Ratio;
    fn mul(self, other: &Ratio) -> Ratio {
        Ratio::new(&self.0 * &other.0, &self.1 * &other.1)
    }
}

impl Div for &Ratio {
    type Output = Ratio;
    fn div(self, other: &Ratio) -> Ratio {
        Ratio::new(&self.0 * &other.1, &self.1 * &other.0)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Ratio) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Ratio) -> Ordering {
        (&self.0 * &other.1).cmp(&(&other.0 * &self.1))
    }
}

/// Rest of a packet, and the weight at which it is served.
struct Left {
    body: u32,
    bytes: Ratio,
    weight: u64,
}

/// The fluid server.
pub struct Gps {
    /// Bytes per tick.
    rate: Ratio,
    now: Ratio,
    flows: Vec<VecDeque<Left>>,
    /// Time at which each body was served, by its number; bodies are numbered from 1.
    pub finished: Vec<Option<Ratio>>,
}

impl Gps {
    /// A server that takes `ticks_per_byte` ticks a byte.
    pub fn new(now: u64, ticks_per_byte: u64) -> Gps {
        Gps {
            rate: Ratio::new(1, ticks_per_byte),
            now: Ratio::whole(now),
            flows: Vec::new(),
            finished: vec![None],
        }
    }

    /// Changes the rate from now on.
    pub fn set_rate(&mut self, ticks_per_byte: u64) {
        self.rate = Ratio::new(1, ticks_per_byte);
    }

    pub fn arrive(&mut self, flow: usize, body: u32, len: u32, weight: u64) {
        self.flows.resize_with(self.flows.len().max(flow + 1), VecDeque::new);
        self.finished.resize(self.finished.len().max(body as usize + 1), None);
        self.flows[flow].push_back(Left { body, bytes: Ratio::whole(len.into()), weight });
    }

    /// Removes the rest of the flow's latest packet, if it is this one.
    pub fn remove(&mut self, flow: usize, body: u32) {
        if self.flows[flow].back().is_some_and(|last| last.body == body) {
            self.flows[flow].pop_back();
        }
    }

    fn step(&mut self, until: Option<&Ratio>) -> bool {
        let firsts = || self.flows.iter().filter_map(|flow| flow.front());
        let weights: u64 = firsts().map(|first| first.weight).sum();
        if weights == 0 {
            return false;
        }
        let share = |weight: u64| &self.rate * &Ratio::new(weight, weights);
        let soonest = firsts().map(|first| &first.bytes / &share(first.weight)).min().unwrap();
        let span = match until.map(|until| until - &self.now) {
            Some(left) if left < soonest => left,
            _ => soonest,
        };
        let shares: Vec<Ratio> = self
            .flows
            .iter()
            .map(|flow| flow.front().map_or(Ratio::whole(0), |first| share(first.weight)))
            .collect();
        self.now = &self.now + &span;
        for (flow, share) in self.flows.iter_mut().zip(shares) {
            let Some(first) = flow.front_mut() else { continue };
            first.bytes = &first.bytes - &(&share * &span);
            if first.bytes == Ratio::whole(0) {
                self.finished[first.body as usize] = Some(self.now.clone());
                flow.pop_front();
            }
        }
        until.is_none_or(|until| self.now < *until)
    }

    /// Serves until then.
    pub fn advance(&mut self, until: u64) {
        let until = Ratio::whole(until);
        while self.now < until && self.step(Some(&until)) {}
        self.now = until;
    }

    /// Serves all packets to their end.
    pub fn drain(&mut self) {
        while self.step(None) {}
    }
}
