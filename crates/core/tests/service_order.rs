//! Every packet that a scheduler sends is the one that a brute-force search over all waiting
//! packets finds: long random workloads with gates, changes, idle periods and equal stamps.

mod common;

use common::oracle::{Oracle, Rule};
use common::{World, kind, pick, rate, rounds};
use tidegate_core::contract::Contract;
use tidegate_core::packet::Leg;
use tidegate_core::rng::Rng;
use tidegate_core::scheduler::Participation;
use tidegate_core::switch::plan::{FlowPlan, PortPlan, SwitchPlan};
use tidegate_core::units::Span;

/// Whole numbers of ticks a byte, so that stamps often coincide.
const ROUND_RATES: &[u64] = &[1_000_000, 2_000_000, 4_000_000, 8_000_000];
const ODD_RATES: &[u64] = &[33_333, 1_234_567, 999_983, 7];
const SIZES: &[u32] = &[40, 500, 1000, 1000, 1500, 9000];
/// Transmission time of 500 bytes at 8 Mbit/s.
const STEP: Span = Span::from_micros(500);

fn contract(rng: &mut Rng, odd: bool) -> Contract {
    let reserve = rate(pick(rng, if odd { ODD_RATES } else { ROUND_RATES }));
    let datagram = rng.chance(0.2);
    Contract { reserve: (!datagram).then_some(reserve), priority: rng.below(3) as u8, ..Contract::default() }
}

struct Twins {
    world: World,
    oracle: Oracle,
    legs: Vec<Leg>,
    plan: SwitchPlan,
    arrived: u64,
}

impl Twins {
    fn new(rule: Rule) -> Twins {
        let plan = SwitchPlan {
            ports: vec![PortPlan::new(kind(rule.name()))],
            buffer: None,
            ..SwitchPlan::default()
        };
        Twins { world: World::new(&plan), oracle: Oracle::new(rule), legs: Vec::new(), plan, arrived: 0 }
    }

    fn open(&mut self, contract: Contract) {
        self.legs.push(self.world.open(0, &FlowPlan { contract, ..FlowPlan::default() }));
        self.oracle.open(contract);
    }

    fn arrive(&mut self, flow: usize, len: u32) {
        let body = self.world.arrive(&[self.legs[flow]], len);
        self.arrived += 1;
        self.oracle.arrive(self.world.now, flow, body, len, self.arrived);
    }

    fn change(&mut self, flow: usize, contract: Contract) {
        let change = (self.legs[flow], FlowPlan { contract, ..FlowPlan::default() });
        self.world.reconfigure(&self.plan, &[change]);
        self.oracle.set(self.world.now, flow, contract);
    }

    fn take_part(&mut self, flow: usize, how: Participation) {
        self.world.take_part(self.legs[flow], how);
        self.oracle.take_part(self.world.now, flow, how);
    }

    /// Ends the service, if there is one, or starts the next.
    fn turn(&mut self, what: &str) {
        if self.oracle.in_service.take().is_some() {
            self.world.finish(0);
        } else {
            let sent = self.world.start(0).map(|packet| packet.body.0);
            assert_eq!(sent, self.oracle.start(), "{what}");
        }
    }

    fn drain(&mut self, what: &str) {
        (0..self.legs.len()).for_each(|flow| self.take_part(flow, Participation::Active));
        while self.oracle.packets() > 0 {
            self.turn(what);
        }
        assert_eq!(self.world.start(0), None);
    }
}

#[test]
fn the_packet_sent_is_the_one_that_brute_force_finds() {
    for rule in Rule::ALL {
        for seed in 0..rounds(20) {
            let mut rng = Rng::named(seed, rule.name());
            let odd = seed % 2 == 1;
            let mut twins = Twins::new(rule);
            for _ in 0..2 + rng.below(8) {
                twins.open(contract(&mut rng, odd));
            }
            for step in 0..600 {
                let what = format!("{rule:?}, seed {seed}, step {step}");
                let flow = rng.below(twins.legs.len() as u64) as usize;
                match rng.below(100) {
                    0..45 => twins.arrive(flow, pick(&mut rng, SIZES)),
                    45..80 => twins.turn(&what),
                    80..90 => twins.world.wait(Span::from_ticks(STEP.ticks() * rng.below(4))),
                    90..96 => twins.take_part(
                        flow,
                        pick(&mut rng, &[Participation::Active, Participation::Held, Participation::Absent]),
                    ),
                    96..98 => {
                        let before = twins.oracle.flows[flow].contract.reserve;
                        let mut wanted = contract(&mut rng, odd);
                        wanted.reserve = wanted.reserve.or(before);
                        twins.change(flow, wanted);
                    }
                    98 => twins.open(contract(&mut rng, odd)),
                    // The link catches up, and may idle.
                    _ => {
                        (0..rng.below(60)).for_each(|_| twins.turn(&what));
                        twins.world.wait(Span::from_millis(rng.below(2000)));
                    }
                }
            }
            twins.drain(&format!("{rule:?}, seed {seed}, at the end"));
        }
    }
}

/// A flow that is datagram traffic between two reservations: stamped packets keep their stamps and
/// are not charged twice.
#[test]
fn a_reservation_that_comes_back_charges_only_what_it_has_not_charged() {
    let mut twins = Twins::new(Rule::VirtualClock);
    let fast = Contract { reserve: Some(rate(8_000_000)), ..Contract::default() };
    twins.open(fast);
    twins.open(fast);
    (0..4).for_each(|_| twins.arrive(0, 1000));
    twins.change(0, Contract::default());
    twins.arrive(0, 1000);
    twins.change(0, fast);
    (0..3).for_each(|_| twins.arrive(0, 1000));
    (0..10).for_each(|_| twins.arrive(1, 1000));
    twins.drain("at the end");
}

/// A datagram flow that gains a reservation, is absent and comes back has gained nothing.
#[test]
fn datagrams_with_a_reservation_rejoin_as_newcomers_too() {
    let mut twins = Twins::new(Rule::VirtualClock);
    twins.open(Contract::default());
    twins.open(Contract { reserve: Some(rate(8_000_000)), ..Contract::default() });
    (0..4).for_each(|_| twins.arrive(0, 1000));
    twins.change(0, Contract { reserve: Some(rate(8_000_000)), ..Contract::default() });
    twins.take_part(0, Participation::Absent);
    twins.world.wait(Span::from_millis(50));
    (0..2).for_each(|_| twins.arrive(1, 500));
    twins.take_part(0, Participation::Active);
    (0..9).for_each(|_| twins.arrive(1, 500));
    twins.drain("at the end");
}
