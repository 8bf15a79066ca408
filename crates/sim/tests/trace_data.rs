//! A connection that writes recorded data: all of them arrive, and no earlier than they were
//! recorded.

use tidegate_core::units::{Span, Time};
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Transports that take data, and the sizes of their packets.
const TRANSPORTS: &[(&str, &str)] = &[
    // One line each.
    ("\"tcp\"", "1500B"),
    ("{ kind = \"abr\", frame = \"1500B\" }", "53B"),
];

#[test]
fn a_recording_arrives_whole_over_every_transport_of_cells_or_packets() {
    let folder = std::env::temp_dir().join(format!("tidegate-trace-data-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // 200 packets of 100 to 1400 bytes within 2 s; at twice the speed within 1 s.
    let lines: Vec<(f64, u64)> =
        (0..200_u32).map(|nth| (f64::from(nth) * 0.01, 100 + u64::from(nth) * 13 % 1301)).collect();
    let text: String = lines.iter().map(|(at, bytes)| format!("{at} {bytes}\n")).collect();
    std::fs::write(folder.join("trace.txt"), text).unwrap();
    let total: u64 = lines.iter().map(|(_, bytes)| bytes).sum();
    for (transport, size) in TRANSPORTS {
        let text = format!(
            "version = 1\nduration = \"DURATION\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"10mbit\", delay = \"2ms\" }}\n\
             [[connection]]\nname = \"c\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"{size}\"\ntransport = {transport}\n\
             data = {{ kind = \"trace-data\", file = \"trace.txt\", speed = 2 }}\n"
        );
        let delivered = |duration: &str| {
            let text = text.replace("DURATION", duration);
            let scenario =
                Scenario::parse(&text, "a.toml", &folder, &[]).unwrap_or_else(|errors| panic!("{errors}"));
            let network = assemble(&scenario).unwrap();
            let mut world: World<Calendar> = World::new(&network, 1, &Probes::default()).unwrap();
            while !world.advance(1_000_000) {}
            world.counts(0).and(world.counts(1)).delivered.unwrap()
        };
        assert_eq!(delivered("3s"), total, "{transport}");
        // Data recorded until 1 s are written until 0.5 s.
        let half = Time::ORIGIN + Span::from_millis(500);
        let until: u64 = lines
            .iter()
            .filter(|(at, _)| *at <= half.since(Time::ORIGIN).as_secs_f64() * 2.0)
            .map(|(_, bytes)| bytes)
            .sum();
        let by_half = delivered("500ms");
        assert!(by_half <= until && by_half > until * 9 / 10, "{transport}: {by_half} of {until}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
