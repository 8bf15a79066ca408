//! Prague beside CUBIC over DualPI2 at 120 Mbit/s: the ratio of their rates, and the delay in the
//! L4S queue.

#[path = "common/long.rs"]
mod long;

use std::path::Path;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::results::{Values, tables};
use tidegate_sim::world::World;

/// A connection: its congestion control, and its least round trip in milliseconds.
type Connection<'a> = (&'a str, u32);

/// Rate of its data in Mbit/s, and mean and 99 % quantile of its queueing delay in milliseconds.
#[derive(Debug)]
struct Measured {
    rate: f64,
    mean: f64,
    p99: f64,
}

/// Runs the connections over one bottleneck for `duration` seconds, and measures each after `warmup`.
fn run<const N: usize>(connections: [Connection<'_>; N], warmup: u32, duration: u32) -> [Measured; N] {
    let mut text = format!(
        "version = 1\nduration = \"{duration}s\"\nwarmup = \"{warmup}s\"\nswitch = {{ buffer = \"2500p\" }}\n\
         [[node]]\nname = \"s1\"\n[[node]]\nname = \"s2\"\n\
         [[link]]\nfrom = \"s1\"\nto = \"s2\"\nrate = \"120mbit\"\npolicy = \"dualpi2\"\nduplex = false\n\
         [[link]]\nfrom = \"s2\"\nto = \"s1\"\nrate = \"1gbit\"\nduplex = false\n"
    );
    for (nth, (congestion, rtt)) in connections.iter().enumerate() {
        let half = f64::from(*rtt) / 2.0;
        text += &format!(
            "[[node]]\nname = \"a{nth}\"\nkind = \"host\"\n[[node]]\nname = \"b{nth}\"\nkind = \"host\"\n\
             [[link]]\nfrom = \"a{nth}\"\nto = \"s1\"\nrate = \"1gbit\"\ndelay = \"{half}ms\"\n\
             [[link]]\nfrom = \"s2\"\nto = \"b{nth}\"\nrate = \"1gbit\"\n\
             [[connection]]\nname = \"c{nth}\"\nfrom = \"a{nth}\"\nto = \"b{nth}\"\nsize = \"1500B\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", {congestion}, recovery = \"rack\", receiver_window = \"16MB\" }}\n"
        );
    }
    let scenario =
        Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    let network = assemble(&scenario).unwrap();
    let probes = Probes { delays: true, flow_delays: true, ..Probes::default() };
    let mut world: World<Calendar> = World::new(&network, 1, &probes).unwrap();
    while !world.advance(1_000_000) {}
    let tables = tables(&network, &world, 0, 1);
    let flows = tables.iter().find(|table| table.record.name == "flows").unwrap();
    let column = |name: &str| match flows.column(name).unwrap() {
        Values::Number(values) => values.iter().map(|value| value.unwrap_or(f64::NAN)).collect::<Vec<_>>(),
        other => panic!("{name}: {other:?}"),
    };
    let (goodput, mean, p99) = (column("goodput"), column("queueing_mean"), column("queueing_p99"));
    // Acknowledgements have rows of their own.
    std::array::from_fn(|nth| {
        let row = 2 * nth;
        Measured { rate: goodput[row] / 1e6, mean: mean[row] * 1e3, p99: p99[row] * 1e3 }
    })
}

const PRAGUE: &str = "congestion = \"prague\", ecn = \"on\"";
const CUBIC: &str = "congestion = \"cubic\"";

/// The rate of Prague over that of CUBIC with the same round trip is from 0.5 to 2, and the L4S
/// queue stays far below 2 ms: up to 80 ms. At 160 ms the ratio is above 2, as the page says.
#[test]
fn prague_shares_with_cubic_and_keeps_its_queue_short() {
    let few: &[(u32, u32, u32)] = &[(10, 20, 60), (40, 20, 60)];
    let all: &[(u32, u32, u32)] =
        &[(5, 60, 240), (10, 60, 240), (20, 60, 240), (40, 100, 400), (80, 200, 600), (160, 200, 600)];
    for (rtt, warmup, end) in if long::is_long() { all } else { few } {
        let [prague, cubic] = run([(PRAGUE, *rtt), (CUBIC, *rtt)], *warmup, *end);
        let ratio = prague.rate / cubic.rate;
        println!("{rtt} ms: {ratio:.2} {prague:.2?} {cubic:.2?}");
        assert!(prague.p99 < 2.0, "{rtt} ms: {prague:?}");
        assert!(*rtt > 80 || (0.5..2.0).contains(&ratio), "{rtt} ms: {ratio}");
        // The link is used, and Classic packets wait for about the target, and not for the L4S queue.
        assert!(prague.rate + cubic.rate > 110.0, "{rtt} ms: {prague:?} {cubic:?}");
        assert!(cubic.mean > 3.0 && cubic.mean < 20.0, "{rtt} ms: {cubic:?}");
    }
}

/// Two Prague connections with unlike round trips share by the virtual one: without it the rates of
/// 5 and 20 ms would differ by a factor of four.
#[test]
fn short_round_trips_have_no_advantage() {
    let [short, long] = run([(PRAGUE, 5), (PRAGUE, 20)], 20, 60);
    println!("{:.2} {short:.2?} {long:.2?}", short.rate / long.rate);
    assert!((0.67..1.5).contains(&(short.rate / long.rate)), "{short:?} {long:?}");
    assert!(short.p99 < 2.0 && long.p99 < 2.0, "{short:?} {long:?}");
}
