//! Sources send as stated, envelopes pass as much as stated, and greedy sources fill the link.

mod common;

use common::{add, chain, rate, run};
use std::sync::Arc;
use tidegate_core::params::Limit;
use tidegate_core::rng::Rng;
use tidegate_core::shaper::{Excess, ShaperPlan};
use tidegate_core::units::{Span, TICKS_PER_SECOND};
use tidegate_sim::source::{Emission, Gap, Traffic};

/// Mean rate over `packets` packets, and the gaps in ticks.
fn observe(traffic: &Traffic, packets: usize) -> (f64, Vec<u64>) {
    let mut emission = Emission::new(traffic.clone(), Rng::named(1, "source"));
    let (mut bytes, mut gaps) = (0u64, Vec::new());
    for _ in 0..packets {
        let (gap, len) = emission.next_packet().unwrap();
        gaps.push(gap.ticks());
        bytes += u64::from(len);
    }
    let seconds = gaps.iter().sum::<u64>() as f64 / TICKS_PER_SECOND as f64;
    (bytes as f64 * 8.0 / seconds, gaps)
}

#[test]
fn mean_rates_come_out() {
    let sizes: Arc<[u32]> = Arc::new([64, 512, 1500]);
    let rate = rate(1_000_000);
    let sources = [
        Traffic::Cbr { rate, sizes: sizes.clone() },
        Traffic::Poisson { rate, sizes: sizes.clone() },
        Traffic::Trains {
            rate,
            length: 5.0,
            gap: Gap::AtRate(common::rate(2_000_000)),
            sizes: sizes.clone(),
        },
        Traffic::Trains { rate, length: 64.0, gap: Gap::AtRate(common::rate(10_000_000)), sizes },
    ];
    for (traffic, tolerance) in sources.iter().zip([0.01, 0.02, 0.03, 0.06]) {
        let (measured, _) = observe(traffic, 300_000);
        assert!((measured / 1e6 - 1.0).abs() < tolerance, "{measured} from {traffic:?}");
    }
}

/// Zhang 1991, section 4.1.2: geometric lengths with the given mean, constant gaps within.
#[test]
fn packet_trains_have_their_lengths_and_gaps() {
    let gap = Span::from_millis(50);
    let traffic =
        Traffic::Trains { rate: rate(20_000), length: 5.0, gap: Gap::Fixed(gap), sizes: Arc::new([250]) };
    let (measured, gaps) = observe(&traffic, 400_000);
    assert!((measured / 20_000.0 - 1.0).abs() < 0.02, "{measured}");
    // An exponential silence equals the constant gap with probability zero.
    let within = gaps.iter().filter(|ticks| **ticks == gap.ticks()).count();
    let mean_length = gaps.len() as f64 / (gaps.len() - within) as f64;
    assert!((mean_length - 5.0).abs() < 0.06, "{mean_length}");
}

#[test]
fn constant_rate_is_exactly_spaced_after_a_random_phase() {
    let traffic = Traffic::Cbr { rate: rate(64_000), sizes: Arc::new([160]) };
    let (_, gaps) = observe(&traffic, 100);
    assert!(gaps[0] < Span::from_millis(20).ticks());
    assert!(gaps[1..].iter().all(|gap| *gap == Span::from_millis(20).ticks()));
}

#[test]
fn a_greedy_source_fills_the_link_and_never_more_than_its_window() {
    let mut network = chain(1, 8_000_000, Span::from_millis(1), "fifo", Span::from_secs(10));
    add(&mut network, 0..1, None, Traffic::Greedy { window: 3, sizes: Arc::new([1000]) });
    let world = run(&network, 1);
    let link = world.link(0);
    assert_eq!(link.sent.0, 10_000);
    assert_eq!(link.stats.unwrap().longest, 3);
}

/// A greedy source whose packets are all refused does not stop the world, nor stop trying.
#[test]
fn a_greedy_source_survives_refusals() {
    let mut network = chain(1, 8_000_000, Span::ZERO, "virtual-clock", Span::from_secs(2));
    network.nodes[0].buffer = Some(Limit::Packets(1));
    (0..3).for_each(|_| {
        add(&mut network, 0..1, Some(1_000_000), Traffic::Greedy { window: 5, sizes: Arc::new([1000]) })
    });
    let world = run(&network, 1);
    assert_eq!(world.link(0).sent.0, 2_000);
}

/// When bursts of others have pushed out all that a greedy source had waiting, nothing of it leaves
/// the queue any more: it tries again a packet's time later.
#[test]
fn a_greedy_source_survives_being_pushed_out() {
    let mut network = chain(1, 1_000_000, Span::ZERO, "virtual-clock", Span::from_secs(20));
    network.nodes[0].buffer = Some(Limit::Packets(4));
    add(&mut network, 0..1, None, Traffic::Greedy { window: 3, sizes: Arc::new([1500]) });
    let bursts = Traffic::Trains {
        rate: rate(200_000),
        length: 12.0,
        gap: Gap::Fixed(Span::from_micros(10)),
        sizes: Arc::new([500]),
    };
    add(&mut network, 0..1, Some(500_000), bursts);
    let world = run(&network, 1);
    let greedy = &world.records()[0];
    assert!(greedy.dropped > 20, "{greedy:?}");
    let busy = world.link(0).stats.unwrap().busy().as_secs_f64() / 20.0;
    assert!(busy > 0.98, "it takes what is left: {busy}");
}

/// Zhang 1991, section 3.3: no more than the bucket and its refill ever passes, and the excess
/// waits, up to the queue.
#[test]
fn an_envelope_lets_through_what_it_says() {
    let mut network = chain(1, 8_000_000, Span::ZERO, "fifo", Span::from_secs(1000));
    let trains = Traffic::Trains {
        rate: rate(20_000),
        length: 5.0,
        gap: Gap::AtRate(rate(40_000)),
        sizes: Arc::new([250]),
    };
    add(&mut network, 0..1, None, trains);
    let envelope = ShaperPlan {
        rate: rate(20_000),
        burst: 12 * 250,
        peak: None,
        queue: Some(Limit::Packets(20)),
        excess: Excess::Wait,
        calendar: None,
    };
    network.flows[0].envelope = Some(envelope);
    let world = run(&network, 1);
    let record = &world.records()[0];
    let offered = record.sent.0 + record.discarded;
    assert!((offered as f64 / 10_000.0 - 1.0).abs() < 0.1, "{offered} packets in 1000 s at 10 packets/s");
    assert!(record.sent.1 <= 1000 * 20_000 / 8 + 12 * 250);
    assert!(record.discarded > 0 && record.dropped == 0);
    // Packets that still wait in the envelope were not sent: all sent packets but one have arrived.
    assert!(record.sent.0 - record.received.0 <= 1, "{record:?}");
    // Their wait is known: 20 packets of 100 ms at the most, and the last of them is on its way.
    let waited = world.envelope_wait(0).unwrap();
    assert!(waited.count() - record.received.0 <= 1, "{waited:?}");
    assert!(
        waited.max().unwrap() > Span::from_secs(1) && waited.max().unwrap() <= Span::from_secs(2),
        "{waited:?}"
    );
    // Packets that waited in the envelope had not left their source: the link alone is nearly
    // empty.
    assert!(record.queueing.max().unwrap() < Span::from_millis(1), "{:?}", record.queueing.max());
}

/// With a warm-up too, nothing arrives that was not sent. Packets that the envelope holds over the
/// end of the warm-up leave their source after it, and are measured.
#[test]
fn an_envelope_over_the_warm_up_is_counted_once() {
    let mut network = chain(1, 8_000_000, Span::ZERO, "fifo", Span::from_secs(100));
    let greedy = Traffic::Greedy { window: 15, sizes: Arc::new([250]) };
    add(&mut network, 0..1, None, greedy);
    network.flows[0].envelope = Some(ShaperPlan {
        rate: rate(20_000),
        burst: 250,
        peak: None,
        queue: None,
        excess: Excess::Wait,
        calendar: None,
    });
    network.warmup = Span::from_secs(50);
    let record = run(&network, 1).records()[0];
    // A packet each 100 ms, over the 50 s after the warm-up.
    assert!((499..=501).contains(&record.received.0), "{record:?}");
    assert!(record.sent.0 - record.received.0 <= 1, "{record:?}");
}

/// The packets sent depend on the source and the envelope, not on the scheduler.
#[test]
fn what_leaves_an_envelope_does_not_depend_on_the_scheduler() {
    let sent = |scheduler| {
        let mut network = chain(1, 100_000, Span::ZERO, scheduler, Span::from_secs(60));
        network.warmup = Span::from_secs(7);
        network.nodes[0].buffer = Some(Limit::Packets(30));
        for _ in 0..4 {
            add(&mut network, 0..1, Some(20_000), common::poisson(60_000, 250));
        }
        let envelope = ShaperPlan {
            rate: rate(40_000),
            burst: 1000,
            peak: None,
            queue: Some(Limit::Packets(3)),
            excess: Excess::Wait,
            calendar: None,
        };
        network.flows[..2].iter_mut().for_each(|flow| flow.envelope = Some(envelope));
        let world = run(&network, 1);
        assert!(world.records().iter().all(|record| record.sent.0 >= record.received.0 + record.dropped));
        world.records().iter().map(|record| (record.sent, record.discarded)).collect::<Vec<_>>()
    };
    assert_eq!(sent("fifo"), sent("virtual-clock"));
}
