//! Scenarios without mistakes, and their expanded form.

mod common;

use common::{FULL, parse};
use std::collections::BTreeSet;
use std::sync::Arc;
use tidegate_core::link::{Distribution, GilbertElliott, Jitter, Loss, Pace, Steps, Trace};
use tidegate_core::params::{Limit, Value};
use tidegate_core::units::{Rate, Span};
use tidegate_formats::{DropperSpec, FlowGroup, NodeKind, Scenario, Source, route};

fn minimal(topology: &str) -> String {
    format!("version = 1\nduration = \"1s\"\ntopology = {topology}\n")
}

fn good(text: &str) -> Scenario {
    parse(text, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

fn group<'s>(scenario: &'s Scenario, name: &str) -> &'s FlowGroup {
    scenario.groups.iter().find(|group| group.name == name).unwrap()
}

fn burst(group: &FlowGroup) -> Option<Value> {
    let values = group.envelope.as_ref()?.policy.values();
    values.into_iter().find_map(|(name, value)| (name == "burst").then_some(value))
}

fn way(scenario: &Scenario, links: &[usize]) -> Vec<String> {
    links.iter().map(|&link| scenario.links[link].name.clone()).collect()
}

/// The scenario without the places in the text.
fn meaning(scenario: &Scenario) -> Vec<String> {
    let head = format!("{:?}", (scenario.duration, scenario.warmup, scenario.sample, scenario.seed));
    let nodes = scenario.nodes.iter().map(|node| format!("{:?}", (&node.name, node.kind, node.buffer)));
    let stated = BTreeSet::from(["interval"]);
    let links = scenario.links.iter().map(|link| {
        let port = (link.port.plan(link.rate, &stated), link.port.ceiling);
        format!("{:?}", (&link.name, link.rate_bits, link.delay, port))
    });
    let flows = scenario.groups.iter().map(|group| {
        let what = (&group.name, group.count, &group.contract, &group.sizes, group.start, group.stop);
        let envelope = group.envelope.as_ref().map(|envelope| &envelope.policy);
        format!("{:?}", (what, &group.route, group.class, &group.source, envelope))
    });
    [head].into_iter().chain(nodes).chain(links).chain(flows).collect()
}

#[test]
fn the_head_is_read_and_defaults_are_filled_in() {
    let scenario = good(FULL);
    assert_eq!((scenario.name.as_str(), scenario.seed), ("congested chain", 7));
    assert_eq!((scenario.duration, scenario.warmup), (Span::from_secs(60), Span::from_secs(5)));
    assert_eq!(scenario.sample, Span::from_millis(100));
    let bare = good("version = 1\nduration = \"1s\"");
    assert_eq!((bare.name.as_str(), bare.seed, bare.warmup), ("a", 1, Span::ZERO));
    assert!(bare.nodes.is_empty() && bare.links.is_empty() && bare.groups.is_empty());
}

#[test]
fn nodes_and_links_come_in_order() {
    let scenario = good(FULL);
    let names: Vec<_> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["s1", "s2", "s3", "h1", "h2", "h3", "s9"]);
    assert_eq!(scenario.nodes[0].buffer, Some(Limit::Packets(200)));
    assert_eq!((scenario.nodes[3].kind, scenario.nodes[3].buffer), (NodeKind::Host, None));
    assert_eq!(scenario.nodes[6].buffer, Some(Limit::Bytes(1_000_000)));
    let links: Vec<_> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    let expected = [
        "s1->s2", "s2->s1", "s2->s3", "s3->s2", "h1->s1", "s1->h1", "h2->s2", "s2->h2", "h3->s3", "s3->h3",
        "s9->s1", "s1->s9",
    ];
    assert_eq!(links, expected);
    let trunk = &scenario.links[0];
    assert_eq!((trunk.rate_bits, trunk.delay), (1_000_000, Span::from_millis(5)));
    assert_eq!(Some(trunk.rate), Rate::from_bits_per_second(1_000_000));
    assert_eq!(scenario.links[4].rate_bits, 10_000_000);
}

#[test]
fn ports_of_switches_hosts_and_single_links_differ() {
    let scenario = good(FULL);
    let (switch, host, own) = (&scenario.links[0].port, &scenario.links[4].port, &scenario.links[11].port);
    assert_eq!(switch.scheduler.policy.record().name, "virtual-clock");
    let dropper = switch.dropper.as_ref().unwrap();
    assert_eq!(
        (dropper.chosen.policy.record().name, dropper.chosen.policy.values()),
        ("drop-tail", vec![("limit", Value::Limit(Limit::Packets(100)))])
    );
    assert_eq!(
        (host.scheduler.policy.record().name, host.dropper.is_none(), host.ceiling),
        ("fifo", true, None)
    );
    assert_eq!(
        (own.scheduler.policy.record().name, own.dropper.is_some(), own.ceiling),
        ("fifo", true, Some(1_000_000))
    );
}

#[test]
fn hosts_classes_and_flows_may_have_guards_of_their_own() {
    let text = FULL.replace(
        "[[class]]\nname = \"gold\"\n",
        "[[profile]]\nname = \"site\"\nreserve = \"1mbit\"\ninterval = \"1s\"\n\n[[class]]\nname = \"gold\"\n\
         dropper = { kind = \"drop-tail\", limit = \"9p\" }\nmeter = \"flow-monitor\"\n",
    );
    let text = text.replace(
        "switch = {",
        "host = { scheduler = \"strict-priority\", dropper = { kind = \"drop-tail\", limit = \"5p\" } \
         }\nswitch = {",
    );
    let scenario =
        good(&text.replace("name = \"data\"\n", "name = \"data\"\nprofile = \"site\"\nwarned = \"slow\"\n"));
    let (switch, host) = (&scenario.links[0].port, &scenario.links[4].port);
    assert_eq!(switch.scheduler.policy.record().name, "virtual-clock");
    assert_eq!(host.scheduler.policy.record().name, "strict-priority");
    let limit = |dropper: &Option<DropperSpec>| dropper.as_ref().unwrap().chosen.policy.values();
    assert_eq!(limit(&host.dropper), [("limit", Value::Limit(Limit::Packets(5)))]);
    assert_eq!(limit(&scenario.classes[0].dropper), [("limit", Value::Limit(Limit::Packets(9)))]);
    let plan = scenario.classes[0].plan(&[]);
    assert!(plan.meters.len() == 1 && plan.dropper.is_some());
    assert!(scenario.classes[1].meter.is_none() && scenario.classes[1].dropper.is_none());
    assert_eq!(scenario.profiles[0].contract.interval(), Some(Span::from_secs(1)));
    assert_eq!((group(&scenario, "data").profile, group(&scenario, "bulk").profile), (Some(0), None));
    assert!(scenario.contracts().any(|contract| contract.reserve_bits() == Some(1_000_000)));
}

/// A trace stands in place of a rate, in both directions; reservations have to fit into its mean.
#[test]
fn links_may_have_a_trace_and_a_loss() {
    let text = FULL.replacen("rate = \"2mbit\"", "trace = \"common/three.trace\"\nloss = 0.02", 1);
    let scenario = good(&text);
    let (plain, traced) = scenario.links.split_at(scenario.links.len() - 2);
    assert!(plain.iter().all(|link| link.pace.is_steady() && !link.loss.happens()));
    for link in traced {
        assert_eq!((link.rate_bits, link.rate), (3_600_000, Rate::from_bits_per_second(3_600_000).unwrap()));
        assert_eq!(link.pace, Pace::Trace(Arc::new(Trace::new([3, 6, 10]).unwrap())));
        assert_eq!((link.loss, link.delay), (Loss::new(0.02).unwrap(), Span::from_millis(1)));
    }
    let bursts =
        |rest: &str| format!("loss = {{ kind = \"gilbert-elliott\", to_bad = 0.01, to_good = 0.2{rest} }}");
    for (rest, loss_in_good, loss_in_bad) in [
        ("", 0.0, 1.0),
        (", loss_in_good = 0.001, loss_in_bad = 1", 0.001, 1.0),
        (", loss_in_bad = 0.5", 0.0, 0.5),
    ] {
        let scenario = good(&text.replacen("loss = 0.02", &bursts(rest), 1));
        let chain = GilbertElliott { to_bad: 0.01, to_good: 0.2, loss_in_good, loss_in_bad };
        assert_eq!(scenario.links.last().unwrap().loss, Loss::in_bursts(chain).unwrap());
    }
    let errors = parse(
        "version = 1\nduration = \"1s\"\nnode = [{ name = \"a\" }, { name = \"b\" }]\n\
         link = [{ from = \"a\", to = \"b\", trace = \"common/three.trace\" }]\n\
         flow = [{ name = \"f\", from = \"a\", to = \"b\", reserve = \"3601kbit\", size = \"1kB\", source = \
                \"greedy\" }]",
        &[],
    )
    .unwrap_err();
    assert!(errors.to_string().contains("3601kbit is reserved on link a->b (3600kbit)"), "{errors}");
}

/// A link's rate, delay and state change; a value that a change leaves out stays.
#[test]
fn links_may_change_and_have_jitter() {
    let link = |rest: &str| {
        let text = FULL.replacen("rate = \"2mbit\"", &format!("rate = \"2mbit\"\n{rest}"), 1);
        good(&text).links.last().unwrap().clone()
    };
    let changed = link(
        "change = [{ at = \"1s\", rate = \"1mbit\" }, { at = \"2s\", state = \"down\" }, { at = \"3s\", \
         delay = \"9ms\", state = \"up\" }]\nrepeat = \"5s\"",
    );
    let (rate, seconds) = (|bits| Rate::from_bits_per_second(bits), Span::from_secs);
    let changes = [(seconds(1), rate(1_000_000)), (seconds(2), None), (seconds(3), rate(1_000_000))];
    let steps = Steps::new(rate(2_000_000), changes, Some(seconds(5))).unwrap();
    assert_eq!((changed.rate_bits, &changed.pace), (2_000_000, &Pace::Steps(Arc::new(steps))));
    let ms = Span::from_millis;
    let changes = [(seconds(1), ms(1)), (seconds(2), ms(1)), (seconds(3), ms(9))];
    assert_eq!(changed.delays.as_deref(), Some(&Steps::new(ms(1), changes, Some(seconds(5))).unwrap()));
    // Only the delay changes.
    let steady = link("change = [{ at = \"1s\", delay = \"2ms\" }]");
    assert!(steady.pace.is_steady() && steady.delays.is_some() && !steady.has_one_delay());
    for (jitter, distribution, reorders) in [
        ("{ kind = \"uniform\", spread = \"2ms\" }", Distribution::Uniform { spread: ms(2) }, false),
        (
            "{ kind = \"normal\", deviation = \"3ms\", reorders = true }",
            Distribution::Normal { deviation: ms(3) },
            true,
        ),
        ("{ kind = \"exponential\", mean = \"4ms\" }", Distribution::Exponential { mean: ms(4) }, false),
        ("{ kind = \"pareto\", mean = \"5ms\" }", Distribution::Pareto { mean: ms(5), shape: 2.5 }, false),
    ] {
        let link = link(&format!("jitter = {jitter}"));
        assert_eq!(link.jitter, Jitter::new(distribution, reorders).unwrap());
        assert_eq!(link.reorders(), reorders);
    }
}

#[test]
fn flows_are_multiplied_out() {
    let scenario = good(FULL);
    let names: Vec<_> = scenario.flows().map(|flow| flow.name.into_owned()).collect();
    assert_eq!(names[0], "voice/1");
    assert_eq!(names[7..], ["voice/8", "data", "bulk"]);
    assert_eq!(scenario.flow_count(), 10);
    let voice = group(&scenario, "voice");
    assert_eq!((voice.contract.reserve_bits(), voice.contract.contract().priority), (Some(64_000), 0));
    assert_eq!((voice.sizes.as_slice(), voice.stop), ([160].as_slice(), Some(Span::from_secs(50))));
    assert_eq!(scenario.classes[voice.class.unwrap()].name, "inner");
    assert_eq!(burst(voice), Some(Value::Size(800)));
    assert_eq!(way(&scenario, &voice.route), ["h1->s1", "s1->s2", "s2->s3", "s3->h3"]);
    let data = group(&scenario, "data");
    assert_eq!((data.contract.reserve_bits(), data.contract.contract().priority), (None, 3));
    assert_eq!(data.source, Source::OnOff { rate: 100_000, peak: 1_000_000, burst: 10.0, times: 2.0 });
    assert_eq!(way(&scenario, &data.route), ["s9->s1", "s1->s2", "s2->h2"]);
    assert_eq!(group(&scenario, "bulk").source, Source::Greedy { window: 4 });
}

#[test]
fn topologies_are_what_they_say() {
    let shapes = [
        ("{ kind = \"chain\", switches = 2, rate = \"1mbit\" }", "s1 s2", 2),
        ("{ kind = \"chain\", switches = 2, rate = \"1mbit\", access = {} }", "s1 s2 h1 h2", 6),
        ("{ kind = \"dumbbell\", pairs = 2, rate = \"1mbit\" }", "left right l1 l2 r1 r2", 10),
        ("{ kind = \"parking-lot\", hops = 2, rate = \"1mbit\" }", "s1 s2 s3 src dst c1 d1 c2 d2", 16),
        ("{ kind = \"star\", hosts = 3, rate = \"1mbit\" }", "hub h1 h2 h3", 6),
        ("\"nodes\"", "", 0),
    ];
    for (topology, nodes, links) in shapes {
        let scenario = good(&minimal(topology));
        let names: Vec<_> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!((names.join(" ").as_str(), scenario.links.len()), (nodes, links), "{topology}");
    }
    let lot = good(&minimal("{ kind = \"parking-lot\", hops = 2, rate = \"1mbit\" }"));
    let ends = |name: &str| lot.nodes.iter().position(|node| node.name == name).unwrap();
    assert_eq!(way(&lot, &route(&lot, ends("c2"), ends("d2")).unwrap()), ["c2->s2", "s2->s3", "s3->d2"]);
    assert_eq!(way(&lot, &route(&lot, ends("src"), ends("dst")).unwrap()).len(), 4);
    assert_eq!(lot.links[4].rate_bits, 1_000_000_000, "access links default to 1gbit");
}

#[test]
fn routes_take_the_lowest_link_and_avoid_hosts() {
    let mut text = "version = 1\nduration = \"1s\"\n".to_owned();
    for (name, kind) in [("a", "host"), ("b", "switch"), ("c", "switch"), ("d", "host"), ("e", "host")] {
        text.push_str(&format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n"));
    }
    // Two ways from a to d of the same length, through c first in the file; e would be shorter to f
    // but is a host.
    for (from, to) in [("a", "c"), ("a", "b"), ("b", "d"), ("c", "d"), ("c", "d"), ("a", "e")] {
        text.push_str(&format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\n"));
    }
    let scenario = good(&text);
    assert_eq!(way(&scenario, &route(&scenario, 0, 3).unwrap()), ["a->c", "c->d"]);
    assert_eq!(scenario.links[8].name, "c->d#2");
    assert_eq!(way(&scenario, &route(&scenario, 4, 3).unwrap_or_default()), [""; 0]);
    assert_eq!(route(&scenario, 0, 0), Some(vec![]));
}

#[test]
fn overrides_change_values_and_keep_comments() {
    let sets = [
        ("duration", "10s"),
        ("port.scheduler", "fifo"),
        ("port.dropper.limit", "50p"),
        ("flow.voice.source.rate", "2mbit"),
        ("flow.bulk.source.window", "9"),
        ("flow.data.size", "[\"100B\"]"),
        ("flow.data.reserve", "10kbit"),
        ("link.s9-s1.rate", "3mbit"),
        ("switch.buffer", "1MB"),
        ("topology.access.rate", "20mbit"),
    ];
    let scenario = parse(FULL, &sets).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(scenario.duration, Span::from_secs(10));
    assert_eq!(scenario.links[0].port.scheduler.policy.record().name, "fifo");
    assert_eq!(
        scenario.links[0].port.dropper.as_ref().unwrap().chosen.policy.values(),
        [("limit", Value::Limit(Limit::Packets(50)))]
    );
    assert_eq!(group(&scenario, "voice").source, Source::Cbr { rate: 2_000_000, times: 1.0 });
    assert_eq!(group(&scenario, "bulk").source, Source::Greedy { window: 9 });
    assert_eq!(group(&scenario, "data").sizes, [100]);
    assert_eq!(group(&scenario, "data").contract.reserve_bits(), Some(10_000));
    assert_eq!((scenario.links[10].rate_bits, scenario.links[4].rate_bits), (3_000_000, 20_000_000));
    assert_eq!(scenario.nodes[0].buffer, Some(Limit::Bytes(1_000_000)));

    let text = scenario.to_toml();
    assert!(text.contains("# kept by --set") && text.contains("# as agreed"), "{text}");
    assert!(text.contains("duration = \"10s\"\nwarmup"), "{text}");
    let again = good(text);
    assert_eq!(meaning(&again), meaning(&scenario));
    assert_eq!(again.to_toml(), text);
    assert_eq!(good(FULL).to_toml(), FULL);
}

/// Values as a shell passes them: blanks around a value, and numbers to which TOML requires another
/// digit.
#[test]
fn overrides_are_read_as_they_are_typed() {
    for (path, typed, read) in [
        ("duration", " 20s ", "duration = \"20s\""),
        ("flow.voice.source.times", "1.", "times = 1.0"),
        ("flow.voice.source.times", "+2.5", "times = +2.5"),
    ] {
        let scenario = parse(FULL, &[(path, typed)]).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(scenario.to_toml().contains(read), "{path}={typed}: {}", scenario.to_toml());
    }
    let text = minimal("{ kind = \"chain\", switches = 2, rate = \"1mbit\" }")
        + "admission = { datagrams = 0.1 }\nflow = [ { name = \"f\", from = \"s1\", to = \"s2\", size = \"1kB\", reserve = \"9kbit\", \
           source = { kind = \"cbr\", rate = \"9kbit\" } } ]\n";
    let scenario = parse(&text, &[("admission.datagrams", ".5")]).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(scenario.to_toml().contains("datagrams = 0.5"), "{}", scenario.to_toml());
    let shown = parse(FULL, &[("duration", " soon")]).unwrap_err().to_string();
    assert!(shown.starts_with("--set duration= soon: `duration`: `soon` is not a time"), "{shown}");
}

/// A key that takes a number or a table is overridden as a whole, or in its table.
#[test]
fn overrides_change_a_loss_and_its_table() {
    let links = "kind = \"chain\", switches = 2, rate = \"1mbit\"";
    let link = |loss: &str| {
        minimal(&format!("{{ {links} }}"))
            + &format!("[[link]]\nfrom = \"s1\"\nto = \"s2\"\nreplace = true\nrate = \"1mbit\"\n{loss}\n")
    };
    let chain = |to_bad| GilbertElliott { to_bad, to_good: 0.2, loss_in_good: 0.0, loss_in_bad: 1.0 };
    let bursts = "{ kind = \"gilbert-elliott\", to_bad = 0.1, to_good = 0.2 }";
    let (number, table) = (link("loss = 0.5"), link(&format!("loss = {bursts}")));
    for (text, set, expected) in [
        (&number, ("link.s1-s2.loss", bursts), Loss::in_bursts(chain(0.1))),
        (&table, ("link.s1-s2.loss.to_bad", "0.3"), Loss::in_bursts(chain(0.3))),
        (&table, ("link.s1-s2.loss", "0.5"), Loss::new(0.5)),
    ] {
        let scenario = parse(text, &[set]).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(scenario.links[0].loss, expected.unwrap(), "{set:?}");
    }
    let told = parse(&number, &[("link.s1-s2.loss.to_bad", "0.3")]).unwrap_err().to_string();
    assert!(told.contains("this scenario has no such loss to change"), "{told}");
}

#[test]
fn overrides_make_what_is_not_there() {
    let text = "version = 1\nduration = \"1s\"\n[[flow]]\nname = \"f\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"1kB\"\n\
                source = { kind = \"cbr\", rate = \"1kbit\" }\n";
    let sets = [
        ("topology", "{ kind = \"chain\", switches = 2, rate = \"1mbit\" }"),
        ("port.dropper", "{ kind = \"drop-tail\", limit = \"5p\" }"),
        ("switch.buffer", "7p"),
        ("flow.f.source.times", "2.5"),
        ("flow.f.envelope.rate", "5kbit"),
        ("flow.f.envelope.burst", "2kB"),
        ("name", "2024-01-01"),
    ];
    let scenario = parse(text, &sets).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(scenario.name, "2024-01-01");
    assert_eq!(scenario.links[0].port.dropper.as_ref().unwrap().chosen.policy.record().name, "drop-tail");
    assert_eq!(scenario.nodes[0].buffer, Some(Limit::Packets(7)));
    assert_eq!(group(&scenario, "f").source, Source::Cbr { rate: 1_000, times: 2.5 });
    assert_eq!(burst(group(&scenario, "f")), Some(Value::Size(2_000)));
    let again = good(scenario.to_toml());
    assert_eq!(meaning(&again), meaning(&scenario));
    assert_eq!(again.to_toml(), scenario.to_toml());
}

#[test]
fn a_mistake_found_later_still_has_its_place() {
    let scenario = good(FULL);
    let error =
        scenario.error_at(group(&scenario, "data").place, "flow `data` is lost", Some("find it".to_owned()));
    assert!(error.to_string().starts_with("a.toml:47:1: flow `data` is lost"), "{error}");
    assert!(error.to_string().ends_with("help: find it"), "{error}");
}

#[test]
fn many_flows_are_cheap() {
    let text = minimal("{ kind = \"chain\", switches = 2, rate = \"10tbit\" }")
        + "[[flow]]\nname = \"f\"\ncount = 3000000\nfrom = \"s1\"\nto = \"s2\"\nreserve = \"1kbit\"\nsize = \"1kB\"\n\
           source = { kind = \"poisson\", rate = \"1kbit\" }\n";
    let scenario = good(&text);
    assert_eq!((scenario.groups.len(), scenario.flow_count()), (1, 3_000_000));
    assert_eq!(scenario.flows().nth(2_999_999).unwrap().name, "f/3000000");
}
