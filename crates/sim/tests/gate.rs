//! A gate's file in the simulator. (The gate's own tests compare the simulator with the gate's
//! engine.)

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use tidegate_core::classifier::rules::Direction;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::world::{GateFlow, World};

static FOLDERS: AtomicU32 = AtomicU32::new(0);

/// The network of a scenario's text around a gate file's, or the error message.
fn try_network(gate: &str, scenario: &str) -> Result<Network, String> {
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("tidegate-sim-gate-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("gate.toml"), gate).unwrap();
    let parsed = Scenario::parse(scenario, "a.toml", &folder, &[]).map_err(|errors| errors.to_string());
    let made = parsed.and_then(|scenario| assemble(&scenario).map_err(|error| error.to_string()));
    std::fs::remove_dir_all(&folder).unwrap();
    made
}

fn network(gate: &str, scenario: &str) -> Network {
    try_network(gate, scenario).unwrap_or_else(|said| panic!("{said}"))
}

fn gate(keys: &str, rest: &str) -> String {
    format!(
        "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"8mbit\", down = \"8mbit\"{keys} }}\n{rest}"
    )
}

fn scenario(flows: &str) -> String {
    format!(
        "version = 1\nduration = \"20s\"\ntopology = {{ kind = \"gate\", file = \"gate.toml\" }}\n{flows}"
    )
}

fn run(network: &Network) -> World<Calendar> {
    common::run(network, 7)
}

/// The first flow of the gate's file with this place and direction.
fn gate_flow(world: &World<Calendar>, direction: Direction, rule: Option<usize>) -> GateFlow {
    let flows = world.gate_flows();
    *flows.iter().find(|flow| flow.direction == direction && flow.rule == rule).unwrap()
}

/// The link is charged for more than the bytes that flows have sent and received.
#[test]
fn a_frame_is_charged_and_keeps_its_length() {
    let flow = "[[flow]]\nname = \"bulk\"\nfrom = \"inside\"\nto = \"outside\"\nsize = \"976B\"\n\
                headers = { flow = \"10.0.0.1:1>192.0.2.1:2/udp\" }\nsource = { kind = \"greedy\" }\n";
    let world = run(&network(&gate(", overhead = 24", ""), &scenario(flow)));
    // 1000 bytes take 1 ms.
    assert_eq!(world.records()[0].received, (20_000, 20_000 * 976));
    assert_eq!(world.link(0).sent, (20_000, 20_000 * 1000));
    let rest = gate_flow(&world, Direction::Up, None).counters.sent;
    assert_eq!((rest.packets, rest.bytes), (20_000, 20_000_000));
    assert_eq!(gate_flow(&world, Direction::Down, None).counters.arrived.packets, 0);
}

/// With a flow of the gate for each of the scenario's, and nothing added to a frame, a gate is a
/// switch port that knows the flows' contracts: nothing differs, down to the last tick.
#[test]
fn a_gate_is_a_port_that_finds_its_flows_itself() {
    // A gate's default of `lead` differs from a scenario's, and its push-out spares flows that
    // reserve: the dropper leaves nothing to push out.
    let limit = "dropper = { kind = \"drop-tail\", limit = \"40p\" }";
    for scheduler in ["\"fifo\"", "{ kind = \"virtual-clock\", lead = \"250ms\" }"] {
        let source = "size = [\"100B\", \"900B\"]\nsource = { kind = \"on-off\", rate = \"3mbit\", peak = \"30mbit\", burst = 20 }\n";
        let flow = |name: &str, port: u16, before: &str| {
            format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"inside\"\nto = \"outside\"\n{}{source}",
                before.replace("PORT", &port.to_string())
            )
        };
        let headers = "headers = { flow = \"10.0.0.1:PORT>192.0.2.1:9/udp\" }\n";
        let flows = [("a", 1, "3mbit"), ("b", 2, "1mbit"), ("c", 3, "4mbit")];
        let rule = |(name, port, reserve): &(&str, u16, &str)| {
            format!(
                "[[flow]]\nname = \"{name}\"\nmatch = {{ inside_port = {port} }}\nreserve = \"{reserve}\"\n"
            )
        };
        let file = format!(
            "port = {{ scheduler = {scheduler}, {limit} }}\nswitch = {{ buffer = \"50p\" }}\n{}",
            flows.iter().map(rule).collect::<String>()
        );
        let through: String = flows.iter().map(|(name, port, _)| flow(name, *port, headers)).collect();
        let gated = network(&gate("", &file), &scenario(&through));

        let reserving = flows
            .iter()
            .map(|(name, port, reserve)| flow(name, *port, &format!("reserve = \"{reserve}\"\n")))
            .collect::<String>();
        let plain = format!(
            "version = 1\nduration = \"20s\"\nport = {{ scheduler = {scheduler}, {limit} }}\nswitch = {{ buffer = \"50p\" }}\n\
             node = [{{ name = \"inside\" }}, {{ name = \"outside\" }}]\n\
             link = [{{ from = \"inside\", to = \"outside\", rate = \"8mbit\" }}]\n{reserving}"
        );
        let (gated, plain) = (run(&gated), run(&network("", &plain)));
        assert!(plain.link(0).dropped > 100, "{}", plain.link(0).dropped);
        assert_eq!(gated.fingerprint(), plain.fingerprint(), "{scheduler}");
    }
}

/// Each call has its own figures, and the gate's one flow for all of them their sum.
#[test]
fn flows_that_share_a_flow_of_the_gate_are_told_apart() {
    let file = "port = { scheduler = \"virtual-clock\" }\nswitch = { buffer = \"20p\" }\n\
                [[flow]]\nname = \"voice\"\nmatch = { dscp = 46 }\nreserve = \"1mbit\"\n\
                [[flow]]\nname = \"hosts\"\neach = \"host\"\nreserve = \"100kbit\"\n";
    let flows = "\
        [[flow]]\nname = \"calls\"\ncount = 6\nfrom = \"outside\"\nto = \"inside\"\nsize = \"200B\"\n\
        headers = { flow = \"192.0.2.1:5060>10.0.0.1:5004/udp\", dscp = 46 }\nsource = { kind = \"poisson\", rate = \"160kbit\" }\n\
        [[flow]]\nname = \"bulk\"\ncount = 9\nfrom = \"outside\"\nto = \"inside\"\nsize = \"1000B\"\n\
        headers = { flow = \"192.0.2.1:80>10.0.1.1:5004/tcp\" }\nsource = { kind = \"poisson\", rate = \"1mbit\" }\n";
    let text = scenario(flows).replacen("duration", "warmup = \"5s\"\nduration", 1);
    let world = run(&network(&gate("", file), &text));
    for (rule, members, flows) in [(0, 0..6, 1), (1, 6..15, 9)] {
        let voice = gate_flow(&world, Direction::Down, Some(rule));
        let records = &world.records()[members];
        let counts: Vec<_> = records.iter().map(|record| (record.sent.0, record.received.0)).collect();
        assert!(counts.iter().all(|(sent, received)| *sent > 1000 && *received > 100), "{counts:?}");
        let sent: u64 = records.iter().map(|record| record.sent.0).sum();
        let dropped: u64 = records.iter().map(|record| record.dropped).sum();
        assert_eq!((voice.flows, voice.counters.arrived.packets), (flows, sent));
        // A packet that arrived before the end of the warm-up may be dropped after it.
        assert!(voice.counters.dropped.packets.abs_diff(dropped) <= 20, "{dropped} {voice:?}");
        assert_eq!(rule == 1, dropped > 1000, "{dropped}");
    }
}

/// Four hosts are always active. With a limit of two flows, two hosts have flows of their own, and
/// the others share one: nothing goes with the packets that match no flow.
#[test]
fn beyond_the_most_flows_hosts_share_one() {
    let file = "[[flow]]\nname = \"hosts\"\neach = \"host\"\nidle = \"2s\"\n";
    let host = |name: &str, count: u32, first: u8, when: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"inside\"\nto = \"outside\"\nsize = \"100B\"\n{when}\n\
             headers = {{ flow = \"10.0.0.{first}:1>192.0.2.1:2/udp\" }}\nsource = {{ kind = \"cbr\", rate = \"8kbit\" }}\n"
        )
    };
    let flows = host("early", 4, 1, "stop = \"10s\"") + &host("late", 1, 9, "start = \"14s\"");
    let world = run(&network(&gate(", flows = 2", file), &scenario(&flows)));
    let sent: Vec<u64> = world.records().iter().map(|record| record.sent.0).collect();
    assert_eq!(sent, [100, 100, 100, 100, 60]);
    let rest = gate_flow(&world, Direction::Up, None).counters.arrived.packets;
    let hosts = gate_flow(&world, Direction::Up, Some(0));
    assert_eq!((hosts.counters.arrived.packets, rest), (460, 0));
    // The early ones were forgotten when the late one came.
    assert_eq!(hosts.flows, 1);
}

#[test]
fn a_capture_brings_what_a_gate_looks_at() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/captures/office.pcap");
    let file = "[[flow]]\nname = \"voice\"\nmatch = { protocol = \"udp\", dscp = 46 }\n\
                [[flow]]\nname = \"hosts\"\nmatch = { inside = \"10.77.1.0/24\", outside = \"10.77.2.0/24\" }\neach = \"host\"\n";
    let flow = format!(
        "[[flow]]\nname = \"office\"\nfrom = \"outside\"\nto = \"inside\"\n\
         source = {{ kind = \"capture\", file = \"{capture}\", inside = [\"10.77.1.0/24\", \"2001:db8::/32\"] }}\n"
    );
    let network = network(&gate("", file), &scenario(&flow).replace("20s", "60s"));
    let world = run(&network);
    let voice: Vec<&str> =
        network.flows.iter().map(|flow| flow.name.as_str()).filter(|name| name.contains("dscp=46")).collect();
    assert_eq!(
        voice,
        [40_001, 40_000].map(|port| format!("office/10.77.2.20:{port}>10.77.1.20:{port}/udp,dscp=46"))
    );
    assert_eq!(gate_flow(&world, Direction::Down, Some(0)).counters.arrived.packets, 2179);
    let hosts = gate_flow(&world, Direction::Down, Some(1)).counters.arrived.packets;
    let rest = gate_flow(&world, Direction::Down, None).counters.arrived.packets;
    assert_eq!((hosts, rest), (12_869 - 2179, 0));
}

#[test]
fn a_capture_the_other_way_is_refused() {
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/captures/office.pcap");
    let flow = format!(
        "[[flow]]\nname = \"office\"\nfrom = \"inside\"\nto = \"outside\"\n\
         source = {{ kind = \"capture\", file = \"{capture}\", inside = \"10.77.1.0/24\" }}\n"
    );
    let said = try_network(&gate("", ""), &scenario(&flow)).unwrap_err();
    assert!(said.contains("goes up through the gate"), "{said}");
}

/// Data and acknowledgements of a connection find their flows by their headers, in both directions,
/// and congestion marks of the gate reach the sender.
#[test]
fn a_connection_passes_a_gate_both_ways() {
    let file = "port = { scheduler = \"wf2q-plus\", dropper = { kind = \"codel\", scope = \"flow\" } }\n\
                [[flow]]\nname = \"hosts\"\nmatch = { inside = \"10.0.0.0/24\", outside_port = 443 }\neach = \"host\"\n";
    let connection = |ecn: &str, from: &str, to: &str, flow: &str| {
        let text = scenario(&format!(
            "[[connection]]\nname = \"c\"\ncount = 3\nfrom = \"{from}\"\nto = \"{to}\"\nsize = \"1514B\"\n\
             headers = {{ flow = \"{flow}\" }}\ntransport = {{ kind = \"tcp\", stack = \"rfc\", header = \"66B\", ecn = \"{ecn}\" }}\n"
        ));
        run(&network(&gate("", file), &text))
    };
    for (up, from, to, flow) in [
        (Direction::Up, "inside", "outside", "10.0.0.1:5001>192.0.2.1:443/tcp"),
        (Direction::Down, "outside", "inside", "192.0.2.1:443>10.0.0.1:5001/tcp"),
    ] {
        let [plain, marked] = ["off", "on"].map(|ecn| connection(ecn, from, to, flow));
        for world in [&plain, &marked] {
            let [data, answers] = [up, up.opposite()].map(|way| gate_flow(world, way, Some(0)));
            assert_eq!((data.flows, answers.flows), (3, 3));
            // The link is full, and every acknowledgement passes.
            assert!(data.counters.sent.bytes > 19_000_000, "{data:?}");
            assert!(answers.counters.sent.packets > 10_000, "{answers:?}");
            for way in Direction::BOTH {
                assert_eq!(gate_flow(world, way, None).counters.arrived.packets, 0);
            }
        }
        let dropped = |world: &World<Calendar>| gate_flow(world, up, Some(0)).counters.dropped.packets;
        assert!(dropped(&plain) > 20 && dropped(&marked) == 0, "{} {}", dropped(&plain), dropped(&marked));
    }
}
