//! Hosts that have conversations of short packets, and start others with long ones.

use crate::traffic::{Arrival, CALLER, FULL};
use tidegate_core::rng::Rng;

/// Greatest number of hosts.
pub const MOST_HOSTS: u64 = 40;

/// Draws the traffic of some hosts beside a named flow that keeps to its reservation.
pub fn mixed(seed: u64, rate: f64, reserve: f64) -> Vec<Arrival> {
    const SECONDS: f64 = 2.0;
    let rng = &mut Rng::named(seed, "mixed");
    let hosts = 1 + rng.below(MOST_HOSTS);
    let load = 0.3 + 3.0 * rng.unit();
    // Conversations with long packets start at all hosts at once, or at one.
    let (at_once, ports, in_a_row) = (rng.chance(0.5), 1 + rng.below(200), 1 + rng.below(4));
    let (short, share_of_short) = (64 + rng.below(400) as u32, rng.unit());
    let mut all = Vec::new();
    let mut sent = 0.0;
    let time = |bytes: f64| bytes * 8.0 / (rate * load);
    while time(sent) < SECONDS {
        let at = time(sent);
        let host = rng.below(hosts);
        let mut send = |host: u64, port: u64, len: u32| {
            sent += f64::from(len);
            all.push(Arrival { at, from: [10, 0, 0, host as u8], port: port as u16, len });
        };
        if rng.chance(share_of_short) {
            send(host, 1000, short);
            continue;
        }
        for host in if at_once { 0..hosts } else { host..host + 1 } {
            (0..in_a_row).for_each(|_| send(host, 2000 + rng.below(ports), FULL));
        }
    }
    let slack = [0.0, 0.5, 3.0, 20.0][rng.below(4) as usize];
    let mut at = 0.05;
    while at < SECONDS {
        let len = 64 + rng.below(150) as u32;
        all.push(Arrival { at, from: CALLER, port: 5004, len });
        at += f64::from(len) * 8.0 / reserve * (1.0 + slack * rng.unit());
    }
    all.sort_by(|a, b| a.at.total_cmp(&b.at));
    all
}
