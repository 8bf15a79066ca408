//! A policy is whole: its name stands for all its parts, in every form in which a file writes it.

mod common;

use common::parse;
use std::collections::BTreeSet;
use tidegate_core::composite;
use tidegate_core::dropper::{self, BuiltInDropper};
use tidegate_core::params::{NamedPolicy, Role, Value};
use tidegate_core::scheduler::{self, BuiltInScheduler};
use tidegate_core::switch::plan::{DropperPlan, PortPlan};
use tidegate_formats::units::show_value;
use tidegate_formats::{FormatErrors, GateFile, Link, Scenario};

/// Two switches and their hosts, over a link of its own between the switches.
fn scenario(settings: &str, link: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\ntopology = \"nodes\"\n{settings}\n\
         node = [{{ name = \"h1\", kind = \"host\" }}, {{ name = \"s1\" }}, {{ name = \"s2\" }}]\n\
         link = [{{ from = \"h1\", to = \"s1\", rate = \"9mbit\" }}, \
         {{ from = \"s1\", to = \"s2\", rate = \"1mbit\"{link} }}]\n"
    )
}

fn port_of(link: &Link) -> PortPlan {
    link.port.plan(link.rate, &BTreeSet::new())
}

/// The ports of all links, with their classes.
fn ports(text: &str, sets: &[(&str, &str)]) -> Vec<PortPlan> {
    let read = parse(text, sets).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    // The text kept for the scenario has the meaning of the original.
    let again = parse(read.to_toml(), &[]).unwrap_or_else(|errors| panic!("{errors}\n{}", read.to_toml()));
    let plans = |scenario: &Scenario| -> Vec<PortPlan> {
        let classes = |link: &Link| {
            let plan = |class: &tidegate_formats::Class| {
                class.plan(&class.droppers_above(|ix| &scenario.classes[ix], &link.port))
            };
            scenario.classes.iter().map(plan).collect()
        };
        scenario.links.iter().map(|link| PortPlan { classes: classes(link), ..port_of(link) }).collect()
    };
    assert_eq!(plans(&read), plans(&again), "{}", read.to_toml());
    plans(&read)
}

fn said(result: Result<Scenario, FormatErrors>) -> String {
    result.expect_err("a mistake was expected").to_string()
}

/// Each way to write a policy, and the tables of its parts.
const WRITTEN: &[(&str, &str)] = &[
    ("\"fifo\"", "scheduler = \"fifo\""),
    ("\"codel\"", "scheduler = \"fifo\", dropper = \"codel\""),
    ("\"red\"", "dropper = { kind = \"red\", min_th = \"5p\", max_th = \"15p\" }"),
    ("\"virtual-clock + red\"", "scheduler = \"virtual-clock\", dropper = \"red\""),
    (
        "\"virtual-clock+red(max_p=0.5)\"",
        "scheduler = \"virtual-clock\", dropper = { kind = \"red\", max_p = 0.5 }",
    ),
    ("\"fq-codel\"", "scheduler = \"drr++\", dropper = { kind = \"codel\", scope = \"flow\" }"),
    ("\"drr++ + codel(scope=flow)\"", "scheduler = \"fq-codel\""),
    (
        "\"fq-codel(target=9ms, quantum=300B)\"",
        "scheduler = { kind = \"drr++\", quantum = \"300B\" }, dropper = { kind = \"codel\", target = \"9ms\", scope = \"flow\" }",
    ),
    (
        "\"fq-pie(target=9ms, quantum=300B)\"",
        "scheduler = { kind = \"drr++\", quantum = \"300B\" }, \
         dropper = { kind = \"pie\", target = \"9ms\", delay = \"timestamps\", scope = \"flow\" }",
    ),
    ("\"dualpi2\"", "scheduler = \"time-shifted-fifo\", dropper = \"coupled-pi2\""),
    (
        "\"dualpi2(k=3, shift=9ms)\"",
        "scheduler = { kind = \"time-shifted-fifo\", shift = \"9ms\" }, dropper = { kind = \"coupled-pi2\", k = 3 }",
    ),
    ("{ kind = \"fq-codel\", target = \"9ms\" }", "scheduler = { kind = \"fq-codel\", target = \"9ms\" }"),
    ("{ kind = \"pie\", target = \"9ms\" }", "dropper = { kind = \"pie\", target = \"9ms\" }"),
    ("{ kind = \"codel\", scope = \"flow\" }", "dropper = { kind = \"codel\", scope = \"flow\" }"),
];

#[test]
fn a_policy_in_one_line_is_the_tables_of_its_parts() {
    for (written, parts) in WRITTEN {
        let expected = ports(&scenario(&format!("port = {{ {parts} }}"), ""), &[]);
        for text in [format!("port = {written}"), format!("port = {{ policy = {written} }}")] {
            // A table with `kind` is a policy's, and no port's.
            if !text.starts_with("port = { kind") {
                assert_eq!(ports(&scenario(&text, ""), &[]), expected, "{text}");
            }
        }
        assert_eq!(ports(&scenario("", ""), &[("port.policy", written)]), expected, "{written}");
        let host = ports(&scenario(&format!("host = {{ {parts} }}"), ""), &[]);
        assert_eq!(ports(&scenario(&format!("host = {{ policy = {written} }}"), ""), &[]), host);
        let link = ports(&scenario("", &format!(", {parts}")), &[]);
        assert_eq!(ports(&scenario("", &format!(", policy = {written}")), &[]), link, "{written}");
        let class = |keys: &str| scenario(&format!("class = [{{ name = \"c\", {keys} }}]"), "");
        let parts = if parts.contains("scheduler") {
            (*parts).to_owned()
        } else {
            format!("scheduler = \"fifo\", {parts}")
        };
        assert_eq!(
            ports(&class(&format!("policy = {written}")), &[]),
            ports(&class(&parts), &[]),
            "{written}"
        );
    }
}

#[test]
fn the_name_of_a_composite_policy_is_the_line_that_its_record_gives() {
    for record in composite::RECORDS {
        let Role::Composite(consists) = record.role else { panic!("{}", record.name) };
        let [name, line] = [record.name.to_owned(), consists.to_string()]
            .map(|policy| ports(&scenario(&format!("port = \"{policy}\""), ""), &[]));
        assert_eq!(name, line, "{consists}");
    }
}

/// A value as an expression writes it.
fn params(values: &[(&'static str, Value)]) -> String {
    let given: Vec<String> =
        values.iter().map(|(name, value)| format!("{name}={}", show_value(value))).collect();
    format!("({})", given.join(", "))
}

/// The values as a table.
fn table(kind: &str, values: &[(&'static str, Value)]) -> String {
    let given = values.iter().map(|(name, value)| match value {
        Value::Integer(_) | Value::Number(_) => format!(", {name} = {}", show_value(value)),
        _ => format!(", {name} = \"{}\"", show_value(value)),
    });
    format!("{{ kind = \"{kind}\"{} }}", given.collect::<String>())
}

#[test]
fn every_scheduler_goes_with_every_dropper_in_one_line() {
    let mut pairs = 0;
    for scheduler in BuiltInScheduler::examples() {
        for dropper in BuiltInDropper::examples() {
            let (first, second) = (scheduler.record().name, dropper.record().name);
            let (orders, drops) = (scheduler.values(), dropper.values());
            let line = format!("port = '{first}{} + {second}{}'", params(&orders), params(&drops));
            let long = format!(
                "port = {{ scheduler = {}, dropper = {} }}",
                table(first, &orders),
                table(second, &drops)
            );
            assert_eq!(ports(&scenario(&line, ""), &[]), ports(&scenario(&long, ""), &[]), "{line}");
            pairs += 1;
        }
    }
    assert!(pairs > 100, "{pairs}");
}

/// An older file states both halves; its meaning is unchanged.
#[test]
fn the_halves_of_a_composite_policy_beside_each_other_are_that_policy() {
    let codel = "dropper = { kind = \"codel\", scope = \"flow\", interval = \"50ms\" }";
    let both = format!("port = {{ scheduler = {{ kind = \"fq-codel\", quantum = \"300B\" }}, {codel} }}");
    let line = "port = \"fq-codel(quantum=300B, interval=50ms)\"";
    assert_eq!(ports(&scenario(&both, ""), &[]), ports(&scenario(line, ""), &[]));
    // The scheduler of a link or of a class, and the dropper of the port: one dropper for each
    // flow.
    let inherited = ports(&scenario(&format!("port = {{ {codel} }}"), ", scheduler = \"fq-codel\""), &[]);
    let drr = ports(&scenario(&format!("port = {{ {codel} }}"), ", scheduler = \"drr++\""), &[]);
    assert_eq!(inherited, drr);
    for port in [codel, "policy = \"fq-codel\""] {
        let class = |scheduler: &str| {
            let class = format!("class = [{{ name = \"c\", scheduler = \"{scheduler}\" }}]");
            // Hosts have no classes.
            ports(&scenario(&format!("port = {{ {port} }}\n{class}"), ""), &[]).split_off(1)
        };
        assert_eq!(class("fq-codel"), class("drr++"), "{port}");
    }
}

#[test]
fn a_composite_policy_takes_no_other_dropper() {
    for (dropper, written) in
        [("\"red\"", "red"), ("\"codel\"", "codel"), ("{ kind = \"pie\", scope = \"flow\" }", "pie")]
    {
        let said = said(parse(
            &scenario(&format!("port = {{ scheduler = \"fq-codel\", dropper = {dropper} }}"), ""),
            &[],
        ));
        let message = "a.toml:4:22: `fq-codel` is `drr++ + codel(scope=flow)`, and `dropper` is another";
        assert!(said.starts_with(message), "{written}: {said}");
        assert!(said.contains("write scheduler = \"drr++\""), "{said}");
    }
    let twice = "port = { scheduler = { kind = \"fq-codel\", target = \"9ms\" }, dropper = { kind = \"codel\", scope = \"flow\" } }";
    let said = said(parse(&scenario(twice, ""), &[]));
    assert!(said.contains("`target` belongs to the dropper, which is stated by itself"), "{said}");
}

#[test]
fn a_policy_stands_alone() {
    for key in ["scheduler = \"drr\"", "dropper = \"red\""] {
        let said = said(parse(&scenario(&format!("port = {{ policy = \"codel\", {key} }}"), ""), &[]));
        let name = key.split(' ').next().unwrap();
        assert!(said.starts_with(&format!("a.toml:4:28: `policy` has the {name} already")), "{said}");
    }
    // A link's policy has only its own dropper, whatever the port's is.
    let plain = ports(&scenario("port = \"red\"", ", policy = \"drr\""), &[]);
    assert_eq!(plain[2].dropper, None);
    // A dropper that belongs to the name of a scheduler is replaced with it.
    let fifo = ports(&scenario("port = \"fq-codel\"", ", scheduler = \"fifo\""), &[]);
    assert_eq!(fifo[2].dropper, None);
    let red = ports(&scenario("port = \"drr + red\"", ", scheduler = \"fifo\""), &[]);
    assert!(red[2].dropper.is_some());
    let none = said(parse(&scenario("class = [{ name = \"c\" }]", ""), &[]));
    assert!(none.starts_with("a.toml:4:10: class `c` needs `policy`, or `scheduler`"), "{none}");
}

/// The dropper of a scenario's port behind overrides.
fn after(port: &str, sets: &[(&str, &str)]) -> Vec<PortPlan> {
    ports(&scenario(port, ""), sets)
}

#[test]
fn an_override_changes_a_policy_or_a_part_of_it_however_it_is_written() {
    let of = |port: &str| after(port, &[]);
    for port in ["", "port = \"virtual-clock + red\"", "port = { scheduler = \"drr\", dropper = \"pie\" }"] {
        assert_eq!(after(port, &[("port.policy", "codel")]), of("port = \"codel\""), "{port}");
        assert_eq!(after(port, &[("port", "fq-codel")]), of("port = \"fq-codel\""), "{port}");
        assert_eq!(after(port, &[("port.policy", "fifo")]), of("port = \"fifo\""), "{port}");
    }
    for short in ["port = \"virtual-clock + red\"", "port = { policy = \"virtual-clock + red\" }"] {
        assert_eq!(after(short, &[("port.scheduler", "drr")]), of("port = \"drr + red\""));
        assert_eq!(after(short, &[("port.dropper", "codel")]), of("port = \"virtual-clock + codel\""));
        assert_eq!(
            after(short, &[("port.dropper.max_p", "0.5")]),
            of("port = \"virtual-clock + red(max_p=0.5)\"")
        );
        assert_eq!(
            after(short, &[("port.policy.max_p", "0.5")]),
            of("port = \"virtual-clock + red(max_p=0.5)\"")
        );
        let sets = [("port.meter", "policer")];
        assert_eq!(after(short, &sets), of(short));
        let read = parse(&scenario(short, ""), &sets).unwrap();
        assert_eq!(
            read.links[2].port.meter.as_ref().map(|meter| meter.policy.record().name),
            Some("policer")
        );
    }
    assert_eq!(after("port = \"fq-codel\"", &[("port.scheduler", "fifo")]), of("port = \"fifo\""));
    assert_eq!(
        after("port = \"fq-codel\"", &[("port.policy.target", "9ms")]),
        of("port = \"fq-codel(target=9ms)\"")
    );
    assert_eq!(
        after("port = { scheduler = \"fq-codel\" }", &[("port.policy.quantum", "300B")]),
        of("port = \"fq-codel(quantum=300B)\"")
    );
    let link = ports(&scenario("", ", policy = \"virtual-clock + red\""), &[("link.s1-s2.scheduler", "drr")]);
    assert_eq!(link, ports(&scenario("", ", policy = \"drr + red\""), &[]));
    let said = said(parse(&scenario("port = \"fq-codel\"", ""), &[("port.policy.targt", "9ms")]));
    assert!(said.contains("has no key `targt`") && said.contains("`target`"), "{said}");
}

/// The words of a user of another tool, or of one who takes a dropper for a scheduler.
#[test]
fn a_name_that_is_no_scheduler_is_answered_with_what_to_write() {
    for word in [
        "codel",
        "red",
        "pie",
        "wred",
        "drop-tail",
        "htb",
        "cake",
        "droptail",
        "DropTail",
        "tbf",
        "pfifo",
        "pfifo_fast",
        "bfifo",
        "fq",
        "hfsc",
        "prio",
        "gred",
        "cbs",
        "cbq",
        "netem",
        "choke",
        "sfb",
        "ets",
        "qfq",
        "mqprio",
        "taprio",
        "cobalt",
        "wrr",
        "rr",
        "sp",
        "wf2q+",
        "pgps",
        "fcfs",
        "taildrop",
        "dualq",
        "blue",
        "ared",
        "priq",
        "fairq",
        "cbwfq",
        "llq",
        "policer",
        "srtcm",
        "tcp",
    ] {
        for (text, sets) in [
            (scenario(&format!("port = {{ scheduler = \"{word}\" }}"), ""), vec![]),
            (scenario("", ""), vec![("port.scheduler", word)]),
        ] {
            let said = said(parse(&text, &sets));
            assert!(said.contains(&format!("there is no scheduler `{word}`")), "{said}");
            let (_, help) = said.split_once("help: ").unwrap_or_else(|| panic!("{said}"));
            assert!(help.contains("write ") || help.contains("policy = "), "{word}: {help}");
            assert!(help.matches(',').count() < 5 && help.len() < 200, "{word}: {help}");
        }
    }
    let dropper = said(parse(&scenario("port = { dropper = \"drr\" }", ""), &[]));
    assert!(dropper.contains("`drr` is a scheduler: write scheduler = \"drr\""), "{dropper}");
    let whole = said(parse(&scenario("port = { dropper = \"fq-codel\" }", ""), &[]));
    assert!(
        whole.contains("`fq-codel` is `drr++ + codel(scope=flow)`: write policy = \"fq-codel\""),
        "{whole}"
    );
}

/// The text of a gate file with these keys.
fn gate(keys: &str) -> String {
    format!(
        "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"9mbit\", down = \"9mbit\" }}\n{keys}\n"
    )
}

#[test]
fn a_gate_has_the_fair_default_as_a_policy_like_any_other() {
    let ports = |keys: &str| GateFile::parse(&gate(keys), "g.toml", &[]).unwrap().switch_plan().ports;
    let fair = ports("");
    assert_eq!(ports(&format!("port = \"{}\"", composite::FAIR_DEFAULT)), fair);
    let Some(DropperPlan { kind, scope, .. }) = &fair[0].dropper else { panic!("no dropper") };
    assert_eq!(fair[0].scheduler.record().name, composite::FAIR_DEFAULT.scheduler);
    assert_eq!(kind.record().name, composite::FAIR_DEFAULT.dropper);
    assert_eq!(*scope, composite::FAIR_DEFAULT.scope);
    // If one part is stated, the default policy gives way.
    assert_eq!(ports("port = { scheduler = \"wf2q-plus\" }")[0].dropper, None);
    assert_eq!(ports("port = \"codel\"")[0].scheduler.record().name, "fifo");
    assert_eq!(ports("port = \"fq-codel\""), ports("port = { scheduler = \"fq-codel\" }"));
    let class = |keys: &str| ports(&format!("class = [{{ name = \"c\"{keys} }}]"));
    assert_eq!(class(", policy = \"drr++\""), class(", scheduler = \"drr++\""));
}

#[test]
fn the_parts_of_composite_policies_are_policies() {
    for record in composite::RECORDS {
        let Role::Composite(consists) = record.role else { panic!("{}", record.name) };
        assert!(scheduler::RECORDS.iter().any(|one| one.name == consists.scheduler));
        assert!(dropper::RECORDS.iter().any(|one| one.name == consists.dropper));
        let (name, parts) = (format!("port = \"{}\"", record.name), format!("port = \"{consists}\""));
        assert_eq!(ports(&scenario(&name, ""), &[]), ports(&scenario(&parts, ""), &[]));
    }
}
