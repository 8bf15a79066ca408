//! Policies that contradict themselves, or do not fit the link, the classes or the flows that they
//! are for.

use super::{FULL, check, parse};
use std::path::Path;
use tidegate_formats::GateFile;

/// A link of 1 Mbit/s with a port, classes and flows.
pub fn scenario(rest: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"1mbit\" \
         }}\n{rest}"
    )
}

/// `count` flows with a reservation; `keys` are further keys.
fn flows(count: u32, reserve: &str, keys: &str) -> String {
    format!(
        "flow = [ {{ name = \"f\", count = {count}, from = \"s1\", to = \"s2\", size = \"1500B\", reserve = \"{reserve}\", \
         source = {{ kind = \"cbr\", rate = \"{reserve}\" }}{keys} }} ]\n"
    )
}

const TDM: &str = "port = { scheduler = { kind = \"tdm\", slot = \"1500B\", slots = 4 } }\n";

#[test]
fn slots_are_counted_at_every_port() {
    parse(&scenario(&(TDM.to_owned() + &flows(4, "250kbit", ""))), &[]).unwrap();
    check(
        &scenario(&(TDM.to_owned() + &flows(5, "200kbit", ""))),
        &[],
        "a.toml:5:85: flow `f/5` on link s1->s2: it does not fit: 1 slots are needed, and 0 of 4 are free",
        None,
    );
    check(
        &scenario(&(TDM.replace("1500B", "1499B") + &flows(1, "250kbit", ""))),
        &[],
        "a.toml:5:10: flow `f` on link s1->s2: it has packets (1500B) longer than a slot (1499B)",
        None,
    );
}

/// The needs of the flows of a class are counted in the class, and the needs of the class above it.
#[test]
fn slots_are_counted_in_classes() {
    let class = |rest: &str| {
        format!(
            "class = [ {{ name = \"k\", scheduler = {{ kind = \"tdm\", rate = \"1mbit\", slot = \"1500B\", \
             slots = 1 }}{rest} }} ]\n"
        )
    };
    check(
        &scenario(&(class("") + &flows(2, "5kbit", ", class = \"k\""))),
        &[],
        "a.toml:5:85: flow `f/2` in class `k` on link s1->s2: it does not fit: 1 slots are needed, and 0 of \
         1 are free",
        None,
    );
    let of_class =
        TDM.to_owned() + "class = [ { name = \"k\", scheduler = \"fifo\", reserve = \"900kbit\" } ]\n";
    parse(&scenario(&(of_class.clone() + &flows(1, "5kbit", ", class = \"k\""))), &[]).unwrap();
    check(
        &scenario(&(of_class + &flows(1, "50kbit", ""))),
        &[],
        "a.toml:6:85: flow `f` on link s1->s2: it does not fit: 1 slots are needed, and 0 of 4 are free",
        None,
    );
}

/// Slots within slots are refused, at any depth: they might never begin at the same time.
#[test]
fn slots_within_slots_are_refused() {
    let class = |port: &str, parent: &str, above: &str| {
        let inner = "scheduler = { kind = \"tdm\", slot = \"1500B\", slots = 4 }";
        scenario(&format!(
            "{port}class = [{above}{{ name = \"k\", {parent}{inner} }} ]\n{}",
            flows(1, "1kbit", "")
        ))
    };
    let help =
        Some("their slots may never begin at the same time: choose another scheduler for one of the two");
    parse(&class("", "", ""), &[]).unwrap();
    let said = "class `k` has slots within the slots of a scheduler above it";
    check(&class(TDM, "", ""), &[], &format!("a.toml:5:36: {said}"), help);
    let above = " { name = \"a\", scheduler = \"fifo\" }, ";
    check(&class(TDM, "parent = \"a\", ", above), &[], &format!("a.toml:5:87: {said}"), help);

    let gate = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }\n"
        .to_owned()
        + TDM
        + "class = [{ name = \"k\", scheduler = { kind = \"tdm\", slot = \"1500B\", slots = 4 } }]\n";
    let first = GateFile::parse(&gate, "g.toml", &[]).unwrap_err().errors[0].to_string();
    assert!(first.contains(said), "{first}");
}

/// A fluid server needs a rate: a link that delivers at recorded times has none.
#[test]
fn a_fluid_server_needs_a_constant_rate() {
    let link = |rate: &str, scheduler: &str| {
        let with = FULL.replacen("scheduler = \"fifo\"", &format!("scheduler = \"{scheduler}\""), 1);
        with.replacen("rate = \"2mbit\"", rate, 1)
    };
    let traced = "trace = \"common/three.trace\"";
    parse(&link("rate = \"2mbit\"", "wfq"), &[]).unwrap();
    parse(&link(traced, "wf2q-plus"), &[]).unwrap();
    let said = "a.toml:20:13: wfq needs a rate that is known at all times, and there is none on link s9->s1";
    check(&link(traced, "wfq"), &[], said, None);

    let gate = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\" }\n\
                port = { scheduler = \"wfq\" }\nemulate = { down = { trace = \"common/three.trace\", delay \
                = \"1ms\" } }\n";
    let errors = GateFile::parse(gate, "tests/g.toml", &[]).unwrap_err();
    let first = errors.errors[0].to_string();
    assert!(first.contains("wfq needs a rate that is known at all times, and there is none down"), "{first}");
}

/// Signalling books bit/s: whole slots, and no more than there are.
#[test]
fn signalled_flows_take_whole_slots() {
    let with = |port: &str, reserve: &str| {
        scenario(&(port.to_owned() + "admission = {}\n" + &flows(9, reserve, "")))
    };
    parse(&with(TDM, "500kbit"), &[]).unwrap();
    check(
        &with(TDM, "300kbit"),
        &[],
        "a.toml:6:85: flow `f/1` on link s1->s2: it reserves no whole number of slots, of which 4 share \
         1000000 bit/s",
        None,
    );
    check(
        &with(&TDM.replace("slot =", "rate = \"500kbit\", slot ="), "250kbit"),
        &[],
        "a.toml:4:80: the slots carry 500000 bit/s, and `admission` may reserve 1000000 bit/s on link s1->s2",
        None,
    );
}

/// Deadlines that conforming flows may miss are refused, where contracts state the flows' traffic.
#[test]
fn deadlines_that_may_be_missed_are_refused() {
    for scheduler in ["edf", "jitter-edd"] {
        let with = |rest: &str, deadline: &str| {
            let keys = format!(", deadline = \"{deadline}\"{rest}");
            scenario(&(format!("port = {{ scheduler = \"{scheduler}\" }}\n") + &flows(4, "200kbit", &keys)))
        };
        // Four bursts of 3000 bytes: 96 ms at 1 Mbit/s.
        let workahead = ", workahead = \"3000B\"";
        parse(&with(workahead, "96ms"), &[]).unwrap();
        parse(&with("", "1ms"), &[]).unwrap();
        check(
            &with(workahead, "80ms"),
            &[],
            "a.toml:5:10: flow `f/1` on link s1->s2: its deadline may be missed: up to 12000 B may be due within \
             80.000 ms, and the link carries 10000 B",
            None,
        );
    }
}

/// Schedulers along a route must use the value in packets in the same way.
#[test]
fn what_packets_carry_means_one_thing_along_a_way() {
    let with = |hosts: &str, switches: &str| {
        scenario(&format!(
            "host = {{ scheduler = \"{hosts}\" }}\nport = {{ scheduler = \"{switches}\" }}\n\
             node = [{{ name = \"a\", kind = \"host\" }}]\n\
             link = [{{ from = \"a\", to = \"s1\", rate = \"1mbit\" }}]\n{}",
            flows(1, "9kbit", "").replace("\"s1\"", "\"a\"")
        ))
    };
    for (hosts, switches) in [("fifo-plus", "fifo-plus"), ("fifo", "jitter-edd"), ("fifo-plus", "edf")] {
        parse(&with(hosts, switches), &[]).unwrap();
    }
    check(
        &with("fifo-plus", "jitter-edd"),
        &[],
        "a.toml:8:10: FIFO+ on link a->s1 writes a value into its packets that Jitter-EDD on \
         link s1->s2 reads as another",
        Some("give all links of its route that use such a value the same scheduler"),
    );
}

/// Greedy sources and recordings have no rate that a change could change.
#[test]
fn a_changed_rate_needs_a_rate() {
    let with = |source: &str| {
        scenario(&format!(
            "admission = {{}}\nflow = [ {{ name = \"f\", from = \"s1\", to = \"s2\", size = \"500B\", reserve = \"9kbit\", \
             change = [{{ at = \"500ms\", reserve = \"8kbit\", rate = \"8kbit\" }}], source = {{ {source} \
                    }} }} ]\n"
        ))
    };
    parse(&with("kind = \"cbr\", rate = \"9kbit\""), &[]).unwrap();
    check(
        &with("kind = \"greedy\", window = 3"),
        &[],
        "a.toml:5:134: `rate` has no effect: the source has no rate of its own",
        Some("leave it out: greedy sources and recordings send as before, within what is reserved then"),
    );
}

#[test]
fn parameters_do_not_contradict_each_other() {
    let port = "port = { dropper = { kind = \"drop-tail\", limit = \"10p\", marked = \"11p\" } }\n";
    check(&scenario(port), &[], "a.toml:4:66: `marked` is above `limit`", None);
    parse(&scenario(&port.replace("11p", "11kB")), &[]).unwrap();
    let set = ("port.dropper.marked", "11p");
    check(
        &scenario(&port.replace(", marked = \"11p\"", "")),
        &[set],
        "--set port.dropper.marked=11p: `marked` is above `limit`",
        None,
    );
}

/// More than the indexes of a switch can number.
#[test]
fn a_switch_has_so_many_classes_and_ports() {
    let classes: String =
        (0..65_535).map(|ix| format!("[[class]]\nname = \"c{ix}\"\nscheduler = \"fifo\"\n")).collect();
    check(&scenario(&classes), &[], "a.toml:196606:1: there are more than 65534 classes", None);
    let star = |hosts: u32| {
        format!(
            "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"star\", hosts = {hosts}, rate = \
             \"1gbit\" }}\n"
        )
    };
    parse(&star(65_535), &[]).unwrap();
    check(&star(65_536), &[], "a.toml:3:12: `hub` sends on more than 65535 links", None);
    let pairs = "version = 1\nduration = \"1s\"\ntopology = { kind = \"dumbbell\", pairs = 65535, rate = \
                 \"1gbit\" }\n";
    check(pairs, &[], "a.toml:3:12: `left` sends on more than 65535 links", None);
}

/// A gate's slots, in its file and under a scheduler that a scenario puts in the place of its own.
#[test]
fn slots_of_a_gate_are_counted() {
    let gate = |port: &str, reserve: &str| {
        format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }}\n{port}\
             flow = [ {{ name = \"x\", reserve = \"{reserve}\", match = {{ protocol = \"udp\" }} }}, \
             {{ name = \"y\", reserve = \"{reserve}\", match = {{ protocol = \"tcp\" }} }}, \
             {{ name = \"z\", reserve = \"{reserve}\" }} ]\n"
        )
    };
    let port = "port = { scheduler = { kind = \"tdm\", rate = \"1mbit\", slot = \"1500B\", slots = 2 } }\n";
    let first = |text: &str| GateFile::parse(text, "g.toml", &[]).unwrap_err().errors[0].to_string();
    let said = first(&gate(port, "300kbit"));
    let expected = "flow `z` up: it does not fit: 1 slots are needed, and 0 of 2 are free";
    assert!(said.starts_with("g.toml:4:") && said.contains(expected), "{said}");
    GateFile::parse(&gate(&port.replace("slots = 2", "slots = 3"), "300kbit"), "g.toml", &[]).unwrap();

    let folder = std::env::temp_dir().join(format!("tidegate-formats-slots-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("gate.toml"), gate("", "300kbit")).unwrap();
    let scenario = format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"gate\", file = \"gate.toml\" }}\n{port}"
    );
    let read = |text: &str| tidegate_formats::Scenario::parse(text, "a.toml", Path::new(&folder), &[]);
    let said = read(&scenario).unwrap_err().errors[0].to_string();
    assert!(said.starts_with("a.toml:4:22: ") && said.contains(expected), "{said}");
    read(&scenario.replace("slots = 2", "slots = 3")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Renamed keys and values get a message with the new name, in files and in overrides.
#[test]
fn old_words_are_told_the_new_ones() {
    let renamed = Some("write priority = 1, 0 being the most urgent");
    check(
        &FULL.replace("priority = 3", "level = 3"),
        &[],
        "a.toml:52:1: `level` is now called `priority`",
        renamed,
    );
    check(
        FULL,
        &[("flow.data.level", "3")],
        "--set flow.data.level=3: `level` is now called `priority`",
        renamed,
    );
    check(
        &FULL.replace("priority = 3", "reserve = \"1kbit\"\npriority = \"10ms\""),
        &[],
        "a.toml:53:12: `priority` is an urgency level now; the head start is called `head_start`",
        Some("write head_start = \"10ms\""),
    );
    let gate = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }\n\
                [[class]]\nname = \"k\"\nscheduler = \"fifo\"\nlevel = 1\n";
    let said = GateFile::parse(gate, "g.toml", &[]).unwrap_err().errors[0].to_string();
    assert!(said.starts_with("g.toml:6:1: `level` is now called `priority`"), "{said}");
}

#[test]
fn guards_of_classes_and_hosts_and_profiles_are_checked() {
    let dropper = "dropper = { kind = \"drop-tail\", limit = \"10p\", marked = \"11p\" }";
    let class = format!("class = [ {{ name = \"k\", scheduler = \"fifo\", {dropper} }} ]\n");
    check(&scenario(&class), &[], "a.toml:4:101: `marked` is above `limit`", None);
    check(
        &scenario(&format!("host = {{ {dropper} }}\n")),
        &[],
        "a.toml:4:66: `marked` is above `limit`",
        None,
    );
    let profile = |keys: &str| format!("profile = [ {{ name = \"p\"{keys} }}, {{ name = \"q\" }} ]\n");
    check(
        &scenario(&profile(", interval = \"1s\"")),
        &[],
        "a.toml:4:38: `interval` has no effect on a flow without a reservation",
        Some("give it a `reserve`"),
    );
    check(
        &scenario(&profile("").replace("\"q\"", "\"p\"")),
        &[],
        "a.toml:4:38: there is already a profile `p`",
        None,
    );
    let flow = flows(1, "5kbit", ", profile = \"pp\"");
    check(
        &scenario(&(profile("") + &flow)),
        &[],
        "a.toml:5:147: there is no profile `pp`",
        Some("did you mean `p`?"),
    );
    check(&scenario(&flow), &[], "a.toml:4:147: there is no profile `pp`", Some("add a [[profile]]"));
}

/// An envelope takes the values that it does not state from the contract. Values that neither
/// states, or that conflict, are reported.
#[test]
fn an_envelope_takes_its_values_from_the_contract() {
    let flow = |keys: &str| scenario(&flows(1, "300kbit", keys));
    let stated = ", workahead = \"6kB\", peak = \"600kbit\", ";
    for envelope in [
        "kind = \"token-bucket\"",
        "excess = \"drop\"",
        "excess = \"mark\"",
        "queue = \"20p\"",
        "burst = \"1500B\"",
        "rate = \"100kbit\"",
    ] {
        parse(&flow(&format!("{stated}envelope = {{ {envelope} }}")), &[]).unwrap();
    }
    parse(&flow(", interval = \"1s\", envelope = { excess = \"drop\" }"), &[]).unwrap();
    let fault = |keys: &str, message: &str| {
        let text = flow(keys);
        let column = text.lines().nth(3).unwrap().find("envelope").map(|at| at + 1 + "envelope = ".len());
        check(&text, &[], &format!("a.toml:4:{}: {message}", column.unwrap()), None);
    };
    fault(
        ", envelope = { excess = \"drop\" }",
        "`burst` is left out, and the flow has no `workahead` and no `interval`",
    );
    let datagrams = flow(", envelope = { excess = \"drop\" }").replacen(" reserve = \"300kbit\",", "", 1);
    let column = datagrams.lines().nth(3).unwrap().find("{ excess").unwrap() + 1;
    check(
        &datagrams,
        &[],
        &format!("a.toml:4:{column}: `rate` is left out, and the flow has no `reserve`"),
        None,
    );
    let text = flow(", workahead = \"6kB\", envelope = { peak = \"200kbit\" }");
    let column = text.lines().nth(3).unwrap().find("peak").unwrap() + 1;
    check(&text, &[], &format!("a.toml:4:{}: `peak` is below the flow's `reserve`", column + 7), None);
}
