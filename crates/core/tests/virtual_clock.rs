//! VirtualClock shares an overloaded link in proportion to the reservations, within one packet
//! a flow at every instant, whatever the sizes of the packets.
//!
//! Packets are served in the order of their stamps, and flow j's stamps are its bytes over its
//! reservation. So when a packet has just been picked, for all flows i and j that are backlogged,
//! `bytes_i / reserve_i − bytes_j / reserve_j ≤ next_j / reserve_j`, where `next_j` is the
//! size of the packet that j has in front: one packet, and exact.

mod common;

use common::{World, kind, pick, rate, reserved, rounds};
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::units::Rate;

const BITS: &[u64] = &[64_000, 192_000, 100_000, 300_000, 33_333, 1_000_000];
/// Half a tick a packet, and rates in 2⁻²⁴ ticks a byte: far below one byte.
const ROUNDING: i128 = 1;

struct Greedy {
    leg: Leg,
    bits: u64,
    sizes: Vec<u32>,
    served: u64,
}

struct Overload {
    world: World,
    flows: Vec<Greedy>,
    link: Rate,
}

impl Overload {
    /// Flows whose reservations fill `load` hundredths of the link.
    fn new(rng: &mut Rng, load: u64) -> Overload {
        let mut world = World::with(kind("virtual-clock"));
        world.audited = false;
        let mut flows = Vec::new();
        for _ in 0..2 + rng.below(19) {
            let bits = pick(rng, BITS);
            // Some flows send only small packets, some only large ones, some both.
            let sizes = match rng.below(4) {
                0 => vec![40],
                1 => vec![9000],
                2 => vec![40, 1500, 9000],
                _ => (0..5).map(|_| 40 + rng.below(8961) as u32).collect(),
            };
            flows.push(Greedy { leg: world.open(0, &reserved(bits)), bits, sizes, served: 0 });
        }
        let total: u64 = flows.iter().map(|flow| flow.bits).sum();
        Overload { world, flows, link: rate(total * 100 / load) }
    }

    fn send_one_more(&mut self, rng: &mut Rng, flow: usize) {
        let size = pick(rng, &self.flows[flow].sizes);
        self.world.arrive(&[self.flows[flow].leg], size);
    }

    /// Serves one packet, checks the shares and returns its flow.
    fn serve(&mut self) -> usize {
        let packet = self.world.start(0).unwrap();
        let flow = packet.flow.ix();
        self.flows[flow].served += u64::from(packet.len);
        self.world.now += self.link.time_for(packet.len);
        self.world.finish(0);
        for ahead in &self.flows {
            for behind in &self.flows {
                let largest = i128::from(*behind.sizes.iter().max().unwrap());
                let product = |bytes: u64, bits: u64| i128::from(bytes) * i128::from(bits);
                let gap = product(ahead.served, behind.bits) - product(behind.served, ahead.bits);
                assert!(
                    gap <= (largest + ROUNDING) * i128::from(ahead.bits),
                    "flow {} of {} bit/s was served {} bytes, flow {} of {} bit/s {}",
                    ahead.leg.flow.0,
                    ahead.bits,
                    ahead.served,
                    behind.leg.flow.0,
                    behind.bits,
                    behind.served
                );
            }
        }
        flow
    }
}

/// All packets are there from the start: the link's rate plays no part, not even where the
/// reservations exceed it.
#[test]
fn shares_equal_reservations_when_all_is_queued_at_once() {
    for seed in 0..rounds(12) {
        let mut rng = Rng::named(seed, "at once");
        let mut overload = Overload::new(&mut rng, 150);
        let mut waiting = vec![300_u32; overload.flows.len()];
        for _ in 0..300 {
            (0..waiting.len()).for_each(|flow| overload.send_one_more(&mut rng, flow));
        }
        // Up to the first flow that is no longer backlogged.
        loop {
            let flow = overload.serve();
            waiting[flow] -= 1;
            if waiting[flow] == 0 {
                break;
            }
        }
    }
}

/// Every flow sends a packet for each that leaves, on a link that its reservations do not fill:
/// the clocks run ahead of time, and the surplus is shared by reservation too.
#[test]
fn shares_equal_reservations_when_flows_keep_their_queues_filled() {
    for seed in 0..rounds(12) {
        let mut rng = Rng::named(seed, "kept filled");
        let mut overload = Overload::new(&mut rng, 40 + seed % 50);
        for flow in 0..overload.flows.len() {
            (0..4).for_each(|_| overload.send_one_more(&mut rng, flow));
        }
        for _ in 0..3000 {
            let flow = overload.serve();
            overload.send_one_more(&mut rng, flow);
        }
    }
}

/// Three to one, by hand: nine packets of the fast flow for three of the slow one, ties in the
/// order of arrival.
#[test]
fn three_to_one_by_hand() {
    let mut world = World::with(kind("virtual-clock"));
    let (fast, slow) = (world.open(0, &reserved(300_000)), world.open(0, &reserved(100_000)));
    for _ in 0..9 {
        world.arrive(&[slow], 1000);
        world.arrive(&[fast], 1000);
    }
    let order: Vec<u32> = (0..12).map(|_| world.send(0).unwrap().flow.0).collect();
    let (f, s) = (fast.flow.0, slow.flow.0);
    // The third of the fast flow and the first of the slow one have equal stamps.
    assert_eq!(order, [f, f, s, f, f, f, s, f, f, f, s, f]);
}

/// The size counts: flows with equal reservations get equal bytes, not equal packets.
#[test]
fn clocks_advance_by_bytes() {
    let mut world = World::with(kind("virtual-clock"));
    let (large, small) = (world.open(0, &reserved(64_000)), world.open(0, &reserved(64_000)));
    for _ in 0..100 {
        world.arrive(&[large], 1500);
        world.arrive(&[small], 150);
    }
    let first: Vec<u32> = (0..44).map(|_| world.send(0).unwrap().flow.0).collect();
    let sent_large = first.iter().filter(|flow| **flow == large.flow.0).count();
    assert_eq!(sent_large, 4);
}
