//! On-off data over TCP: delivered as they are written, and no faster than the connection goes.

#[path = "common/tcp.rs"]
mod settings;

use settings::{ALL, CUBIC};
use std::path::Path;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Bytes that the receiver has got in order after `millis` milliseconds, over a link of 8 Mbit/s
/// with 10 ms each way.
fn delivered(settings: &str, data: &str, millis: u64) -> u64 {
    let text = format!(
        "version = 1\nduration = \"{millis}ms\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"8mbit\"\ndelay = \"10ms\"\n\
         [[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1040B\"\nstart = \"7ms\"\n\
         data = {{ kind = \"on-off-data\", {data} }}\ntransport = {{ kind = \"tcp\", stack = \"rfc\", {settings}, receiver_window = \"40kB\" }}"
    );
    let scenario =
        Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    let network = assemble(&scenario).unwrap();
    let mut world: World<Calendar> = World::new(&network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world.counts(0).delivered.unwrap()
}

/// 1.6 Mbit/s for 100 ms are 20 kB in pieces of 1 kB, one each 5 ms, from 7 ms on, and then 150 ms
/// of silence. A piece is at the receiver 10 ms and its 1.04 ms on the link later, as the window is
/// open.
#[test]
fn what_is_written_arrives_a_trip_later() {
    for settings in ALL {
        let data = "rate = \"1600kbit\", on = \"100ms\", off = \"150ms\", periods = \"fixed\"";
        for period in 0..3 {
            for piece in [1, 2, 10, 20] {
                let at = 7 + 250 * period + 5 * piece + 11;
                let bytes = |pieces: u64| 20_000 * period + 1000 * pieces;
                assert_eq!(delivered(settings, data, at), bytes(piece - 1), "{settings}, {period}, {piece}");
                assert_eq!(delivered(settings, data, at + 1), bytes(piece), "{settings}, {period}, {piece}");
            }
            assert_eq!(delivered(settings, data, 250 * (period + 1)), 20_000 * (period + 1));
        }
    }
}

/// Data written faster than the rate of the link wait at the sender, and are sent in the off time.
#[test]
fn what_the_connection_cannot_carry_waits() {
    let data = "rate = \"40mbit\", on = \"200ms\", off = \"1800ms\", periods = \"fixed\"";
    let whole = 1_000_000;
    let during = delivered(CUBIC, data, 207);
    assert!(during < 210_000, "{during}");
    // 8 Mbit/s less headers take 1.04 s; the second on time is at 2 s.
    assert_eq!(delivered(CUBIC, data, 1900), whole);
    let span = Span::from_secs(20).as_secs_f64();
    // Twice the data that the link carries, so it is busy.
    let busy =
        delivered(CUBIC, "rate = \"40mbit\", on = \"200ms\", off = \"300ms\"", 20_000) as f64 * 8.0 / span;
    assert!((busy / 8e6 * 1.04 - 1.0).abs() < 0.05, "{busy}");
}
