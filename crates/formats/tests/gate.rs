//! A gate file in a scenario: the network that it becomes, and the messages about mistakes.

use std::path::PathBuf;
use tidegate_core::classifier::FiveTuple;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::dropper::DropperKind;
use tidegate_core::params::{Limit, NamedPolicy, Value};
use tidegate_core::switch::plan::Scope;
use tidegate_formats::units::show_value;
use tidegate_formats::{FormatErrors, GateFile, Scenario};

const SCENARIO: &str = r#"version = 1
duration = "1s"
topology = { kind = "gate", file = "office.toml", delay = "3ms" }

[[flow]]
name = "calls"
count = 3
from = "inside"
to = "outside"
headers = { flow = "10.0.0.254:5004>192.0.2.1:5060/udp", dscp = 46, vlan = 7 }
size = "200B"
source = { kind = "cbr", rate = "80kbit" }
"#;

/// The folder of the examples' gate files.
fn gates() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates")
}

fn parse(text: &str) -> Result<Scenario, FormatErrors> {
    Scenario::parse(text, "a.toml", &gates(), &[])
}

fn changed(from: &str, to: &str) -> Result<Scenario, FormatErrors> {
    assert!(SCENARIO.contains(from), "{from}");
    parse(&SCENARIO.replacen(from, to, 1))
}

fn members(scenario: &Scenario) -> Vec<String> {
    let group = &scenario.groups[0];
    let headers = group.headers.unwrap();
    (0..group.count).map(|member| FiveTuple::of(&headers.member(member).unwrap()).to_string()).collect()
}

#[test]
fn a_gate_is_two_links_with_its_ports() {
    let scenario = parse(SCENARIO).unwrap();
    let gate = scenario.gate.as_ref().unwrap();
    let links: Vec<_> =
        scenario.links.iter().map(|link| (link.name.as_str(), link.gate, link.rate)).collect();
    assert_eq!(
        links,
        [
            ("inside->outside", Some(Direction::Up), gate.rates[0]),
            ("outside->inside", Some(Direction::Down), gate.rates[1])
        ]
    );
    let port = &scenario.links[0].port;
    let dropper = port.dropper.as_ref().unwrap();
    assert_eq!(port.scheduler.policy.record().name, "wf2q-plus");
    assert_eq!((dropper.chosen.policy.record().name, dropper.scope), ("codel", Scope::Flow));
    assert_eq!(gate.buffer, Limit::Packets(1000));
    let headers = scenario.groups[0].headers.unwrap().member(2).unwrap();
    assert_eq!((headers.ip.unwrap().dscp, headers.vlans[0].unwrap().id), (46, 7));
}

#[test]
fn what_the_scenario_states_takes_the_place_of_the_gates_own() {
    let own = "duration = \"1s\"\nport = { scheduler = \"fifo\" }\nswitch = { buffer = \"9p\" }";
    let scenario = changed("duration = \"1s\"", own).unwrap();
    let gate = scenario.gate.as_ref().unwrap();
    assert_eq!((gate.port.scheduler.policy.record().name, gate.buffer), ("fifo", Limit::Packets(9)));
    let port = &scenario.links[1].port;
    assert_eq!(port.scheduler.policy.record().name, "fifo");
    // The dropper went with the default scheduler.
    assert!(port.dropper.is_none());
}

/// Each dropper, over the queue and over each flow's own, in a gate's file as in a scenario.
#[test]
fn a_gates_ports_have_droppers() {
    let office = std::fs::read_to_string(gates().join("office.toml")).unwrap();
    for dropper in DropperKind::examples() {
        let shown = |(name, value): &(&str, Value)| match value {
            Value::Number(_) | Value::Integer(_) => format!("{name} = {}", show_value(value)),
            _ => format!("{name} = \"{}\"", show_value(value)),
        };
        let settings: Vec<_> = dropper.values().iter().map(shown).collect();
        let settings = format!("kind = \"{}\", {}", dropper.record().name, settings.join(", "));
        for (scope, said) in [(Scope::Node, "queue"), (Scope::Flow, "flow")] {
            let line = format!("[port]\ndropper = {{ {settings}, scope = \"{said}\" }}\n[switch]\n");
            let gate = GateFile::parse(&office.replacen("[switch]\n", &line, 1), "g.toml", &[]).unwrap();
            let read = gate.port.dropper.unwrap();
            assert_eq!((&read.chosen.policy, read.scope), (&dropper, scope));
        }
    }
}

/// A file that names a scheduler gets that one without the default's dropper; classes have the
/// default of ports.
#[test]
fn a_scheduler_that_is_named_stands_alone() {
    let parse = |rest: &str| {
        let gate = "gate = { inside = \"a\", outside = \"b\", up = \"9mbit\", down = \"9mbit\" }";
        GateFile::parse(&format!("version = 1\n{gate}\n{rest}"), "g.toml", &[]).unwrap()
    };
    let named = parse("port = { scheduler = \"virtual-clock\" }\nclass = [{ name = \"c\" }]");
    assert!(named.port.dropper.is_none());
    assert_eq!(named.classes[0].class.scheduler.policy.record().name, "wf2q-plus");
    let value = |scheduler: &str| {
        let gate = parse(&format!("port = {{ scheduler = {scheduler} }}"));
        let values = gate.port.scheduler.policy.values();
        values.iter().find(|(name, _)| *name == "lead").map(|(_, value)| show_value(value))
    };
    assert_eq!(value("\"virtual-clock\""), Some("250ms".to_owned()));
    assert_eq!(value("{ kind = \"virtual-clock\", lead = \"2s\" }"), Some("2s".to_owned()));
    let dropped = parse("port = { dropper = { kind = \"drop-tail\", limit = \"9p\" } }").port;
    assert_eq!(dropped.scheduler.policy.record().name, "wf2q-plus");
    assert_eq!(dropped.dropper.unwrap().scope, Scope::Node);
}

#[test]
fn members_are_counted_up_inside() {
    let calls = |headers: &str| {
        members(&changed("flow = \"10.0.0.254:5004>192.0.2.1:5060/udp\", dscp = 46", headers).unwrap())
    };
    assert_eq!(
        members(&parse(SCENARIO).unwrap()),
        ["10.0.0.254", "10.0.0.255", "10.0.1.0"].map(|inside| format!("{inside}:5004>192.0.2.1:5060/udp"))
    );
    let ports = calls("flow = \"10.0.0.1:65533>192.0.2.1:80/tcp\", each = \"5-tuple\"");
    assert_eq!(ports, ["65533", "65534", "65535"].map(|port| format!("10.0.0.1:{port}>192.0.2.1:80/tcp")));
    let lines = calls("flow = \"2001:db8:0:ff::1>2001:db9::1/icmp6\", each = \"subscriber\"");
    assert_eq!(lines, ["ff", "100", "101"].map(|net| format!("2001:db8:0:{net}::1>2001:db9::1/icmp6")));
    let hosts = calls("flow = \"2001:db8::ffff>2001:db9::1/icmp6\"");
    assert_eq!(hosts[2], "2001:db8::1:1>2001:db9::1/icmp6");
}

/// For flows that go down, members count up their receivers.
#[test]
fn inside_is_the_far_end_of_what_goes_down() {
    let down = SCENARIO
        .replace("from = \"inside\"\nto = \"outside\"", "from = \"outside\"\nto = \"inside\"")
        .replace("10.0.0.254:5004>192.0.2.1:5060", "192.0.2.1:5060>10.0.0.254:5004");
    assert_eq!(members(&parse(&down).unwrap())[2], "192.0.2.1:5060>10.0.1.0:5004/udp");
    let ports = down.replace("dscp = 46", "each = \"5-tuple\"");
    assert_eq!(members(&parse(&ports).unwrap())[2], "192.0.2.1:5060>10.0.0.254:5006/udp");
}

/// A gate stands in a larger network, whose other ports read what flows state.
#[test]
fn a_flow_reserves_at_other_ports_only() {
    let beyond = SCENARIO
        .replace("[[flow]]", "[[link]]\nfrom = \"client\"\nto = \"inside\"\nrate = \"200kbit\"\n[[node]]\nname = \"client\"\n[[flow]]")
        .replace("from = \"inside\"", "from = \"client\"\nreserve = \"50kbit\"\nenvelope = { rate = \"80kbit\", burst = \"400B\" }");
    let scenario = parse(&beyond).unwrap();
    let way: Vec<_> =
        scenario.groups[0].route.iter().map(|link| scenario.links[*link].name.as_str()).collect();
    assert_eq!(way, ["client->inside", "inside->outside"]);
    let errors = parse(&beyond.replace("50kbit", "90kbit")).unwrap_err();
    assert!(errors.errors[0].message.contains("link client->inside (200kbit)"), "{errors}");
}

#[test]
fn mistakes_are_answered() {
    let capture = "source = { kind = \"capture\", file = \"../captures/office.pcap\"";
    let cbr = "source = { kind = \"cbr\", rate = \"80kbit\" }";
    let headers = "headers = { flow = \"10.0.0.254:5004>192.0.2.1:5060/udp\", dscp = 46, vlan = 7 }\n";
    let played = SCENARIO.replace("count = 3\n", "").replace("size = \"200B\"\n", "");
    let cases: Vec<(String, &str, &str)> = vec![
        (
            SCENARIO.replace("office.toml", "offices.toml"),
            "a.toml:3:36: cannot read ",
            "starts at the scenario file's folder",
        ),
        (
            SCENARIO.replace(headers, ""),
            "a.toml:5:1: flow `calls` passes a gate, which needs its headers",
            "add `headers`, as in",
        ),
        (
            SCENARIO.replace("10.0.0.254:5004", "10.0.0.256:5004"),
            "a.toml:10:20: `10.0.0.256:5004>192.0.2.1:5060/udp` is not a flow",
            "write it as in 10.0.0.1:5004",
        ),
        (
            SCENARIO.replace("10.0.0.254", "255.255.255.254"),
            "a.toml:10:20: 3 of them, counted up from 255.255.255.254:5004>192.0.2.1:5060/udp, do not fit",
            "",
        ),
        (
            SCENARIO
                .replace("vlan = 7", "each = \"5-tuple\"")
                .replace(":5004>192.0.2.1:5060/udp", ">192.0.2.1/icmp"),
            "it has no port to be counted up",
            "",
        ),
        (SCENARIO.replace("10.0.0.254:5004>192.0.2.1:5060/udp", "other"), "only IP packets have a DSCP", ""),
        (
            SCENARIO.replace("10.0.0.254:5004>192.0.2.1:5060/udp\", dscp = 46", "other\""),
            "only IP packets have an address to count up",
            "",
        ),
        (
            SCENARIO.replace("size =", "reserve = \"1kbit\"\nsize ="),
            "a.toml:11:11: `reserve` has no effect: only the gate is on the route",
            "in the gate's file",
        ),
        (
            SCENARIO.replace("size =", "ceiling = \"1mbit\"\nsize ="),
            "`ceiling` has no effect",
            "in the gate's file",
        ),
        (
            SCENARIO.replace("size =", "envelope = { rate = \"80kbit\", burst = \"400B\" }\nsize ="),
            "an `envelope` needs a port of the flow's own",
            "start at a [[node]]",
        ),
        (
            SCENARIO.replace("\n[[flow]]", "admission = {}\n[[flow]]"),
            "flows cannot be set up link by link through a gate",
            "leave out [admission]",
        ),
        (
            played.replace(cbr, &format!("{capture} }}")),
            "a capture has its own headers",
            "leave out `headers`",
        ),
        (
            played.replace(cbr, &format!("{capture} }}")).replace(headers, ""),
            "a capture through a gate needs `inside`, the addresses inside the gate",
            "add `inside`",
        ),
        (
            played
                .replace(cbr, &format!("{capture}, inside = [\"10.0.0.0/8\", \"10.0.0.1/8\"] }}"))
                .replace(headers, ""),
            "`inside` has bits beyond its prefix",
            "did you mean `10.0.0.0/8`?",
        ),
        (
            played
                .replace(cbr, &format!("{capture}, inside = \"10.0.0.0/8\" }}"))
                .replace(headers, "")
                .replace(
                    "kind = \"gate\", file = \"office.toml\"",
                    "kind = \"chain\", switches = 2, rate = \"1mbit\"",
                )
                .replace("inside\"\nto", "s1\"\nto")
                .replace("\"outside", "\"s2"),
            "`inside` has no effect without `direction`: no gate is on the route",
            "leave it out",
        ),
        (
            SCENARIO
                .replace(
                    "kind = \"gate\", file = \"office.toml\"",
                    "kind = \"chain\", switches = 2, rate = \"1mbit\"",
                )
                .replace("\"inside", "\"s1")
                .replace("\"outside", "\"s2"),
            "`headers` have no effect: no gate is on the route",
            "leave them out",
        ),
    ];
    for (text, message, help) in cases {
        let errors = parse(&text).expect_err(message).to_string();
        assert!(errors.contains(message), "{message} in {errors}");
        assert!(errors.contains(help), "{help} in {errors}");
    }
}

/// A mistake in the gate's file is reported with that file's name and line.
#[test]
fn mistakes_in_the_gates_file_are_its_own() {
    let folder = std::env::temp_dir().join(format!("tidegate-gate-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = std::fs::read_to_string(gates().join("office.toml")).unwrap();
    std::fs::write(folder.join("office.toml"), text.replace("reserve = \"1mbit\"", "reserve = \"1mbps\""))
        .unwrap();
    let errors = Scenario::parse(SCENARIO, "a.toml", &folder, &[]).unwrap_err();
    std::fs::remove_dir_all(&folder).unwrap();
    let [error] = &errors.errors[..] else { panic!("{errors}") };
    let line = 1 + text.lines().position(|line| line == "reserve = \"1mbit\"").unwrap();
    assert!(error.file.ends_with("office.toml") && error.line == line, "{error}");
}
