//! Captures from elsewhere. They are beside the repository, not in it; where they are absent, the
//! tests report that and pass.

use super::super::suggest::{DelayTarget, Link, Reason, suggest};
use super::super::{Trace, load, load_sizes};
use std::path::PathBuf;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::endpoint::transfers::Distribution;
use tidegate_core::units::Span;

fn data(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no {name} beside the repository");
    None
}

fn ipv4_flows(trace: &Trace) -> usize {
    let is_ipv4 = |name: &str| matches!(name.parse(), Ok(FiveTuple::Ip { source, .. }) if source.is_ipv4());
    trace.flows.iter().filter(|flow| is_ipv4(&flow.name)).count()
}

#[test]
fn captures_hold_what_their_table_says() {
    // Packets, bytes, seconds, IPv4 5-tuples. The table has 69133 bytes for the first;
    // its records state 69000.
    for (name, packets, bytes, seconds, flows) in [
        ("tcpreplay-test.pcap", 179, 69000, 3.26, 43),
        ("sipp-g711a.pcap", 236, 69384, 7.05, 1),
        ("zeek-bro.org.pcap", 751, 494_493, 17.5, 26),
        ("zeek-206_example_a.pcap", 672, 620_334, 40.4, 4),
        // All but one packet are in the file twice, a microsecond apart: 227 packets of 214 078
        // bytes.
        ("zeek-m57-long-49583-80.pcap", 114, 107_071, 5.62, 2),
        ("zeek-chromium-115.0.5790.110-google-de-fragmented.pcap", 917, 980_376, 2.00, 0),
        ("zeek-cwd-navigation.pcap", 8317, 654_497, 601.0, 2),
        ("zeek-modbusBig.pcap", 13622, 970_680, 57.8, 6),
        ("ndpi-teams.pcap", 1540, 679_515, 25.6, 157),
        ("ndpi-netflix.pcap", 1793, 1_006_416, 89.9, 119),
        ("ndpi-wa_video.pcap", 781, 347_817, 30.8, 21),
        ("ndpi-snapchat_call_v1.pcapng", 477, 365_314, 9.53, 2),
        ("ndpi-starcraft_battle.pcap", 800, 360_332, 32.4, 99),
    ] {
        let Some(path) = data(&format!("pcap/{name}")) else { continue };
        let trace = load(&path).unwrap();
        assert_eq!((trace.packets, trace.bytes, ipv4_flows(&trace)), (packets, bytes, flows), "{name}");
        assert!((trace.span.as_secs_f64() - seconds).abs() <= 0.002 * seconds, "{name}: {:?}", trace.span);
        assert_eq!(trace.flows.iter().map(|flow| flow.packets.len() as u64).sum::<u64>(), packets, "{name}");
    }
}

#[test]
fn the_bellcore_trace() {
    let Some(path) = data("packets/BC-pAug89-first100001.TL.gz") else { return };
    let trace = load(&path).unwrap();
    assert_eq!((trace.packets, trace.bytes, trace.flows.len()), (100_001, 46_417_808, 1));
    assert_eq!(trace.span, Span::from_micros(252_081_096));
}

#[test]
fn damaged_real_captures_do_not_panic() {
    for name in ["pcap/ndpi-teams.pcap", "pcap/ndpi-snapchat_call_v1.pcapng"] {
        let Some(path) = data(name) else { continue };
        let bytes = std::fs::read(&path).unwrap();
        // A fixed walk over the file: the same damage every time.
        let mut state = 1u64;
        for _ in 0..200 {
            let mut damaged = bytes.clone();
            for _ in 0..20 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 20) as usize % damaged.len();
                damaged[at] = (state >> 12) as u8;
            }
            let _ = super::load(name, &damaged);
        }
    }
}

/// The needs of a G.711 call: 294 bytes every 30 ms, 78.4 kbit/s.
#[test]
fn a_voice_call_is_reserved_its_rate() {
    let Some(path) = data("pcap/sipp-g711a.pcap") else { return };
    let link = Link { rate: 10_000_000, longest: 294, buffer: None };
    let target = DelayTarget { flow: 0, delay: Span::from_millis(50) };
    let call = suggest(&load(&path).unwrap(), link, false, &[target]).unwrap()[0];
    assert_eq!((call.reason, call.reserve), (Reason::MeanRate, Some(78_800)));
    assert!(call.promised_p99.unwrap() <= Span::from_millis(50));
}

/// The published distributions of transfer sizes are those that others use.
#[test]
fn built_in_sizes_are_those_of_the_files() {
    for (name, built_in) in [("WebSearch", Distribution::web_search()), ("FbHdp", Distribution::hadoop())] {
        if let Some(file) = data(&format!("workloads/{name}_distribution.txt")) {
            assert_eq!(load_sizes(&file).unwrap(), built_in, "{name}");
        }
    }
}
