use super::*;
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::{Direction, Each};
use tidegate_core::link::{GilbertElliott, Loss, Pace};
use tidegate_core::units::Span;

const OFFICE: &str = r#"
version = 1
[gate]
inside = "lan0"
outside = "wan0"
up = "10mbit"
down = "50mbit"
overhead = 24
mpu = 84
[port]
scheduler = "virtual-clock"
[[flow]]
name = "voice"
match = { port = 5060, protocol = "udp", dscp = 46 }
reserve = "128kbit"
head_start = "5ms"
[[flow]]
name = "guests"
match = { inside = "10.9.0.0/16", vlan = 9, direction = "down" }
each = "host"
idle = "5s"
ceiling = "2mbit"
[[flow]]
name = "rest"
each = "5-tuple"
"#;

fn mistakes(text: &str) -> Vec<String> {
    match GateFile::parse(text, "office.toml", &[]) {
        Ok(_) => Vec::new(),
        Err(errors) => {
            errors.errors.iter().map(|error| format!("{}: {}", error.line, error.message)).collect()
        }
    }
}

#[test]
fn a_gate_file_is_read() {
    let gate = GateFile::parse(OFFICE, "office.toml", &[("gate.up".into(), "20mbit".into())]).unwrap();
    assert_eq!((gate.name.as_str(), gate.inside.as_str(), gate.outside.as_str()), ("office", "lan0", "wan0"));
    assert_eq!(gate.rates.map(|rate| rate.bits_per_second().round() as u64), [20_000_000, 50_000_000]);
    assert_eq!((gate.framing.charge(1514), gate.framing.charge(42)), (1538, 84));
    assert_eq!((gate.buffer, gate.fail, gate.io), (Limit::Packets(1000), Fail::Open, Io::Ring));
    let closed = GateFile::parse(OFFICE, "office.toml", &[("gate.fail".into(), "closed".into())]).unwrap();
    assert_eq!(closed.fail, Fail::Closed);
    let [voice, guests, rest] = &gate.flows[..] else { panic!("{:?}", gate.flows) };
    let precise = GateFile::parse(
        &OFFICE.replacen("vlan = 9", "vlan = 9, ethertype = \"ipv4\"", 1),
        "office.toml",
        &[],
    );
    assert_eq!(precise.unwrap().flows[1].matching.ethertype, [0x0800]);
    let matching = Match { port: vec![5060.into()], protocol: vec![17], dscp: vec![46], ..Match::default() };
    assert_eq!((&voice.matching, voice.each), (&matching, None));
    assert_eq!(voice.contract.contract().head_start, Span::from_millis(5));
    assert_eq!((guests.each, guests.idle), (Some(Each::Host), Span::from_secs(5)));
    assert_eq!(
        (guests.matching.direction, guests.terms[1].ceiling),
        (Some(Direction::Down), Some(2_000_000))
    );
    assert_eq!((&rest.matching, rest.idle), (&Match::default(), Span::from_secs(30)));
    assert!(gate.to_toml().contains("up = \"20mbit\""));
}

/// Hosts are classes, also in a class within a class.
#[test]
fn hosts_are_classes_under_any_tree() {
    let classes = "[[class]]\nname = \"outer\"\n[[class]]\nname = \"inner\"\nparent = \"outer\"\n";
    let hosts = "each = \"host\"\nwithin = \"5-tuple\"\nclass = \"inner\"";
    let text = OFFICE.replacen("each = \"host\"", hosts, 1);
    let text = text.replacen("[[flow]]", &format!("{classes}[[flow]]"), 1);
    assert_eq!(mistakes(&text), Vec::<String>::new());
}

#[test]
fn mistakes_are_answered_where_they_are() {
    let with = |old: &str, new: &str| {
        assert!(OFFICE.contains(old), "{old}");
        mistakes(&OFFICE.replacen(old, new, 1))
    };
    for (old, new, expected) in [
        ("up = \"10mbit\"", "up = \"0mbit\"", "6: `0mbit` is not a rate: a rate is at least 1bit"),
        ("up = \"10mbit\"", "upp = \"10mbit\"", "6: `gate` has no key `upp`"),
        (
            "mpu = 84",
            "io = \"tap\"",
            "9: a TAP device disappears with its gate, so no traffic can pass without one",
        ),
        (
            "mpu = 84",
            "addressed = [\"wan0\", \"wan1\"]",
            "9: `wan1` is neither the interface inside nor the one outside",
        ),
        ("version = 1", "version = 1\nname = \"a\\nb\"", "3: `name` has characters that the log cannot show"),
        ("version = 1", "version = 1\nname = \"\"", "3: `name` must have 1 to 64 characters"),
        ("\"wan0\"", "\"lan0\"", "5: `inside` and `outside` are both lan0"),
        ("\"wan0\"", "\"a name that is too long\"", "5: this is not the name of an interface"),
        ("\"10.9.0.0/16\"", "\"10.9.0.1/16\"", "19: `inside` has bits beyond its prefix"),
        ("\"10.9.0.0/16\"", "\"ten\"", "19: `inside` is neither an address nor a prefix"),
        ("\"udp\"", "\"udpp\"", "14: this is not a protocol"),
        ("\"udp\"", "\"icmp\"", "14: this protocol has no ports, so nothing would ever match"),
        ("dscp = 46", "ethertype = \"arpp\"", "14: this is not a frame type"),
        (
            "dscp = 46",
            "ethertype = \"arp\"",
            "14: frames of this type carry no IP, so with `port` nothing would ever match",
        ),
        ("port = 5060", "port = 66000", "14: 66000 is out of range"),
        ("port = 5060", "port = [53, 66000]", "14: 66000 is out of range"),
        ("port = 5060", "port = []", "14: `port` is empty"),
        ("port = 5060", "port = \"5060-66000\"", "14: 66000 is out of range"),
        ("port = 5060", "port = \"5060-5000\"", "14: `port`: 5060-5000 ends before it begins"),
        ("port = 5060", "port = \"sip\"", "14: `port`: `sip` is not a range of ports"),
        ("port = 5060", "port = \"5060\"", "14: `port` takes a number, not the text `5060`"),
        ("\"udp\"", "[\"udp\", \"icmp\"]", "14: this protocol has no ports, so nothing would ever match"),
        ("vlan = 9", "inside_mac = \"02:00\"", "19: `inside_mac` is no MAC address"),
        ("vlan = 9", "not = {}", "19: `not` names no packets, so it would match all"),
        ("vlan = 9", "not = { dcsp = 1 }", "19: `not` has no key `dcsp`"),
        ("vlan = 9", "not = { inside = \"10.9.0.1/16\" }", "19: `inside` has bits beyond its prefix"),
        ("idle = \"5s\"", "idle = \"0s\"", "21: `idle` is zero"),
        ("each = \"host\"\n", "", "20: a flow without `each` or `circuits` is never forgotten"),
        (
            "each = \"5-tuple\"",
            "each = \"5-tuple\"\nwithin = \"5-tuple\"",
            "26: `within` divides what a host, a subscriber or a circuit has",
        ),
        (
            "direction = \"down\" }\neach = \"host\"",
            "direction = \"down\" }\nwithin = \"5-tuple\"",
            "20: `within` divides",
        ),
        ("each = \"5-tuple\"", "each = \"host\"\nwithin = \"host\"", "26: there is no within `host`"),
        (
            "each = \"5-tuple\"",
            "each = \"host\"\nwithin = \"host, 5-tuple\"",
            "26: with each = \"host\" there is one host in each class",
        ),
        (
            "each = \"5-tuple\"",
            "each = \"host\"\nwithin = \"triple-isolate\"",
            "26: with each = \"host\" there is one host in each class",
        ),
        (
            "each = \"5-tuple\"",
            "each = \"5-tuple\"\nwithin = \"host, 5-tuple\"",
            "26: `within` divides what a host, a subscriber or a circuit has",
        ),
        (
            "each = \"5-tuple\"",
            "each = \"subscriber\"\nwithin = \"host, 5-tuple\"\nwithin = \"none\"",
            "27: duplicate key",
        ),
        (
            "reserve = \"128kbit\"",
            "reserve = \"11mbit\"",
            "12: 11mbit is reserved on the link up (10mbit): flow `voice` is the first that does not fit",
        ),
        ("reserve = \"128kbit\"\n", "", "15: `head_start` has no effect on a flow without a reservation"),
        ("name = \"guests\"", "name = \"voice\"", "18: there is already a flow `voice`"),
        ("ceiling = \"2mbit\"", "class = \"none\"", "22: there is no class `none`"),
        ("overhead = 24", "overhead = 2000", "8: 2000 is out of range"),
        ("version = 1", "version = 2", "2: this is a version 2 gate file"),
        (
            "match = { inside = \"10.9.0.0/16\", vlan = 9, direction = \"down\" }",
            "",
            "23: `rest` never gets a packet: `guests` before it matches everything",
        ),
    ] {
        let found = with(old, new);
        let (line, said) = expected.split_once(": ").unwrap();
        let fits = |mistake: &String| mistake.starts_with(&format!("{line}: ")) && mistake.contains(said);
        assert!(found.iter().any(fits), "{new}: {found:?}");
    }
}

#[test]
fn a_trace_stands_in_place_of_a_rate() {
    let read = |gate: &str, emulate: &str| {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\"{gate} }}\nemulate = {{ {emulate} }}\n\
             flow = [{{ name = \"f\", reserve = \"1mbit\", set_dscp = 10 }}]\n"
        );
        GateFile::parse(&text, "tests/office.toml", &[])
    };
    let trace = "up = { trace = \"common/three.trace\", delay = \"20ms\", loss = 0.01 }";
    let file = read(", down = \"5mbit\"", trace).unwrap();
    assert_eq!(file.rates.map(|rate| rate.bits_per_second().round() as u64), [3_600_000, 5_000_000]);
    let [Some(up), None] = &file.emulated else { panic!("{:?}", file.emulated) };
    assert!(matches!(&up.pace, Pace::Trace(trace) if trace.opportunities() == 3));
    assert_eq!((up.delay, up.loss), (Span::from_millis(20), Loss::new(0.01).unwrap()));
    assert_eq!(file.flows[0].set_dscp, Some(10));
    let bursts = "loss = { kind = \"gilbert-elliott\", to_bad = 0.01, to_good = 0.2, loss_in_bad = 0.5 }";
    let file = read(", down = \"5mbit\"", &trace.replace("loss = 0.01", bursts)).unwrap();
    let chain = GilbertElliott { to_bad: 0.01, to_good: 0.2, loss_in_good: 0.0, loss_in_bad: 0.5 };
    assert_eq!(file.emulated[0].as_ref().unwrap().loss, Loss::in_bursts(chain).unwrap());
    let rated = read(", up = \"5mbit\", down = \"5mbit\"", "down = { delay = \"1s\" }").unwrap();
    let [None, Some(down)] = &rated.emulated else { panic!("{:?}", rated.emulated) };
    assert_eq!((down.pace.is_steady(), down.delay, down.loss), (true, Span::from_secs(1), Loss::NONE));
    for (gate, emulate, expected) in [
        (", up = \"5mbit\", down = \"5mbit\"", trace, "the link up has a rate and a trace"),
        (", up = \"5mbit\"", trace, "the link up has a rate and a trace"),
        ("", trace, "`gate` needs `down`"),
        (", down = \"5mbit\"", "up = { delay = \"1ms\" }", "`gate` needs `up`"),
        (", down = \"5mbit\"", "up = { trace = \"none\" }", "cannot read tests/none: "),
        (
            ", down = \"5mbit\"",
            "up = { trace = \"common/mod.rs\" }",
            "is not a trace of a link: line 1: expected",
        ),
        (", down = \"5mbit\"", "up = { los = 1 }", "`emulated` has no key `los`"),
        (", down = \"0.9mbit\"", trace, "1mbit is reserved on the link down (900kbit)"),
    ] {
        let errors = read(gate, emulate).unwrap_err().to_string();
        assert!(errors.contains(expected), "{expected}: {errors}");
    }
}

#[test]
fn a_class_is_asked_for_what_it_reserves() {
    let text = |reserve: &str| {
        format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }}\n\
             class = [{{ name = \"calls\", scheduler = \"virtual-clock\", reserve = \"200kbit\" }}]\n\
             flow = [{{ name = \"v\", class = \"calls\", reserve = \"{reserve}\" }}]\n"
        )
    };
    assert_eq!(mistakes(&text("200kbit")), [""; 0]);
    let found = mistakes(&text("201kbit"));
    assert!(found[0].contains("201kbit is reserved on class `calls` (200kbit)"), "{found:?}");
}

#[test]
fn directions_may_differ() {
    let text = |rest: &str| {
        format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"9mbit\" \
             }}\n{rest}"
        )
    };
    let rest = "[[class]]\nname = \"c\"\nscheduler = \"fifo\"\nreserve = \"1mbit\"\ndown = { ceiling = \"8mbit\" }\n\
                [[flow]]\nname = \"f\"\nceiling = \"4mbit\"\ndown = { reserve = \"3mbit\", ceiling = \"5mbit\" }\n\
                head_start = \"5ms\"\n";
    let gate =
        GateFile::parse(&text(rest), "x.toml", &[("class.c.down.reserve".into(), "2mbit".into())]).unwrap();
    let terms = |reserve: Option<u64>, ceiling: Option<u64>| DirectionTerms {
        reserve: reserve.map(|mega| mega * 1_000_000),
        ceiling: ceiling.map(|mega| mega * 1_000_000),
    };
    assert_eq!(gate.classes[0].terms, [terms(Some(1), None), terms(Some(2), Some(8))]);
    assert_eq!(gate.flows[0].terms, [terms(None, Some(4)), terms(Some(3), Some(5))]);
    let [up, down] = Direction::BOTH.map(|direction| gate.edge_plan(direction).rules[0].plan);
    assert_eq!((up.contract.reserve, up.contract.head_start), (None, Span::from_millis(5)));
    assert_eq!(
        (down.contract.reserve, down.ceiling),
        (Rate::from_bits_per_second(3_000_000), Rate::from_bits_per_second(5_000_000))
    );
    for (old, new, expected) in [
        ("ceiling = \"5mbit\"", "ceiling = \"2mbit\"", "11: `ceiling` (2mbit) is below `reserve` (3mbit)"),
        ("ceiling = \"5mbit\"", "cieling = \"5mbit\"", "11: `down` has no key `cieling`"),
        ("reserve = \"3mbit\"", "reserve = \"10mbit\"", "8: 10mbit is reserved on the link down (9mbit)"),
    ] {
        let found = mistakes(&text(&rest.replacen(old, new, 1)));
        assert!(found.iter().any(|mistake| mistake.starts_with(expected)), "{new}: {found:?}");
    }
}

/// A ceiling of one direction has a bucket, which is none of the other direction's.
#[test]
fn a_ceiling_of_one_direction_has_a_bucket() {
    let class = |terms: &str| {
        format!("{OFFICE}[[class]]\nname = \"a\"\npolicy = \"fifo\"\nceiling_burst = \"3028B\"\n{terms}")
    };
    let gate = GateFile::parse(&class("up = { ceiling = \"2mbit\" }"), "office.toml", &[]).unwrap();
    let burst = Direction::BOTH
        .map(|direction| gate.switch_plan().ports[direction as usize].classes[0].ceiling_burst);
    assert_eq!(burst, [Some(3028), None]);
    let said = mistakes(&class(""));
    assert_eq!(said, ["29: `ceiling_burst` has no effect on a class without a `ceiling`"]);
}

#[test]
fn what_a_gate_must_have_is_required() {
    let schema = crate::gate_schema();
    assert_eq!(schema["required"], serde_json::json!(["version", "gate"]));
    assert_eq!(schema["$defs"]["gate"]["required"], serde_json::json!(["inside", "outside"]));
}

/// A gate's name begins each line of its log, and a file can have any name.
#[test]
fn the_name_of_a_file_forges_no_line_of_the_log() {
    let text = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }\n";
    for odd in ['\n', '\r', '\u{1b}', '\u{85}', '\u{2028}', '\u{202e}', '\u{2066}'] {
        let file = GateFile::parse(text, &format!("/etc/tidegate/a{odd}lan0: stopped.toml"), &[]).unwrap();
        assert_eq!(file.name, "a_lan0: stopped");
    }
}
