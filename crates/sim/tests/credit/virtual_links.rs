//! Credit over virtual links: switches without credit are between its ends, and drop packets.

use crate::{cases, check_receivers, credit_of, network, run};
use std::fmt::Write;
use tidegate_core::credit::stall::STALLED_AFTER;
use tidegate_core::rng::Rng;
use tidegate_core::units::Time;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::world::World;

/// One cell takes 1 ms on a link of 1 Mbit/s.
const CELL: u64 = 125;

/// Switches in a row, one more than there are links of 1 Mbit/s and 10 ms each, with these keys of
/// the ports between and this credit from s0 to the last but one; a VC from end to end, and a flow
/// without credit over the links between.
fn row(links: usize, between: &str, credit: &str, across: &str) -> String {
    let mut text = "version = 1\nduration = \"22s\"\nwarmup = \"2s\"\n".to_owned();
    (0..=links).for_each(|node| writeln!(text, "[[node]]\nname = \"s{node}\"").unwrap());
    for link in 0..links {
        let keys = match link {
            0 => format!("credit = {{ to = \"s{}\", {credit} }}", links - 1),
            _ if link + 1 < links => between.to_owned(),
            _ => String::new(),
        };
        for (from, to, keys) in [(link, link + 1, keys.as_str()), (link + 1, link, "")] {
            writeln!(
                text,
                "[[link]]\nfrom = \"s{from}\"\nto = \"s{to}\"\nrate = \"1mbit\"\nduplex = false\ndelay = \"10ms\"\n{keys}"
            )
            .unwrap();
        }
    }
    let last = links - 1;
    writeln!(
        text,
        "[[flow]]\nname = \"vc\"\nfrom = \"s0\"\nto = \"s{links}\"\nsize = \"{CELL}B\"\nsource = {{ kind = \"greedy\", window = 3 }}\n\
         [[flow]]\nname = \"across\"\nfrom = \"s1\"\nto = \"s{last}\"\nsize = \"{CELL}B\"\nsource = {across}"
    )
    .unwrap();
    text
}

/// Replaces the rate of the link between these switches by `rate` Mbit/s.
fn with_rate(text: &str, from: &str, to: &str, rate: u64) -> String {
    let link = |rate: u64| format!("from = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}mbit\"");
    text.replacen(&link(1), &link(rate), 1)
}

/// Cells that the VC brought in a second.
fn rate(world: &World<Calendar>) -> f64 {
    world.records()[0].received.0 as f64 / world.measured().as_secs_f64()
}

fn ran(text: &str) -> (Network, World<Calendar>) {
    let network = network(text);
    let world = run(&network, 1);
    check_receivers(&world, text);
    (network, world)
}

const SILENT: &str = "{ kind = \"cbr\", rate = \"1bit\" }";

#[test]
fn the_default_buffer_is_enough_for_links_that_only_the_vc_uses() {
    for links in [3, 4, 6] {
        let (network, world) = ran(&row(links, "", "n2 = 4, check = \"0s\"", SILENT));
        let plan = credit_of(&network, 0).unwrap().plan;
        // 10 ms on each link there and back; each cell on the links there after the first and at
        // the output; the credit cell on each link back.
        let hops = links as u64 - 1;
        let expected = 2 * 10 * hops + (hops - 1) + 1 + hops;
        assert_eq!(plan.rtt.ticks(), tidegate_core::units::Span::from_millis(expected).ticks());
        // In 20 s all cells but those that are still on their way.
        assert!(rate(&world) > 1000.0 - (expected + 4) as f64 / 20.0, "{}", rate(&world));
        assert_eq!(world.credit_links()[0].found_lost, 0);
        // A buffer that is smaller by a tenth is not enough.
        let credit = format!("n2 = 4, check = \"0s\", buffer = {}", (expected + 4) * 9 / 10);
        let (_, world) = ran(&row(links, "", &credit, SILENT));
        assert!(rate(&world) < 960.0, "{}", rate(&world));
    }
}

#[test]
fn the_rtt_contains_the_queueing_in_the_switches_between() {
    // A burst of 80 cells waits for 40 ms in front of s1->s2, and cells of the VC behind it.
    let bursts = "{ kind = \"on-off\", rate = \"500kbit\", peak = \"9mbit\", burst = 80 }";
    let ran = |queueing: &str| {
        let credit = format!("n2 = 4, check = \"0s\", queueing = \"{queueing}ms\"");
        ran(&with_rate(&row(3, "scheduler = \"fifo\"", &credit, bursts), "s1", "s2", 2))
    };
    let (network, without) = ran("0");
    let rtt = |network: &Network| credit_of(network, 0).unwrap().plan.rtt.as_secs_f64();
    assert!((rtt(&network) - 0.0435).abs() < 1e-9);
    let (network, with) = ran("80");
    assert!((rtt(&network) - 0.1235).abs() < 1e-9);
    assert!(rate(&with) > 950.0 && rate(&without) < 850.0, "{} {}", rate(&without), rate(&with));
}

#[test]
fn loss_between_is_recovered_with_checks_and_stalls_and_is_reported_without() {
    // The flow across takes most of s1->s2, whose queue is short, and cells of the VC come faster
    // than they leave.
    let across = "{ kind = \"poisson\", rate = \"700kbit\" }";
    let short = "dropper = { kind = \"drop-tail\", limit = \"8p\" }";
    let row = |credit| with_rate(&row(4, short, credit, across), "s0", "s1", 3);
    let (_, world) = ran(&row("n2 = 4"));
    let link = &world.credit_links()[0];
    assert!(link.found_lost > 100 && world.stalls().is_empty(), "{link:?}");
    let (lost, recovered) = (world.records()[0].dropped, rate(&world));
    assert!(lost > 100 && recovered > 200.0, "{lost} {recovered}");
    let (_, world) = ran(&row("n2 = 4, check = \"0s\""));
    let [stall] = world.stalls()[..] else { panic!("{:?}", world.stalls()) };
    assert!(stall.until.is_none() && stall.stall.to_string().starts_with("VC 0 has had no credit for "));
    assert!(rate(&world) < 0.1 * recovered, "{} {recovered}", rate(&world));
}

#[test]
fn a_vc_whose_cells_wait_in_a_switch_between_has_not_stalled() {
    // A thousand packets of 10 ms each are always in front of s1->s2: the first cell of the VC is
    // in s2 after 10 s.
    let across = "{ kind = \"greedy\", window = 1000 }";
    let text = row(3, "scheduler = \"fifo\"", "n2 = 4, check = \"0s\"", across).replace("\"22s\"", "\"9s\"");
    let (network, world) =
        ran(&text.replace("to = \"s2\"\nsize = \"125B\"", "to = \"s2\"\nsize = \"1250B\""));
    let plan = credit_of(&network, 0).unwrap().plan;
    assert!(network.duration.ticks() > 2 * STALLED_AFTER * plan.rtt.ticks(), "{:?}", plan.rtt);
    assert!(rate(&world) == 0.0 && world.stalls().is_empty(), "{} {:?}", rate(&world), world.stalls());
    // Cells that a link between has lost wait nowhere.
    let (_, world) = ran(&row(3, "loss = 0.02", "n2 = 4, check = \"0s\"", SILENT));
    assert!(matches!(world.stalls()[..], [stall] if stall.until.is_none()), "{:?}", world.stalls());
}

/// Up to 6 links in a row, of which some begin virtual links; switches between that drop; flows
/// with and without credit.
fn scenario(rng: &mut Rng) -> String {
    let mut text = String::from("version = 1\nduration = \"2s\"\n");
    let links = 3 + rng.below(4) as usize;
    (0..=links).for_each(|node| writeln!(text, "[[node]]\nname = \"s{node}\"").unwrap());
    let mut flows = String::new();
    let mut link = |rng: &mut Rng, at: usize, keys: &str| {
        let loss = ["0", "0", "0.01", "0.2"];
        for (from, to, keys) in [(at, at + 1, keys), (at + 1, at, "")] {
            writeln!(
                text,
                "[[link]]\nfrom = \"s{from}\"\nto = \"s{to}\"\nrate = \"{}mbit\"\nduplex = false\ndelay = \"{}us\"\n\
                 loss = {}\n{keys}",
                1 + rng.below(4),
                rng.below(4000),
                loss[rng.below(4) as usize]
            )
            .unwrap();
        }
    };
    let mut at = 0;
    while at < links - 1 {
        // The last link has no credit, and is slow at times.
        let length = (1 + rng.below(3) as usize).min(links - 1 - at);
        let mut keys = vec!["cell = \"200B\"".to_owned()];
        let allocation = ["static", "sender", "receiver"][rng.below(3) as usize];
        keys.push(format!("allocation = \"{allocation}\""));
        if allocation == "static" && rng.below(2) == 0 {
            keys.push(format!("n2 = {}, buffer = {}", 1 + rng.below(4), 4 + rng.below(40)));
        }
        if rng.below(2) == 0 {
            keys.push(format!("duplicate = 0.{}", 1 + rng.below(5)));
        }
        if rng.below(3) == 0 {
            keys.push("repeats = 1".into());
        }
        keys.push(format!("check = \"{}ms\"", 20 + rng.below(60)));
        if length > 1 {
            keys.push(format!("to = \"s{}\", queueing = \"{}ms\"", at + length, rng.below(20)));
            writeln!(
                flows,
                "[[flow]]\nname = \"across{at}\"\nfrom = \"s{}\"\nto = \"s{}\"\nsize = [\"200B\", \"1000B\"]\n\
                 source = {{ kind = \"on-off\", rate = \"{}kbit\", peak = \"8mbit\", burst = 30 }}",
                at + 1,
                at + length,
                200 + rng.below(1500)
            )
            .unwrap();
        }
        link(rng, at, &format!("scheduler = \"round-robin\"\ncredit = {{ {} }}", keys.join(", ")));
        for between in at + 1..at + length {
            let scheduler = ["fifo", "round-robin", "drr"][rng.below(3) as usize];
            let limit = 4 + rng.below(40);
            let dropper = format!("dropper = {{ kind = \"drop-tail\", limit = \"{limit}p\" }}");
            link(rng, between, &format!("scheduler = \"{scheduler}\"\n{dropper}"));
        }
        at += length;
    }
    link(rng, at, "scheduler = \"round-robin\"");
    for flow in 0..1 + rng.below(4) {
        let source = match rng.below(3) {
            0 => "\"greedy\"".to_owned(),
            1 => format!("{{ kind = \"poisson\", rate = \"{}kbit\" }}", 200 + rng.below(3000)),
            _ => "{ kind = \"on-off\", rate = \"800kbit\", peak = \"8mbit\", burst = 20 }".to_owned(),
        };
        writeln!(
            flows,
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"s0\"\nto = \"s{links}\"\nsize = [\"200B\", \"700B\"]\nsource = {source}"
        )
        .unwrap();
    }
    text + &flows
}

#[test]
fn no_controlled_receiver_loses_a_packet_of_random_virtual_links() {
    let (mut over_several, mut dropped, mut found, mut twice) = (0, 0, 0, 0);
    for seed in 0..cases() {
        let text = scenario(&mut Rng::named(seed, "virtual links"));
        let network = network(&text);
        let world = run(&network, seed);
        check_receivers(&world, &format!("seed {seed}:\n{text}"));
        for stall in world.stalls() {
            let plan = credit_of(&network, stall.link as usize).unwrap().plan;
            let lasted = stall.until.unwrap_or(Time::ORIGIN + network.duration).since(stall.stall.since);
            let longest = plan.check.unwrap().max(plan.rtt);
            assert!(lasted.ticks() < 40 * longest.ticks(), "seed {seed}: {stall:?}\n{text}");
        }
        let credits = (0..network.links.len()).filter_map(|link| credit_of(&network, link));
        over_several += credits.filter(|credit| !credit.further.is_empty()).count();
        dropped += world.records().iter().map(|record| record.dropped).sum::<u64>();
        found += world.credit_links().iter().map(|link| link.found_lost).sum::<u64>();
        twice += world.credit_links().iter().map(|link| link.duplicated_cells).sum::<u64>();
    }
    let cases = cases();
    assert!(
        over_several as u64 > cases / 2 && dropped > cases && found > cases && twice > cases,
        "{over_several} {dropped} {found} {twice}"
    );
}
