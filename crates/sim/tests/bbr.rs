//! BBR beside CUBIC at a tail-drop buffer: its share by the size of the buffer, in products of the
//! rate and the least round trip (BDP).

use std::path::Path;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::results::{Values, tables};
use tidegate_sim::world::World;

/// Settings of a connection like those of Linux.
const LINUX: &str = "recovery = \"rack\", growth = \"segments\", reduction = \"prr\", timestamps = \"on\", \
                     rto_floor = \"variation\", handshake = \"on\", receiver_window = \"16MB\", header = \"52B\"";

/// Goodput of each connection in Mbit/s, at a link of `megabits` and a round trip of `rtt`
/// milliseconds with a buffer of so many packets, from `warmup` to `duration` seconds.
fn goodput(
    controls: &[&str],
    megabits: u32,
    rtt: u32,
    buffer: u32,
    (warmup, duration): (u32, u32),
    seed: u64,
) -> Vec<f64> {
    let mut text = format!(
        "version = 1\nduration = \"{duration}s\"\nwarmup = \"{warmup}s\"\nswitch = {{ buffer = \"{buffer}p\" }}\n\
         [[node]]\nname = \"s1\"\n[[node]]\nname = \"s2\"\n\
         [[link]]\nfrom = \"s1\"\nto = \"s2\"\nrate = \"{megabits}mbit\"\npolicy = \"fifo\"\nduplex = false\n\
         [[link]]\nfrom = \"s2\"\nto = \"s1\"\nrate = \"1gbit\"\nduplex = false\n"
    );
    let half = f64::from(rtt) / 2.0;
    for (nth, control) in controls.iter().enumerate() {
        text += &format!(
            "[[node]]\nname = \"a{nth}\"\nkind = \"host\"\n[[node]]\nname = \"b{nth}\"\nkind = \"host\"\n\
             [[link]]\nfrom = \"a{nth}\"\nto = \"s1\"\nrate = \"1gbit\"\ndelay = \"{half}ms\"\n\
             [[link]]\nfrom = \"s2\"\nto = \"b{nth}\"\nrate = \"1gbit\"\n\
             [[connection]]\nname = \"c{nth}\"\nfrom = \"a{nth}\"\nto = \"b{nth}\"\nsize = \"1500B\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", congestion = \"{control}\", {LINUX} }}\n"
        );
    }
    measured(&text, seed)
}

/// Goodput of each connection of a scenario, in Mbit/s.
fn measured(text: &str, seed: u64) -> Vec<f64> {
    let scenario =
        Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    let network = assemble(&scenario).unwrap();
    let mut world: World<Calendar> = World::new(&network, seed, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    let tables = tables(&network, &world, 0, 1);
    let flows = tables.iter().find(|table| table.record.name == "flows").unwrap();
    let Values::Number(values) = flows.column("goodput").unwrap() else { panic!() };
    // Acknowledgements have rows of their own.
    values.iter().step_by(2).map(|value| value.unwrap() / 1e6).collect()
}

/// Two kinds of TCP that do not share: in a short buffer BBR does not yield to losses, and has nine
/// tenths; in one of two BDP, its window, both have about half; and of eight BDP CUBIC fills more than
/// BBR keeps in flight.
#[test]
fn the_buffer_decides_who_has_more() {
    let bdp = 20e6 * 0.04 / 8.0 / 1500.0;
    for (buffer, least, most) in [(0.5, 0.85, 0.98), (2.0, 0.45, 0.75), (8.0, 0.25, 0.47)] {
        let found = goodput(&["bbr", "cubic"], 20, 40, (buffer * bdp) as u32, (20, 80), 1);
        let (sum, share) = (found[0] + found[1], found[0] / (found[0] + found[1]));
        println!("{buffer} BDP: {found:.2?} {share:.3}");
        assert!((least..most).contains(&share), "{buffer} BDP: {found:?}");
        assert!(sum > 18.5, "{buffer} BDP: {found:?}");
    }
}

/// Connections of BBR alone share a link within a factor of two, and use it.
#[test]
fn connections_of_bbr_share() {
    let bdp = 20e6 * 0.04 / 8.0 / 1500.0;
    let found = goodput(&["bbr", "bbr"], 20, 40, (2.0 * bdp) as u32, (20, 60), 1);
    println!("{found:.2?}");
    let ratio = found[0] / found[1];
    assert!((0.5..2.0).contains(&ratio), "{found:?}");
    assert!(found[0] + found[1] > 18.0, "{found:?}");
}

/// Share of BBR beside CUBIC in the lab's Linux 6.1, by the buffer in packets: 20 Mbit/s and 40 ms,
/// from 10 to 60 s, with internal pacing.
const KERNEL: [(u32, f64); 3] = [(33, 0.886), (132, 0.542), (528, 0.300)];

/// Settings of the lab's connections.
const LAB: &str = "kind = \"tcp\", header = \"66B\"";

#[test]
fn its_share_is_that_of_the_kernel() {
    for (packets, kernel) in KERNEL {
        let text = format!(
            "version = 1\nduration = \"60s\"\nwarmup = \"10s\"\n\
             topology = {{ kind = \"dumbbell\", pairs = 2, rate = \"20mbit\", delay = \"18ms\", \
             access = {{ rate = \"1gbit\", delay = \"1ms\" }} }}\n\
             port = {{ dropper = {{ kind = \"drop-tail\", limit = \"{packets}p\" }} }}\n\
             [[connection]]\nname = \"bbr\"\nfrom = \"l1\"\nto = \"r1\"\nsize = \"1514B\"\n\
             transport = {{ {LAB}, congestion = \"bbr\" }}\n\
             [[connection]]\nname = \"cubic\"\nfrom = \"l2\"\nto = \"r2\"\nstart = \"10ms\"\nsize = \"1514B\"\n\
             transport = {{ {LAB}, congestion = \"cubic\" }}\n"
        );
        let found = measured(&text, 1);
        let share = found[0] / (found[0] + found[1]);
        println!("{packets} packets: {found:.2?} {share:.3}, in the kernel {kernel}");
        assert!((share - kernel).abs() < 0.1, "{packets} packets: {found:?} {kernel}");
    }
}
