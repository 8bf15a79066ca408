//! Packets of the named flow, and a pattern of traffic beside it.

use tidegate_core::rng::Rng;

pub const FULL: u32 = 1514;
/// The address of the named flow; others are in 10.0.0.0/8.
pub const CALLER: [u8; 4] = [192, 168, 7, 7];

/// An arriving packet: time in seconds, source address, and length.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub at: f64,
    pub from: [u8; 4],
    pub port: u16,
    pub len: u32,
}

/// A pattern of traffic beside the named flow.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub addresses: u64,
    /// Times the rate of the link.
    pub load: f64,
    /// Shortest and longest packet.
    pub sizes: (u32, u32),
    /// Packets in a row from one address.
    pub in_a_row: u64,
    /// Addresses come one after the other, rather than at random.
    pub in_turn: bool,
    pub seconds: f64,
}

/// The packets of a pattern and of the named flow, which sends each packet when its own line has
/// sent the one before, or later by up to `slack` packets' times. The lengths of the named flow are
/// drawn up to `longest`.
pub fn traffic(
    pattern: Pattern,
    rate: f64,
    reserve: f64,
    longest: u32,
    slack: f64,
    seed: u64,
) -> impl Iterator<Item = Arrival> {
    let (mut call, mut flood) = (Rng::named(seed, "call"), Rng::named(seed, "flood"));
    let (mut at, mut calls_at, mut number) = (0.0, 0.05, 0_u64);
    let mut address = 0;
    std::iter::from_fn(move || {
        if at > pattern.seconds && calls_at > pattern.seconds {
            return None;
        }
        if calls_at <= at {
            let len = 64 + call.below(u64::from(longest - 63)) as u32;
            let one = Arrival { at: calls_at, from: CALLER, port: 5004, len };
            calls_at += f64::from(len) * 8.0 / reserve * (1.0 + slack * call.unit());
            return Some(one);
        }
        if number % pattern.in_a_row == 0 {
            address = match pattern.in_turn {
                true => (address + 1) % pattern.addresses,
                false => flood.below(pattern.addresses),
            };
        }
        number += 1;
        let (least, most) = pattern.sizes;
        let len = least + flood.below(u64::from(most - least + 1)) as u32;
        let [_, b, c, d] = (address as u32).to_be_bytes();
        let one = Arrival { at, from: [10, b, c, d], port: 1000 + (number % 7) as u16, len };
        at += f64::from(len) * 8.0 / (rate * pattern.load) * 2.0 * flood.unit();
        Some(one)
    })
}
