//! Links keep for datagrams what these brought in the latest window.

mod common;

use common::{add, chain, poisson, rate};
use std::sync::Arc;
use tidegate_core::admission::{Policy, Refusal};
use tidegate_core::units::Span;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::source::Traffic;
use tidegate_sim::world::{Answer, World};

const LINK: u64 = 400_000;
const PACKET: u32 = 250;

fn cbr(bits: u64) -> Traffic {
    Traffic::Cbr { rate: rate(bits), sizes: Arc::new([PACKET]) }
}

/// Two links that may promise `reservable`, and measure datagrams over windows of a second.
fn network(reservable: u64) -> Network {
    let mut network = chain(2, LINK, Span::from_millis(5), "virtual-clock", Span::from_secs(20));
    network.policies = vec![Policy { reservable, longest_interval: None }; 2];
    network.datagram_window = Some(Span::from_secs(1));
    network
}

/// Datagrams over the second link, for some seconds.
fn datagrams(network: &mut Network, traffic: Traffic, seconds: std::ops::Range<u64>) {
    add(network, 1..2, None, traffic);
    let life = &mut network.flows.last_mut().unwrap().life;
    (life.start, life.stop) = (Span::from_secs(seconds.start), Some(Span::from_secs(seconds.end)));
}

/// A flow over both links that is set up at a time, in milliseconds, and torn down later.
fn call(network: &mut Network, bits: u64, millis: std::ops::Range<u64>) {
    add(network, 0..2, Some(bits), cbr(bits));
    let life = &mut network.flows.last_mut().unwrap().life;
    life.set_up = true;
    (life.start, life.stop) = (Span::from_millis(millis.start), Some(Span::from_millis(millis.end)));
}

fn run(network: &Network) -> World<Calendar> {
    let mut world = World::new(network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

/// First answer to each call, in their order.
fn answers(world: &World<Calendar>, calls: u32, others: u32) -> Vec<Answer> {
    let first =
        |call: u32| world.signals().iter().find(|signal| signal.flow == others + call).unwrap().answer;
    (0..calls).map(first).collect()
}

fn refused(asked: u64, left: u64, reservable: u64) -> Answer {
    Answer::Refused(1, Refusal::TooMuch { asked, left, reservable })
}

/// Datagrams of 100 kbit/s come from the third second to the seventh. As much is kept for them from
/// the end of their first window on, and is free again when a window has passed without them.
#[test]
fn as_much_is_kept_as_the_latest_window_brought() {
    let mut network = network(LINK);
    datagrams(&mut network, cbr(100_000), 2..6);
    call(&mut network, 320_000, 1_500..1_900);
    call(&mut network, 320_000, 3_500..4_900);
    call(&mut network, 300_000, 3_600..4_900);
    call(&mut network, 320_000, 8_500..9_900);
    let answers = answers(&run(&network), 4, 1);
    let refused = refused(320_000, 300_000, 300_000);
    assert_eq!(answers, [Answer::Granted, refused, Answer::Granted, Answer::Granted]);
}

/// The policy's share is kept also without datagrams, and beyond it what they bring.
#[test]
fn the_share_of_the_policy_is_the_least_that_is_kept() {
    let mut network = network(350_000);
    datagrams(&mut network, cbr(20_000), 0..5);
    datagrams(&mut network, cbr(150_000), 10..20);
    call(&mut network, 360_000, 3_500..4_500);
    call(&mut network, 350_000, 3_600..4_500);
    call(&mut network, 350_000, 14_500..15_500);
    let answers = answers(&run(&network), 3, 2);
    assert_eq!(
        answers,
        [
            Answer::Refused(0, Refusal::TooMuch { asked: 360_000, left: 350_000, reservable: 350_000 }),
            Answer::Granted,
            refused(350_000, 250_000, 250_000)
        ]
    );
}

/// A promise stays when datagrams take more than what it has left, and counts once they do not.
#[test]
fn what_was_promised_is_kept() {
    let mut network = network(LINK);
    datagrams(&mut network, poisson(300_000, PACKET), 2..20);
    call(&mut network, 300_000, 1_000..18_000);
    call(&mut network, 10_000, 6_000..9_000);
    let world = run(&network);
    let answers = answers(&world, 2, 1);
    assert_eq!(answers[0], Answer::Granted);
    let Answer::Refused(1, Refusal::TooMuch { left: 0, reservable, .. }) = answers[1] else {
        panic!("{answers:?}")
    };
    assert!((60_000..140_000).contains(&reservable), "{reservable}");
    // The call got what it was promised, to the end.
    let record = &world.records()[1];
    assert_eq!(record.dropped, 0);
    assert!(record.received.0 > 16 * 140, "{}", record.received.0);
    assert!(world.ledgers().iter().all(|ledger| ledger.booked() == 0));
}
