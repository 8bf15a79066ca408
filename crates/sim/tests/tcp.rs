//! TCP in the simulator, against the theory of its throughput.

#[path = "common/long.rs"]
mod long;
#[path = "common/tcp.rs"]
mod settings;

use settings::{ALL, CUBIC, NEW_RENO, RENO_1990, SACK};
use std::path::Path;
use tidegate_core::endpoint::Counts;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

fn network(text: &str) -> Network {
    let scenario =
        Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    assemble(&scenario).unwrap()
}

fn run(network: &Network, seed: u64) -> World<Calendar> {
    let mut world = World::new(network, seed, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

/// Throughput of a flow in bit/s, by its index.
fn throughput(network: &Network, world: &World<Calendar>, flow: usize) -> f64 {
    let seconds = (network.duration - network.warmup).as_secs_f64();
    world.records()[flow].received.1 as f64 * 8.0 / seconds
}

/// min(window / RTT, link) without loss.
#[test]
fn without_loss_the_receivers_window_or_the_link_is_the_limit() {
    for (settings, window) in
        [(RENO_1990, 1), (NEW_RENO, 5), (SACK, 10), (CUBIC, 14), (RENO_1990, 40), (CUBIC, 60)]
    {
        let link = "rate = \"8mbit\", delay = \"2ms\"";
        let network = network(&format!(
            "version = 1\nduration = \"10s\"\nwarmup = \"1s\"\n\
             topology = {{ kind = \"chain\", switches = 2, {link}, access = {{ {link} }} }}\n\
             [[connection]]\nname = \"c\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1kB\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", {settings}, receiver_window = \"{}B\" }}",
            window * 960
        ));
        // Three links of 2 ms each way; a packet takes 1 ms on each, an acknowledgement 0.04 ms.
        let round_trip = 3.0 * (2e-3 + 1e-3) + 3.0 * (2e-3 + 0.04e-3);
        let expected = (f64::from(window) * 8000.0 / round_trip).min(8e6);
        let measured = throughput(&network, &run(&network, 1), 0);
        assert!((measured / expected - 1.0).abs() < 0.01, "{settings}, {window}: {measured} of {expected}");
    }
}

/// Padhye, Firoiu, Towsley and Kurose 1998, equation 30 with b = 1: segments a second.
fn pftk(p: f64, round_trip: f64, timeout: f64) -> f64 {
    let recovery = round_trip * (2.0 * p / 3.0).sqrt();
    let timeouts = timeout * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    1.0 / (recovery + timeouts)
}

/// Within 20 % at random loss up to 1 %, as long as the connection runs in congestion avoidance.
#[test]
fn random_loss_gives_what_pftk_says() {
    for settings in [RENO_1990, NEW_RENO, SACK] {
        for (p, seconds) in [(1e-3, 200), (3e-3, 200), (1e-2, 400)] {
            let network = network(&format!(
                "version = 1\nduration = \"{}s\"\nwarmup = \"20s\"\n\
                 [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
                 [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"100mbit\"\ndelay = \"50ms\"\nloss = {p}\nduplex = false\n\
                 [[link]]\nfrom = \"b\"\nto = \"a\"\nrate = \"100mbit\"\ndelay = \"50ms\"\nduplex = false\n\
                 [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\n\
                 transport = {{ kind = \"tcp\", stack = \"rfc\", {settings} }}",
                seconds * if long::is_long() { 5 } else { 1 }
            ));
            let (measured, expected) =
                (throughput(&network, &run(&network, 1), 0) / 8000.0, pftk(p, 0.1, 0.2));
            assert!((measured / expected - 1.0).abs() < 0.2, "{settings}, {p}: {measured} of {expected}");
        }
    }
}

/// A drop-tail dropper for a queue of `limit` packets.
fn drop_tail(limit: u32) -> String {
    format!("{{ kind = \"drop-tail\", limit = \"{limit}p\" }}")
}

/// A bottleneck of 2 Mbit/s with this dropper, a connection for each access delay in milliseconds,
/// and some cross traffic, without which drop-tail queues lose the packets of the same connection
/// again and again (phase effects, Floyd and Jacobson 1992).
fn bottleneck(settings: &str, delays: [u32; 2], dropper: &str, seconds: u32) -> Network {
    let mut text = format!(
        "version = 1\nduration = \"{seconds}s\"\nwarmup = \"20s\"\n\
         port = {{ dropper = {dropper} }}\n\
         [[node]]\nname = \"s1\"\n[[node]]\nname = \"s2\"\n\
         [[link]]\nfrom = \"s1\"\nto = \"s2\"\nrate = \"2mbit\"\ndelay = \"1ms\"\n\
         [[flow]]\nname = \"cross\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"200B\"\n\
         source = {{ kind = \"poisson\", rate = \"100kbit\" }}\n"
    );
    for (name, delay) in ["a", "b"].into_iter().zip(delays) {
        text += &format!(
            "[[node]]\nname = \"{name}1\"\n[[node]]\nname = \"{name}2\"\n\
             [[link]]\nfrom = \"{name}1\"\nto = \"s1\"\nrate = \"100mbit\"\ndelay = \"{delay}ms\"\n\
             [[link]]\nfrom = \"s2\"\nto = \"{name}2\"\nrate = \"100mbit\"\ndelay = \"1ms\"\n\
             [[connection]]\nname = \"{name}\"\nfrom = \"{name}1\"\nto = \"{name}2\"\nsize = \"1kB\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", {settings} }}\n"
        );
    }
    network(&text)
}

/// Throughput and mean round trip of the two connections; data and acknowledgements are flows 1 and
/// 2, and 3 and 4.
fn outcome(network: &Network, seed: u64) -> [(f64, f64); 2] {
    let world = run(network, seed);
    let records = world.records();
    [1, 3].map(|data| {
        let delay = |ix: usize| records[ix].delay.mean().unwrap().as_secs_f64();
        (throughput(network, &world, data), delay(data) + delay(data + 1))
    })
}

/// One connection alone fills a link whose queue holds its bandwidth-delay product, after the
/// losses of slow start.
#[test]
fn a_connection_alone_fills_its_link() {
    for settings in ALL {
        let network = network(&format!(
            "version = 1\nduration = \"60s\"\nwarmup = \"10s\"\n\
             topology = {{ kind = \"dumbbell\", pairs = 1, rate = \"2mbit\", delay = \"20ms\" }}\n\
             port = {{ dropper = {{ kind = \"drop-tail\", limit = \"20p\" }} }}\n\
             [[connection]]\nname = \"c\"\nfrom = \"l1\"\nto = \"r1\"\nsize = \"1kB\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", {settings} }}"
        ));
        let measured = throughput(&network, &run(&network, 1), 0);
        assert!(measured > 1.9e6, "{settings}: {measured}");
    }
}

/// In the long run two equal connections share equally: the mean share over replications is one
/// half within its 99.9 % interval, and that is narrow.
#[test]
fn two_equal_connections_share_equally() {
    let (all, seeds): (&[&str], u64) = if long::is_long() { (&ALL, 20) } else { (&[SACK], 6) };
    for settings in all {
        let network = bottleneck(settings, [38, 38], &drop_tail(25), 120);
        let runs: Vec<[f64; 2]> =
            (0..seeds).map(|seed| outcome(&network, seed).map(|(rate, _)| rate)).collect();
        let used = runs.iter().flatten().sum::<f64>() / seeds as f64;
        assert!(used > 1.8e6, "{settings}: {used}");
        let shares: Vec<f64> = runs.iter().map(|[one, other]| one / (one + other)).collect();
        let mean = shares.iter().sum::<f64>() / seeds as f64;
        let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (seeds - 1) as f64;
        // Student's t for 99.9 % with 5 and 19 degrees of freedom.
        let t = if seeds == 6 { 6.87 } else { 3.88 };
        let half = t * (variance / seeds as f64).sqrt();
        assert!((mean - 0.5).abs() < half && half < 0.1, "{settings}: {mean} ± {half}, {shares:?}");
    }
}

/// Throughput falls with the round trip by a power between 1 and 2: with drop-tail (Lakshman and
/// Madhow 1997), and with RED, which drops packets of both with the same probability, so that the
/// power is nearly 1.
#[test]
fn a_longer_round_trip_gets_less() {
    let (all, seeds): (&[&str], u64) =
        if long::is_long() { (&[RENO_1990, NEW_RENO, SACK], 20) } else { (&[NEW_RENO], 3) };
    let red = "{ kind = \"red\", min_th = \"5p\", max_th = \"15p\", max_p = 0.1, limit = \"60p\", mean_packet = \"1kB\" }";
    let droppers = [drop_tail(15), red.to_owned()];
    for (settings, dropper) in all.iter().flat_map(|settings| droppers.iter().map(move |it| (settings, it))) {
        let network = bottleneck(settings, [28, 128], dropper, 150);
        let powers: Vec<f64> = (0..seeds)
            .map(|seed| {
                let [(near, short), (far, long)] = outcome(&network, seed);
                (near / far).ln() / (long / short).ln()
            })
            .collect();
        let mean = powers.iter().sum::<f64>() / seeds as f64;
        // With RED the power is 1 and more: the runs' own spread of a tenth is left to it (99.9 %).
        let least = 1.0 - 3.29 * 0.1 / (seeds as f64).sqrt();
        let least = if dropper.contains("red") { least } else { 1.0 };
        assert!(mean > least && mean < 2.0, "{settings}, {dropper}: {mean}, {powers:?}");
    }
}

/// A connection over two links of 4 Mbit/s and 10 ms, of which the one with the data loses packets
/// by chance.
fn lossy(settings: &str, loss: f64, warmup: &str, duration: &str) -> Network {
    network(&format!(
        "version = 1\nduration = \"{duration}\"\nwarmup = \"{warmup}\"\n\
         [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"4mbit\"\ndelay = \"10ms\"\nloss = {loss}\nduplex = false\n\
         [[link]]\nfrom = \"b\"\nto = \"a\"\nrate = \"4mbit\"\ndelay = \"10ms\"\nduplex = false\n\
         [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\n\
         transport = {{ kind = \"tcp\", stack = \"rfc\", {settings}, receiver_window = \"20kB\" }}"
    ))
}

/// Every packet of data is a distinct segment or a retransmission; of the distinct ones all but a
/// window are delivered.
#[test]
fn retransmissions_and_goodput_account_for_every_packet() {
    for settings in ALL {
        for loss in [0.0, 0.01, 0.1] {
            let world = run(&lossy(settings, loss, "0s", "60s"), 1);
            let (counts, record) = (world.counts(0), world.records()[0]);
            let (again, delivered) = (counts.retransmissions.unwrap(), counts.delivered.unwrap());
            let distinct = (record.sent.0 - again) * 960;
            assert!(
                distinct >= delivered && distinct - delivered <= 20_000,
                "{settings}, {loss}: {counts:?}"
            );
            assert!(delivered <= record.received.0 * 960, "{settings}, {loss}: {counts:?}");
            let timeouts = counts.timeouts.unwrap();
            assert_eq!(again > 0, loss > 0.0, "{settings}, {loss}");
            // RACK finds nearly all losses without the timer.
            let few = if settings.contains("rack") { again / 50 } else { again };
            assert!(
                timeouts <= few && (timeouts > 0 || loss == 0.0 || few < again),
                "{settings}, {loss}: {counts:?}"
            );
            if loss == 0.0 {
                assert_eq!(delivered, record.received.0 * 960, "{settings}");
            }
            // Acknowledgements are not counted as data.
            assert_eq!(world.counts(1), Counts::default());
        }
    }
}

/// All transfers end although packets overtake each other on both ways, and most retransmissions
/// are needless.
#[test]
fn transfers_end_although_packets_are_reordered() {
    for settings in ALL {
        let reordered = "rate = \"10mbit\"\ndelay = \"10ms\"\nreorder = 0.05\nreorder_delay = \"15ms\"";
        let network = network(&format!(
            "version = 1\nduration = \"60s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b\"\n{reordered}\n\
             [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\n\
             data = {{ kind = \"transfers\", size = \"200kB\", think = \"100ms\" }}\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", {settings} }}"
        ));
        let world = run(&network, 1);
        let counts = world.counts(0);
        let delivered = counts.delivered.unwrap();
        assert!(delivered > 20 * 200_000, "{settings}: {delivered} bytes");
        assert!(counts.retransmissions.unwrap() > 0, "{settings}");
        assert_eq!((world.lost(0), world.lost(1)), (0, 0));
    }
}

/// Counts after a warm-up are the remainder of the whole run's counts, except for data that were
/// first sent before its end and delivered later: they belong to neither. Their number follows from
/// the packets sent until then.
#[test]
fn the_ends_count_anew_after_the_warm_up() {
    let all = run(&lossy(SACK, 0.05, "0s", "30s"), 1).counts(0);
    let mut outstanding = 0;
    for ticks in 0..20 {
        let end = format!("{}.{:03}0013s", 5 + ticks, 7 * ticks + 1);
        let until = run(&lossy(SACK, 0.05, "0s", &end), 1);
        let (before, packets) = (until.counts(0), until.records()[0].sent.0);
        let after = run(&lossy(SACK, 0.05, &end, "30s"), 1).counts(0);
        let sum = before.and(after);
        assert_eq!((sum.retransmissions, sum.timeouts), (all.retransmissions, all.timeouts), "{end}");
        assert!(before.retransmissions > Some(0) && before.retransmissions < all.retransmissions, "{end}");
        // Each packet has 1,000 bytes with its headers of 40.
        let sent = (packets - before.retransmissions.unwrap()) * 960;
        let under_way = sent - before.delivered.unwrap();
        assert_eq!(sum.delivered.unwrap() + under_way, all.delivered.unwrap(), "{end}");
        outstanding += under_way;
    }
    assert!(outstanding > 20 * 960, "{outstanding} bytes");
}

/// Delay counts from the first transmission: of a lost segment it has a round trip, or a timeout,
/// besides.
#[test]
fn the_delay_of_a_retransmission_counts_from_the_first() {
    let (one_way, round_trip) = (0.002 + 0.010, 0.002 + 0.010 + 0.000_08 + 0.010);
    // Longest wait of the receiver's window, 20 packets, at the link.
    let queue = 20.0 * 0.002;
    let seconds = |span: Option<Span>| span.unwrap().as_secs_f64();
    for settings in ALL {
        let greatest = seconds(run(&lossy(settings, 0.0, "0s", "60s"), 1).records()[0].delay.max());
        assert!(greatest <= one_way + queue, "{settings}: {greatest}");
        let world = run(&lossy(settings, 0.05, "0s", "60s"), 1);
        let (record, again) = (world.records()[0], world.counts(0).retransmissions.unwrap());
        let (mean, greatest) = (seconds(record.delay.mean()), seconds(record.delay.max()));
        // The least timeout is 200 ms.
        let repair = if world.counts(0).timeouts > Some(0) { 0.2 } else { round_trip };
        assert!(greatest > repair + one_way, "{settings}: {greatest}");
        let share = again as f64 / record.sent.0 as f64;
        assert!(mean > one_way + 0.9 * share * round_trip, "{settings}: {mean}, {share}");
        // Queueing delay is the packet's own.
        assert!(seconds(record.queueing.max()) <= queue, "{settings}");
    }
}
