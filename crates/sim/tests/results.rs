//! Result tables agree with each other and with the events of the run.

mod common;
#[path = "../../core/tests/common/toy.rs"]
mod toy;

use common::{add, chain, poisson, rate, run_with};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use tidegate_core::admission::Policy;
use tidegate_core::context::{Ctx, Reason, Verdict};
use tidegate_core::dropper::{BuiltInDropper, Dropper, DropperKind};
use tidegate_core::meter::{Meter, MeterKind, ProfileIx, Reading};
use tidegate_core::packet::{Mark, Packet};
use tidegate_core::params::{Limit, NamedPolicy, Role};
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_formats::columns::TABLES;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::results::{Table, Values, tables};
use tidegate_sim::source::Traffic;
use tidegate_sim::watch::Watch;
use tidegate_sim::world::World;
use toy::toy;

/// The tables of a run in which everything is recorded.
fn measured(network: &Network) -> Vec<Table> {
    let sample = Some(Span::from_millis(500));
    let probes =
        Probes { delays: true, flow_delays: true, sample, workahead: vec![1.0, 1.02], ..Probes::default() };
    let world: World<Calendar> = run_with(network, 1, &probes);
    tables(network, &world, 0, 1)
}

fn column<'t>(tables: &'t [Table], table: &str, column: &str) -> &'t Values {
    let table = tables.iter().find(|one| one.record.name == table).unwrap();
    table.column(column).unwrap()
}

fn whole(tables: &[Table], table: &str, name: &str) -> Vec<u64> {
    match column(tables, table, name) {
        Values::Whole(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn numbers(tables: &[Table], table: &str, name: &str) -> Vec<f64> {
    match column(tables, table, name) {
        Values::Number(values) => values.iter().map(|value| value.unwrap()).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

fn texts(tables: &[Table], table: &str, name: &str) -> Vec<String> {
    match column(tables, table, name) {
        Values::Text { keys, words } => keys.iter().map(|key| words[*key as usize].clone()).collect(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Three groups of flows over two links with little memory.
fn grouped() -> Network {
    let mut network = chain(2, 1_000_000, Span::from_millis(2), "virtual-clock", Span::from_secs(20));
    network.nodes[0].buffer = Some(Limit::Packets(6));
    network.groups = ["calls", "bulk", "silent"].map(String::from).to_vec();
    for (group, bits, size) in [(0, 64_000, 200), (0, 64_000, 100), (1, 700_000, 1000), (1, 400_000, 1500)] {
        add(&mut network, 0..2, Some(bits / 2), poisson(bits, size));
        network.flows.last_mut().unwrap().group = group;
    }
    network
}

/// Two classes of a link of 1 Mbit/s, one of them with two classes in it, and a warm-up.
fn divided() -> Network {
    let text = "version = 1\nduration = \"20s\"\nwarmup = \"4s\"\n\
                topology = { kind = \"chain\", switches = 2, rate = \"1mbit\" }\n\
                port = { scheduler = \"drr\" }\nswitch = { buffer = \"20p\" }\n\
                class = [{ name = \"site\", scheduler = \"drr\", reserve = \"250kbit\" }, \
                { name = \"deep\", parent = \"site\", scheduler = \"fifo\" }, \
                { name = \"other\", scheduler = \"fifo\", reserve = \"750kbit\" }, \
                { name = \"shallow\", parent = \"site\", scheduler = \"fifo\" }]\n";
    let flow = |name: &str, class: &str, rate: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"500B\"\n{class}\
             source = {{ kind = \"poisson\", rate = \"{rate}\" }}\n"
        )
    };
    let text = [
        text.to_owned(),
        flow("one", "class = \"deep\"\n", "1mbit"),
        flow("two", "class = \"shallow\"\n", "100kbit"),
        flow("three", "class = \"other\"\n", "200kbit"),
    ]
    .concat();
    assemble(&Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap()).unwrap()
}

/// A class counts what its flows and the classes in it send and lose, from the warm-up on. All classes
/// together send what the link sends, and what one sends beyond its reservation is borrowed.
#[test]
fn a_class_is_all_flows_in_it() {
    let tables = measured(&divided());
    let names = texts(&tables, "classes", "class");
    let links = texts(&tables, "classes", "link");
    let at = |name: &str| (0..names.len()).find(|ix| names[*ix] == name && links[*ix] == "s1->s2").unwrap();
    let [deep, site, other, shallow] = ["deep", "site", "other", "shallow"].map(at);
    for column in ["packets", "bytes", "dropped_packets", "dropped_bytes"] {
        let values = whole(&tables, "classes", column);
        assert_eq!(values[site], values[deep] + values[shallow], "{column}");
        let all = values[site] + values[other];
        match column {
            "packets" | "bytes" => assert_eq!(all, whole(&tables, "links", column)[0], "{column}"),
            "dropped_packets" => assert_eq!(all, whole(&tables, "links", column)[0]),
            _ => assert_eq!(all, 500 * whole(&tables, "links", "dropped_packets")[0]),
        }
    }
    assert!(whole(&tables, "classes", "dropped_packets")[deep] > 500);
    let throughput = numbers(&tables, "classes", "throughput");
    let bytes = whole(&tables, "classes", "bytes");
    assert!((throughput[site] - bytes[site] as f64 * 8.0 / 16.0).abs() < 1e-6);
    let utilisation = numbers(&tables, "classes", "utilisation");
    assert!((utilisation[site] - throughput[site] / 1e6).abs() < 1e-12);
    let Values::Number(borrowed) = column(&tables, "classes", "borrowed") else { panic!() };
    assert_eq!((borrowed[deep], borrowed[other]), (None, Some(0.0)));
    assert!((borrowed[site].unwrap() - (throughput[site] - 250_000.0)).abs() < 1e-6);
}

/// Jitter by the rule of RFC 3550 and delay variation by that of RFC 5481, of delays that are known
/// in advance: packets of a CBR flow that find a longer packet before them every other time.
#[test]
fn the_variation_of_delays_is_that_of_the_rules() {
    let mut network = chain(1, 1_000_000, Span::from_millis(5), "fifo", Span::from_secs(2));
    // 10 ms apart, and 20 ms apart.
    add(&mut network, 0..1, None, Traffic::Cbr { rate: rate(1000 * 8 * 50), sizes: Arc::new([1000]) });
    add(&mut network, 0..1, None, Traffic::Cbr { rate: rate(100 * 8 * 100), sizes: Arc::new([100]) });
    let tables = measured(&network);
    let jitter = numbers(&tables, "flows", "jitter");
    // The longer packet takes 8 ms, and is sent at the same time as every second of the others, or
    // some time before. The delays of the others alternate, so all differences are equal.
    let (least, most) = (0.0058, numbers(&tables, "flows", "delay_max")[1]);
    let packets = whole(&tables, "flows", "received_packets")[1] as i32;
    let expected = (most - least) * (1.0 - (15f64 / 16.0).powi(packets - 1));
    assert!((jitter[1] - expected).abs() < 1e-9, "{} {expected}", jitter[1]);
    assert!(jitter[0].abs() < 1e-9);
    for name in ["delay_variation_p99", "delay_variation_p999"] {
        let variation = numbers(&tables, "flows", name);
        assert!((variation[1] - (most - least)).abs() < 0.001 * most, "{variation:?}");
    }
}

/// Every declared table is made, in the order of its declaration.
#[test]
fn every_table_is_filled_where_there_is_something_to_tell() {
    let folder = std::env::temp_dir().join(format!("tidegate-sim-results-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("gate.toml"),
        "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"8mbit\", down = \"8mbit\" }\n",
    )
    .unwrap();
    let text = "version = 1\nduration = \"2s\"\ntopology = { kind = \"gate\", file = \"gate.toml\" }\n\
                [[flow]]\nname = \"bulk\"\nfrom = \"inside\"\nto = \"outside\"\nsize = \"976B\"\n\
                headers = { flow = \"10.0.0.1:1>192.0.2.1:2/udp\" }\n\
                source = { kind = \"cbr\", rate = \"1mbit\" }\n";
    let gate = assemble(&Scenario::parse(text, "a.toml", &folder, &[]).unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let overloaded = "version = 1\nduration = \"3s\"\ntopology = { kind = \"chain\", switches = 2, rate = \"1mbit\" }\n\
                      port = { dropper = { kind = \"drop-tail\", limit = \"9p\" }, detector = { drops = \"all\" } }\n\
                      [[flow]]\nname = \"bulk\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"500B\"\n\
                      source = { kind = \"cbr\", rate = \"2mbit\" }\n";
    let overloaded = assemble(&Scenario::parse(overloaded, "a.toml", Path::new(""), &[]).unwrap()).unwrap();
    let mut reserved = grouped();
    reserved.policies = vec![Policy { reservable: 1_000_000, longest_interval: None }; 2];
    reserved.flows[0].life.set_up = true;
    let mut cells = grouped();
    cells.flows[0].aal5 = true;
    let mut filled = BTreeSet::new();
    let text = "version = 1\nduration = \"1s\"\ntopology = { kind = \"chain\", switches = 2, rate = \"1mbit\" }\n\
                port = { meter = \"srtcm\" }\nassurance = { window = \"1s\" }\n\
                [[flow]]\nname = \"f\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"1kB\"\n\
                reserve = \"100kbit\"\nworkahead = \"2kB\"\nsource = { kind = \"cbr\", rate = \"200kbit\" }\n";
    let metered = assemble(&Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap()).unwrap();
    // A tree without credit has no table of stalls, and no key for its links.
    let has_stalls = TABLES.iter().any(|record| record.name == "stalls");
    let lossy = |keys: &str| {
        let keys = if has_stalls { keys } else { "" };
        let text = format!(
            "version = 1\nduration = \"9s\"\ntopology = {{ kind = \"nodes\" }}\n[[node]]\nname = \"a\"\n\
             [[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\nloss = 0.5\n{keys}\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\n\
             source = {{ kind = \"cbr\", rate = \"2mbit\" }}\n"
        );
        assemble(&Scenario::parse(&text, "a.toml", Path::new(""), &[]).unwrap()).unwrap()
    };
    let text = "version = 1\nduration = \"1s\"\ntopology = { kind = \"chain\", switches = 2, rate = \"1mbit\" }\n\
                [[connection]]\nname = \"c\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"1kB\"\ntransport = \"tcp\"\n\
                data = { kind = \"transfers\", size = \"9kB\" }\n";
    let finite = assemble(&Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap()).unwrap();
    let stalled = lossy("credit = { buffer = 8, check = \"0s\" }\n");
    let pooled = lossy("credit = { allocation = \"receiver\", pool_per = \"output\" }\n");
    for network in [gate, reserved, metered, overloaded, finite, stalled, pooled, cells, divided()] {
        let tables = measured(&network);
        assert!(tables.iter().map(|table| table.record.name).eq(TABLES.iter().map(|record| record.name)));
        let has_rows =
            |table: &&Table| !whole(std::slice::from_ref(*table), table.record.name, "seed").is_empty();
        filled.extend(tables.iter().filter(has_rows).map(|table| table.record.name));
    }
    assert_eq!(filled, TABLES.iter().map(|record| record.name).collect());
}

/// Counts are sums over the group's flows, means are over all packets of the group.
#[test]
fn a_group_is_all_packets_of_its_flows() {
    let tables = measured(&grouped());
    let of_flow = texts(&tables, "flows", "group");
    let groups = texts(&tables, "groups", "group");
    assert_eq!(groups, ["calls", "bulk", "silent"]);
    assert_eq!(whole(&tables, "groups", "flows"), [2, 2, 0]);
    let sums = |values: &[f64]| -> Vec<f64> {
        let of =
            |group| of_flow.iter().zip(values).filter(move |(of, _)| *of == group).map(|(_, value)| value);
        groups.iter().map(|group| of(group).sum()).collect()
    };
    let as_numbers = |values: Vec<u64>| values.into_iter().map(|value| value as f64).collect::<Vec<_>>();
    let counts = ["sent", "received"].into_iter().flat_map(|what| ["packets", "bytes"].map(|of| (what, of)));
    let packets = ["marked", "dropped", "lost", "absorbed", "discarded"].map(|what| (what, "packets"));
    for (what, of) in counts.chain(packets) {
        let name = format!("{what}_{of}");
        let of_flows = as_numbers(whole(&tables, "flows", &name));
        assert_eq!(as_numbers(whole(&tables, "groups", &name)), sums(&of_flows), "{name}");
    }
    assert!(whole(&tables, "groups", "dropped_packets")[1] > 100);
    for (sum, group) in
        sums(&numbers(&tables, "flows", "throughput")).iter().zip(numbers(&tables, "groups", "throughput"))
    {
        assert!((sum - group).abs() <= 1e-9 * sum);
    }
    let received = as_numbers(whole(&tables, "flows", "received_packets"));
    let packets = sums(&received);
    for name in ["delay_mean", "queueing_mean"] {
        let means = numbers(&tables, "flows", name);
        let total = sums(&means.iter().zip(&received).map(|(mean, count)| mean * count).collect::<Vec<_>>());
        let Values::Number(group) = column(&tables, "groups", name) else { panic!() };
        assert_eq!(group[2], None, "a group that received nothing has no mean");
        for ix in 0..2 {
            let expected = total[ix] / packets[ix];
            assert!((group[ix].unwrap() - expected).abs() <= 1e-12 * expected, "{name}");
        }
    }
}

/// Against the delays themselves: a quantile is at most 0.1 % above the delay of that rank, and not
/// above the largest.
#[test]
fn a_quantile_of_a_group_is_that_of_its_packets_delays() {
    let network = grouped();
    let tables = measured(&network);
    let mut delays: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for (ix, flow) in network.flows.iter().enumerate() {
        let probes = Probes { watch: Some(Watch::new(ix as u32, usize::MAX)), ..Probes::default() };
        let world: World<Calendar> = run_with(&network, 1, &probes);
        let ticks = world.watch().unwrap().slowest().iter().map(|journey| journey.delay.ticks());
        delays.entry(flow.group).or_default().extend(ticks);
    }
    for (group, mut delays) in delays {
        delays.sort_unstable();
        assert_eq!(delays.len() as u64, whole(&tables, "groups", "received_packets")[group]);
        let largest = delays[delays.len() - 1] as f64 * 1e-11;
        for (name, q) in [("delay_p50", 0.5), ("delay_p99", 0.99), ("delay_p999", 0.999), ("delay_max", 1.0)]
        {
            let rank = (q * delays.len() as f64).ceil() as usize;
            let exact = delays[rank - 1] as f64 * 1e-11;
            let Values::Number(values) = column(&tables, "groups", name) else { panic!() };
            let shown = values[group].unwrap();
            // Bins are whole nanoseconds.
            assert!(
                exact - 1e-9 <= shown && shown <= exact * (1.0 + 1.0 / 1024.0) + 1e-9,
                "{name}: {shown} {exact}"
            );
            assert!(shown <= largest * (1.0 + 1e-12), "{name}: {shown} {largest}");
        }
    }
}

/// Drops every seventh packet, and marks every third of the others.
#[derive(Default)]
pub struct EveryThird(u64);

toy!(EveryThirdParams makes EveryThird: "every-third", Role::Meter { colours: false });

impl Meter for EveryThird {
    fn see(&mut self, _: &mut Ctx<'_>, _: ProfileIx, packet: &mut Packet) -> Reading {
        self.0 += 1;
        packet.mark = Mark::from_ip(0, 0b10);
        let verdict = match self.0 {
            count if count.is_multiple_of(7) => Verdict::Drop(Reason::Meter),
            count if count.is_multiple_of(3) => Verdict::Congested(Reason::EarlyDrop),
            _ => Verdict::Accept,
        };
        verdict.into()
    }
}

/// 1000 packets in 10 s over three links, the middle one of which drops and marks.
fn marking(warmup: Span) -> Vec<Table> {
    let mut network = chain(3, 10_000_000, Span::ZERO, "fifo", Span::from_secs(10));
    network.warmup = warmup;
    network.links[1].port.meters = vec![MeterKind::outside(EveryThirdParams {})];
    add(&mut network, 0..3, None, Traffic::Cbr { rate: rate(400_000), sizes: Arc::new([500]) });
    measured(&network)
}

#[test]
fn what_is_dropped_and_marked_is_counted_by_reason_and_at_the_destination() {
    let verdicts = |packets: std::ops::RangeInclusive<u64>| {
        let dropped = packets.clone().filter(|count| count % 7 == 0).count() as u64;
        let marked = packets.filter(|count| count % 3 == 0 && count % 7 != 0).count() as u64;
        (dropped, marked)
    };
    for (warmup, skipped) in [(Span::ZERO, 0), (Span::from_secs(4), 400)] {
        let tables = marking(warmup);
        let [sent] = whole(&tables, "flows", "sent_packets")[..] else { panic!() };
        assert!((599..=1001).contains(&sent), "{sent}");
        // The last packet may still be on its way.
        let [received] = whole(&tables, "flows", "received_packets")[..] else { panic!() };
        let (dropped, marked) = verdicts(skipped + 1..=skipped + sent);
        assert!(sent - received - dropped <= 1);
        assert_eq!(whole(&tables, "links", "dropped_packets"), [0, dropped, 0]);
        assert_eq!(whole(&tables, "links", "marked_packets"), [0, marked, 0]);
        assert_eq!(whole(&tables, "flows", "dropped_packets"), [dropped]);
        assert_eq!(whole(&tables, "flows", "marked_packets"), [marked]);
        assert_eq!(texts(&tables, "drops", "link"), ["s2->s3", "s2->s3"]);
        assert_eq!(texts(&tables, "drops", "reason"), ["early-drop", "meter"]);
        assert_eq!(whole(&tables, "drops", "dropped_packets"), [0, dropped]);
        assert_eq!(whole(&tables, "drops", "marked_packets"), [marked, 0]);
    }
}

/// At an overloaded port: every quantity that its dropper shows is a series, and says that packets
/// are chosen.
#[test]
fn a_series_has_what_a_dropper_shows() {
    for dropper in BuiltInDropper::examples() {
        let name = dropper.record().name;
        let kind = DropperKind::BuiltIn(dropper);
        let mut shown = BTreeSet::from(["queue", "utilisation", "throughput"]);
        kind.build().unwrap().gauges(&mut |metric, _| _ = shown.insert(metric));
        let mut network = chain(2, 10_000_000, Span::ZERO, "fifo", Span::from_secs(5));
        // A dropper that goes by free memory needs one; it alone does not keep the queue below 100.
        network.nodes[0].buffer = Some(Limit::Packets(150));
        network.links[0].port.dropper = Some(kind.into());
        add(&mut network, 0..1, None, Traffic::Cbr { rate: rate(15_000_000), sizes: Arc::new([1000]) });
        let tables = measured(&network);
        let (metrics, values) = (texts(&tables, "series", "metric"), numbers(&tables, "series", "value"));
        assert_eq!(metrics.iter().map(String::as_str).collect::<BTreeSet<_>>(), shown, "{name}");
        assert!(values.iter().all(|value| value.is_finite() && *value >= 0.0), "{name}");
        for wanted in shown.iter().filter(|metric| metric.starts_with("drop_probability")) {
            let of = metrics.iter().zip(&values).filter(|(metric, _)| metric == wanted);
            assert!(of.into_iter().all(|(_, p)| *p <= 1.0), "{name}");
        }
        let dropped: u64 = whole(&tables, "drops", "dropped_packets").iter().sum();
        // A third of the arriving packets is too much.
        let [sent] = whole(&tables, "flows", "sent_packets")[..] else { panic!() };
        assert!(dropped.abs_diff(sent / 3) < 100, "{name}: {dropped} of {sent}");
    }
}

/// The reference lists them one by one.
#[test]
fn every_reason_is_explained() {
    let drops = TABLES.iter().find(|record| record.name == "drops").unwrap();
    let reason = drops.columns.iter().find(|column| column.name == "reason").unwrap();
    assert!(Reason::ALL.iter().all(|one| reason.help.contains(&format!("`{}`", one.name()))));
}
