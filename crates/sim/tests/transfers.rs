//! Finite transfers over TCP: completion times by theory, and conservation.

#[path = "common/tcp.rs"]
mod settings;

use settings::{ALL, SACK};
use std::path::Path;
use tidegate_core::endpoint::transfers::Transfer;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::results;
use tidegate_sim::world::World;

/// The completion time of a transfer that has ended.
fn took(transfer: &Transfer) -> Span {
    transfer.took().unwrap()
}

/// A connection over a link with 10 ms of delay each way, which loses data packets by chance.
fn network(settings: &str, (rate, loss): (&str, f64), data: &str, keys: &str) -> Network {
    let text = format!(
        "version = 1\n{keys}\n\
         [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\ndelay = \"10ms\"\nloss = {loss}\nduplex = false\n\
         [[link]]\nfrom = \"b\"\nto = \"a\"\nrate = \"{rate}\"\ndelay = \"10ms\"\nduplex = false\n\
         [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1040B\"\n\
         data = {{ kind = \"transfers\", {data} }}\n\
         transport = {{ kind = \"tcp\", stack = \"rfc\", {settings} }}"
    );
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers");
    let scenario = Scenario::parse(&text, "a.toml", &folder, &[]).unwrap_or_else(|error| panic!("{error}"));
    assemble(&scenario).unwrap()
}

fn run(network: &Network) -> World<Calendar> {
    let mut world = World::new(network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

fn transfers(world: &World<Calendar>) -> Vec<Transfer> {
    world.transfers(0).map(|(_, transfer)| *transfer).filter(|transfer| transfer.ended.is_some()).collect()
}

/// In slow start the window of 10 segments doubles every round trip: n rounds carry 10 · (2ⁿ − 1)
/// segments.
#[test]
fn a_transfer_on_an_idle_link_takes_the_rounds_of_slow_start() {
    for settings in ALL {
        for (segments, rounds) in [(1, 1), (10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (71, 4), (150, 4)] {
            let data = format!("size = \"{segments}kB\", think = \"1000s\"");
            let world = run(&network(settings, ("10gbit", 0.0), &data, "duration = \"1s\""));
            let [transfer] = transfers(&world)[..] else {
                panic!("{settings}, {segments}: not one transfer")
            };
            assert_eq!(transfer.bytes, segments * 1000);
            // A segment takes 0.8 µs, and an acknowledgement 0.03 µs.
            let (least, time) = (f64::from(rounds) * 0.02, took(&transfer).as_secs_f64());
            assert!(time > least && time < least + 2e-4, "{settings}, {segments}: {time} of {least}");
        }
    }
}

/// A fixed thinking time is as long each time.
#[test]
fn a_fixed_thinking_time_is_always_as_long() {
    let data = "size = \"20kB\", think = \"50ms\", thinks = \"fixed\"";
    let done = transfers(&run(&network(SACK, ("8mbit", 0.01), data, "duration = \"20s\"")));
    assert!(done.len() > 100, "{}", done.len());
    let think = Span::from_millis(50);
    assert!(done.windows(2).all(|two| two[1].began == two[0].began + took(&two[0]) + think));
}

/// Data handed over by the application are delivered, except for those under way. Transfers do not
/// overlap. The table has their number, mean and quantiles.
#[test]
fn what_is_handed_over_is_delivered() {
    for settings in ALL {
        for loss in [0.0, 0.01, 0.1] {
            let network =
                network(settings, ("8mbit", loss), "size = \"50kB\", think = \"50ms\"", "duration = \"60s\"");
            let world = run(&network);
            let done = transfers(&world);
            let whole = done.len() as u64 * 50_000;
            let delivered = world.counts(0).delivered.unwrap();
            assert!(done.len() > 60 && delivered >= whole, "{settings}, {loss}: {delivered} of {whole}");
            assert!(delivered - whole <= 50_000, "{settings}, {loss}: {delivered} of {whole}");
            assert!(done.windows(2).all(|two| two[0].began + took(&two[0]) <= two[1].began));
            let table = &results::tables(&network, &world, 0, 1)[1];
            let column = |name| match table.column(name) {
                Some(results::Values::Number(values)) => values.clone(),
                other => panic!("{name}: {other:?}"),
            };
            let times: Vec<f64> = done.iter().map(|transfer| took(transfer).as_secs_f64()).collect();
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            // The group of the acknowledgements has none.
            assert_eq!(column("transfers"), [Some(done.len() as f64), None]);
            assert!((column("transfer_mean")[0].unwrap() - mean).abs() < 1e-9);
            for (name, q) in [("transfer_p95", 0.95), ("transfer_p99", 0.99)] {
                let at = column(name)[0].unwrap();
                let share = times.iter().filter(|time| **time <= at).count() as f64 / times.len() as f64;
                let below = times.iter().filter(|time| **time < at).count() as f64 / times.len() as f64;
                assert!(share >= q && below < q, "{name}: {share} {below}");
            }
        }
    }
}

/// The sizes of a file and the times between transfers have their means, within 99.9 %.
#[test]
fn sizes_and_thinking_times_have_their_means() {
    let data = "file = \"sizes.txt\", think = \"100ms\"";
    let done = transfers(&run(&network(SACK, ("1gbit", 0.0), data, "duration = \"2000s\"")));
    let sizes: Vec<f64> = done.iter().map(|transfer| transfer.bytes as f64).collect();
    let thinks: Vec<f64> =
        done.windows(2).map(|two| two[1].began.since(two[0].began + took(&two[0])).as_secs_f64()).collect();
    // Half of them uniform up to 1 kB, half from there to 9 kB.
    for (values, expected) in [(sizes, 0.5 * 500.0 + 0.5 * 5000.0), (thinks, 0.1)] {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt();
        assert!(
            n > 10_000.0 && (mean - expected).abs() < 3.29 * deviation / n.sqrt(),
            "{mean} of {expected}"
        );
    }
}

/// Only transfers that begin after the warm-up count.
#[test]
fn transfers_are_measured_after_the_warm_up() {
    let data = "size = \"5kB\", think = \"10ms\"";
    let all = transfers(&run(&network(SACK, ("1gbit", 0.0), data, "duration = \"20s\"")));
    let keys = "duration = \"20s\"\nwarmup = \"5s\"";
    let after = transfers(&run(&network(SACK, ("1gbit", 0.0), data, keys)));
    assert!(after.len() < all.len() && all.ends_with(&after), "{} of {}", after.len(), all.len());
    let seconds =
        |transfer: &Transfer| transfer.began.since(tidegate_core::units::Time::ORIGIN).as_secs_f64();
    assert_eq!(after.len(), all.iter().filter(|transfer| seconds(transfer) >= 5.0).count());
}

/// A file that is no distribution function is named with its line.
#[test]
fn a_wrong_file_is_an_error() {
    let text = "version = 1\nduration = \"1s\"\n\
                topology = { kind = \"dumbbell\", pairs = 1, rate = \"2mbit\", delay = \"20ms\" }\n\
                [[connection]]\nname = \"c\"\nfrom = \"l1\"\nto = \"r1\"\nsize = \"1kB\"\ntransport = \"tcp\"\n\
                data = { kind = \"transfers\", file = \"wrong.txt\" }";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers");
    let scenario = Scenario::parse(text, "a.toml", &folder, &[]).unwrap();
    let error = assemble(&scenario).unwrap_err().to_string();
    assert!(error.contains("wrong.txt") && error.contains("line 2"), "{error}");
}
