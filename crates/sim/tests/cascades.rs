//! Cascades of profile meters: the meaning of a link's profile, the meters' records of usage, and
//! in-traffic against capacity.

mod common;

use common::run_with;
use std::path::Path;
use tidegate_core::meter::Usage;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::{Probes, Subject};
use tidegate_sim::usage::{MeteredProfile, ProfileOwner};
use tidegate_sim::world::World;

fn network(text: &str) -> Network {
    assemble(&Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap()).unwrap()
}

fn run(network: &Network, seed: u64) -> World<Calendar> {
    run_with(network, seed, &Probes { sample: Some(Span::from_millis(500)), ..Probes::default() })
}

/// Two customers on a link each, three switches, and the meters and profiles of the two links
/// between them.
fn three(first: &str, second: &str, flow: &str) -> String {
    format!(
        "version = 1\nduration = \"8s\"\nwarmup = \"2500ms\"\n\
         port = {{ meter = \"flow-monitor\", dropper = {{ kind = \"drop-tail\", limit = \"30p\", marked = \"5p\" }} }}\n\
         node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"i\", kind = \"host\" }}, {{ name = \"a\" }}, \
         {{ name = \"b\" }}, {{ name = \"c\" }}]\n\
         link = [{{ from = \"h\", to = \"a\", rate = \"10mbit\", meter = \"srtcm\" }}, \
         {{ from = \"i\", to = \"a\", rate = \"10mbit\", meter = \"srtcm\" }}, \
         {{ from = \"a\", to = \"b\", rate = \"4mbit\"{first} }}, {{ from = \"b\", to = \"c\", rate = \"3mbit\"{second} }}]\n\
         profile = [{{ name = \"p\", reserve = \"2mbit\", workahead = \"9kB\" }}, \
         {{ name = \"q\", reserve = \"1500kbit\", workahead = \"9kB\" }}]\n\
         flow = [{{ name = \"f\", from = \"h\", to = \"c\", size = [\"1kB\", \"300B\"]{flow}, source = {{ kind = \"poisson\", \
         rate = \"2mbit\" }} }}, {{ name = \"g\", from = \"i\", to = \"c\", size = \"700B\"{flow}, source = {{ kind = \
         \"on-off\", rate = \"2mbit\", peak = \"8mbit\", burst = 20 }} }}]\n"
    )
}

const OWN: &str = ", reserve = \"1300kbit\", workahead = \"9kB\"";
const AWARE: &str = ", meter = { kind = \"srtcm\", mode = \"colour-aware\" }, profile = ";

/// The profile of a link is the profile that all flows have there: where only that link has a
/// meter, it does not matter which of them names it.
#[test]
fn a_links_profile_is_that_of_all_its_flows() {
    let unmetered = |text: String| text.replace(", meter = \"srtcm\" }", " }");
    let named = |link: &str, flow: &str| network(&unmetered(three(link, "", flow)));
    let of_link = named(", meter = \"trtcm\", profile = \"p\"", ", profile = \"q\"");
    let of_flows = named(", meter = \"trtcm\"", ", profile = \"p\"");
    let neither = named(", meter = \"trtcm\"", ", profile = \"q\"");
    let mut differ = 0;
    for seed in 1..5 {
        let worlds = [&of_link, &of_flows, &neither].map(|network| run(network, seed));
        assert_eq!(worlds[0].fingerprint(), worlds[1].fingerprint(), "seed {seed}");
        assert_eq!(worlds[0].usage(), worlds[1].usage(), "seed {seed}");
        differ += u64::from(worlds[0].fingerprint() != worlds[2].fingerprint());
    }
    assert!(differ > 2, "{differ}");
}

/// Each customer has a record at its own link, and all share one at each boundary. A meter receives
/// what the port before it has sent. In-traffic does not grow along the route, and a bucket bounds
/// it. The series of in-traffic is what the meter found in profile.
#[test]
fn usage_and_in_traffic_of_a_cascade() {
    let network = network(&three(&format!("{AWARE}\"p\""), &format!("{AWARE}\"q\""), OWN));
    for seed in 1..5 {
        let world = run(&network, seed);
        let usage = world.usage();
        let keys: Vec<(u32, ProfileOwner)> = usage.keys().map(|key| (key.link, key.owner)).collect();
        let (h, i, ab, bc) = (0, 2, 4, 6);
        let own = [(h, ProfileOwner::Flow(0)), (i, ProfileOwner::Flow(1))];
        assert_eq!(keys, [own[0], own[1], (ab, ProfileOwner::Shared(0)), (bc, ProfileOwner::Shared(1))]);
        assert!(usage.keys().all(|key| (key.class, key.nth) == (None, 0)));
        let of = |link: u32| -> Usage {
            let used: Vec<_> =
                usage.iter().filter(|(key, _)| key.link == link).map(|(_, used)| *used).collect();
            used[0]
        };
        let came = |used: &Usage| used.coloured.iter().sum::<u64>();
        let customers = of(h).and(&of(i));
        // Packets queued or on the wire at either end of the measured time.
        let slack = 30_000;
        assert!(came(&customers).abs_diff(came(&of(ab))) <= slack, "{customers:?} {:?}", of(ab));
        let sent = world.link(ab as usize).sent.1;
        assert!(came(&of(bc)).abs_diff(sent) <= slack, "{sent} {:?}", of(bc));
        assert!(of(ab).coloured[0] <= customers.coloured[0] + slack);
        assert!(of(bc).coloured[0] <= of(ab).coloured[0] + slack);
        for (link, rate) in [(ab, 2_000_000), (bc, 1_500_000)] {
            let most = 9_000 + rate / 8 * 55 / 10;
            assert!(of(link).coloured[0] <= most, "{:?} {most}", of(link));
            assert!(
                of(link).coloured[0] > most * 8 / 10 && of(link).coloured[2] > 0,
                "{:?} {most}",
                of(link)
            );
        }
        for (link, rate) in [(ab, 4_000_000.0), (bc, 3_000_000.0)] {
            let series = world.series().unwrap().values(Subject::Link(link), "in_traffic");
            assert_eq!(series.len(), 16);
            let bytes: f64 = series[5..].iter().map(|share| share * rate / 8.0 * 0.5).sum();
            assert!((bytes - of(link).coloured[0] as f64).abs() < 1.0, "{bytes} {:?}", of(link));
            let (mean, most) = world.link(link as usize).in_traffic.unwrap();
            assert!((mean.unwrap() * rate / 8.0 * 5.5 - bytes).abs() < 1.0);
            // Whole seconds begin at the end of the warm-up.
            let seconds = series[5..15].chunks(2).map(|halves| (halves[0] + halves[1]) / 2.0);
            assert!((most.unwrap() - seconds.fold(0.0, f64::max)).abs() < 1e-9);
        }
        // No meter colours the reverse direction.
        assert_eq!(world.link(5).in_traffic, None);
        assert!(world.series().unwrap().values(Subject::Link(5), "in_traffic").is_empty());
    }
}

/// Probes and the data that they read change no outcome. Without colouring meters no in-traffic is
/// counted.
#[test]
fn who_colours_nothing_has_no_in_traffic() {
    let plain = network(
        &three("", "", ", interval = \"1s\", reserve = \"1300kbit\"")
            .replace("\"srtcm\"", "\"flow-monitor\""),
    );
    let world = run(&plain, 1);
    assert!(world.usage().is_empty());
    assert!((0..plain.links.len()).all(|ix| world.link(ix).in_traffic.is_none()));
    let coloured = network(&three(&format!("{AWARE}\"p\""), "", OWN));
    let silent: World<Calendar> = run_with(&coloured, 1, &Probes::default());
    assert_eq!(run(&coloured, 1).fingerprint(), silent.fingerprint());
}

/// Flows that are set up and torn down leave their records, which add up to the metered traffic.
#[test]
fn the_usage_of_flows_that_have_gone_is_kept() {
    let text = "version = 1\nduration = \"20s\"\nwarmup = \"3s\"\nadmission = {}\n\
                topology = { kind = \"chain\", switches = 2, rate = \"2mbit\", delay = \"3ms\" }\n\
                port = { meter = \"srtcm\" }\nprofile = [{ name = \"p\", reserve = \"300kbit\", workahead = \"2kB\" }]\n\
                [[flow]]\nname = \"own\"\ncount = 12\nfrom = \"s1\"\nto = \"s2\"\nsize = \"500B\"\nreserve = \"100kbit\"\n\
                workahead = \"2kB\"\nevery = \"900ms\"\nlasts = \"2s\"\nsource = { kind = \"poisson\", rate = \"150kbit\" }\n\
                [[flow]]\nname = \"together\"\ncount = 4\nprofile = \"p\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"500B\"\n\
                reserve = \"100kbit\"\nevery = \"2s\"\nlasts = \"3s\"\nsource = { kind = \"poisson\", rate = \"150kbit\" }\n";
    let network = network(text);
    let world = run(&network, 3);
    let usage = world.usage();
    let (shared, own): (Vec<_>, Vec<_>) =
        usage.iter().partition(|(key, _): &(&MeteredProfile, _)| key.owner == ProfileOwner::Shared(0));
    assert_eq!(shared.len(), 1);
    assert!(own.len() > 8, "{}", own.len());
    let records = world.records();
    let bytes = |group: usize| -> u64 {
        let of_group = network.flows.iter().zip(records).filter(|(flow, _)| flow.group == group);
        of_group.map(|(_, record)| record.sent.1).sum()
    };
    let used =
        |rows: &[(&MeteredProfile, &Usage)]| -> u64 { rows.iter().flat_map(|(_, used)| used.coloured).sum() };
    // Packets sent between the end of a flow at its first port and the end at its source are not
    // metered.
    assert!(used(&own).abs_diff(bytes(0)) <= 2_000 && bytes(0) > 100_000, "{} {}", used(&own), bytes(0));
    assert!(used(&shared).abs_diff(bytes(1)) <= 2_000 && bytes(1) > 50_000, "{} {}", used(&shared), bytes(1));
}
