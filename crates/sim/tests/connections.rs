//! Connections and multicast in scenarios: a window's throughput by theory, and complete accounts
//! of packets.

use std::path::Path;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

fn network(text: &str) -> Network {
    let scenario =
        Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    assemble(&scenario).unwrap()
}

fn run(network: &Network) -> World<Calendar> {
    let mut world = World::new(network, 1, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

fn flow(network: &Network, name: &str) -> usize {
    network.flows.iter().position(|flow| flow.name == name).unwrap()
}

fn throughput(network: &Network, world: &World<Calendar>, name: &str) -> f64 {
    let bytes = world.records()[flow(network, name)].received.1;
    bytes as f64 * 8.0 / (network.duration - network.warmup).as_secs_f64()
}

/// A chain with hosts: h1 - s1 - s2 - h2, the links between switches and to hosts alike.
fn chain(more: &str) -> String {
    let link = "rate = \"8mbit\", delay = \"2ms\"";
    format!(
        "version = 1\nduration = \"20s\"\nwarmup = \"1s\"\n\
         topology = {{ kind = \"chain\", switches = 2, {link}, access = {{ {link} }} }}\n{more}"
    )
}

/// Throughput is window / round-trip time while that is below the path's rate, and the rate beyond.
#[test]
fn a_window_over_a_round_trip() {
    for window in [1, 5, 10, 18, 40] {
        let network = network(&chain(&format!(
            "[[connection]]\nname = \"c\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1kB\"\n\
             transport = {{ kind = \"window\", window = {window}, acknowledgement = \"100B\" }}"
        )));
        let world = run(&network);
        // Three links of 2 ms each way; a packet takes 1 ms on each, an acknowledgement 0.1 ms.
        let round_trip = 3.0 * (2e-3 + 1e-3) + 3.0 * (2e-3 + 0.1e-3);
        let expected = (f64::from(window) * 8000.0 / round_trip).min(8e6);
        let measured = throughput(&network, &world, "c");
        assert!((measured / expected - 1.0).abs() < 0.01, "{window}: {measured} of {expected}");
        // One acknowledgement of 100 bytes for each packet of 1000.
        let answers = throughput(&network, &world, "c/ack");
        assert!((answers * 10.0 / measured - 1.0).abs() < 0.003, "{answers} for {measured}");
    }
}

/// Every acknowledgement is one that a packet received has caused, and stands in the answers' own
/// group.
#[test]
fn connections_conserve_packets() {
    let network = network(
        &chain(
            "switch = { buffer = \"6p\" }\n\
         [[link]]\nfrom = \"h1\"\nto = \"s2\"\nrate = \"4mbit\"\nloss = 0.05\n\
         [[connection]]\nname = \"c\"\ncount = 3\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1kB\"\n\
         stop = \"15s\"\ntransport = { kind = \"window\", window = 12, timeout = \"200ms\" }\n\
         [[flow]]\nname = \"cross\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"500B\"\nstop = \"15s\"\n\
         source = { kind = \"poisson\", rate = \"2mbit\" }",
        )
        .replace("warmup = \"1s\"", "warmup = \"0s\""),
    );
    assert_eq!(network.groups, ["cross", "c", "c/ack"]);
    let world = run(&network);
    for member in 1..=3 {
        let [data, answers] =
            [format!("c/{member}"), format!("c/ack/{member}")].map(|name| flow(&network, &name));
        assert_eq!((network.flows[data].peer, network.flows[answers].peer), (Some(answers), Some(data)));
        let records = world.records();
        assert!(records[data].received.0 > 1000, "{:?}", records[data]);
        assert!(world.lost(data) > 0);
        assert_eq!(records[answers].sent.0, records[data].received.0);
        for ix in [data, answers] {
            // Five seconds after the last packet, none is in flight.
            let gone = records[ix].received.0 + records[ix].dropped + world.lost(ix);
            assert_eq!(records[ix].sent.0, gone, "{}", network.flows[ix].name);
        }
    }
}

/// Answers go back over the links that the data came by, in the other direction; where one has
/// none, the shortest way.
#[test]
fn answers_take_the_same_way_back() {
    let square = |duplex: bool| {
        let link = |from, to, duplex| {
            format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\nduplex = {duplex}\n")
        };
        let nodes = ["a", "b", "c", "d"].map(|name| format!("[[node]]\nname = \"{name}\"\n")).concat();
        let links =
            [link("a", "b", true), link("b", "d", duplex), link("a", "c", true), link("c", "d", true)];
        let text = format!(
            "version = 1\nduration = \"1s\"\n{nodes}{}[[connection]]\nname = \"x\"\nfrom = \"a\"\nto = \"d\"\n\
             route = [\"a\", \"b\", \"d\"]\nsize = \"1kB\"\ntransport = \"window\"",
            links.concat()
        );
        let network = network(&text);
        let names = |flow: &tidegate_sim::network::FlowSetup| -> Vec<String> {
            flow.route.iter().map(|link| network.links[*link].name.clone()).collect()
        };
        network.flows.iter().map(names).collect::<Vec<_>>()
    };
    assert_eq!(square(true), [["a->b", "b->d"], ["d->b", "b->a"]]);
    assert_eq!(square(false), [["a->b", "b->d"], ["d->c", "c->a"]]);
}

/// A packet for several hosts passes each link of the tree once, and every host gets it unless a
/// link lost it.
#[test]
fn multicast_conserves_packets() {
    let text = |to: &str| {
        format!(
            "version = 1\nduration = \"20s\"\nseed = 3\n\
             topology = {{ kind = \"chain\", switches = 4, rate = \"1mbit\", delay = \"2ms\", access = {{}} }}\n\
             switch = {{ buffer = \"8p\" }}\n\
             [[flow]]\nname = \"m\"\nfrom = \"h2\"\nto = {to}\nsize = \"500B\"\nstop = \"19s\"\n\
             envelope = {{ rate = \"2mbit\", burst = \"4kB\" }}\nreserve = \"400kbit\"\n\
             source = {{ kind = \"poisson\", rate = \"900kbit\" }}\n\
             [[flow]]\nname = \"cross\"\nfrom = \"h3\"\nto = \"h4\"\nsize = \"500B\"\nstop = \"19s\"\n\
             source = {{ kind = \"poisson\", rate = \"300kbit\" }}"
        )
    };
    let network = network(&text("[\"h4\", \"h1\", \"h3\"]"));
    let multicast = &network.flows[0];
    let names: Vec<_> = multicast.route.iter().map(|link| network.links[*link].name.as_str()).collect();
    assert_eq!(names, ["h2->s2", "s2->s3", "s3->s4", "s4->h4", "s3->h3", "s2->s1", "s1->h1"]);
    assert_eq!(multicast.depths, [1, 2, 3, 4, 3, 2, 3]);
    let world = run(&network);
    let record = &world.records()[0];
    assert!(record.dropped > 10, "{record:?}");
    // Each link of the tree forwards every packet that it received, except those that its own queue
    // dropped.
    let sent = |name: &str| {
        let ix = network.links.iter().position(|link| link.name == name).unwrap();
        (world.link(ix).sent.0, world.link(ix).dropped)
    };
    let (source, _) = sent("h2->s2");
    assert_eq!(source, record.sent.0);
    let (left, left_lost) = sent("s2->s1");
    assert_eq!((left + left_lost, sent("s1->h1").0), (source, left));
    let (right, right_lost) = sent("s2->s3");
    assert_eq!(right + right_lost, source);
    assert_eq!(sent("s3->h3").0, right);
    let cross = &world.records()[1];
    let (last, last_lost) = sent("s3->s4");
    assert_eq!(last + last_lost, right + cross.sent.0);
    assert_eq!(record.received.0 + cross.received.0, left + right + sent("s4->h4").0);
    assert_eq!(record.dropped + cross.dropped, left_lost + right_lost + last_lost);
    // A list of one destination is the same as that destination.
    let one = self::network(&text("[\"h4\"]"));
    let same = self::network(&text("\"h4\""));
    assert!(one.flows[0].depths.is_empty());
    assert_eq!(run(&one).fingerprint(), run(&same).fingerprint());
}

/// A round trip of a window through a class, with the terms that both directions state.
#[test]
fn both_directions_state_what_they_are_promised() {
    let network = network(&chain(
        "[[class]]\nname = \"gold\"\nscheduler = \"virtual-clock\"\nreserve = \"2mbit\"\n\
         [[connection]]\nname = \"c\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1kB\"\ntransport = \"window\"\n\
         class = \"gold\"\nreserve = \"1mbit\"\ninterval = \"1s\"\nceiling = \"1500kbit\"\n\
         answers = { priority = 2, reserve = \"50kbit\" }",
    ));
    let [data, answers] = [&network.flows[0], &network.flows[1]];
    let rate =
        |plan: &tidegate_core::switch::plan::FlowPlan| plan.contract.reserve.unwrap().bits_per_second();
    assert_eq!((rate(&data.plans[1]), rate(&answers.plans[1])), (1e6, 5e4));
    assert_eq!((data.plans[1].class, answers.plans[1].class), (Some(0), None));
    assert_eq!(data.plans[1].contract.interval, Some(Span::from_secs(1)));
    assert_eq!((data.plans[1].contract.priority, answers.plans[1].contract.priority), (0, 2));
    assert!(data.plans[1].ceiling.is_some() && answers.plans[1].ceiling.is_none());
    let measured = throughput(&network, &run(&network), "c");
    assert!((measured / 1.5e6 - 1.0).abs() < 0.01, "the ceiling: {measured}");
}
