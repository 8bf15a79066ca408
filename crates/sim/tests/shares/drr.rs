//! Deficit round robin shares a link by weight, whatever its memory holds.

use super::{assemble, parse, pick, records, seconds};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tidegate_core::rng::Rng;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::packet_log::PacketEvent;
use tidegate_sim::probe::Probes;
use tidegate_sim::record::FlowRecord;
use tidegate_sim::world::World;

/// Share of all received bytes for each flow.
fn shares_of(records: &[FlowRecord]) -> Vec<f64> {
    let all: u64 = records.iter().map(|record| record.received.1).sum();
    records.iter().map(|record| record.received.1 as f64 / all as f64).collect()
}

/// The files in which weights of 20 to 80 gave 36 to 64, or 67 to 33.
#[test]
fn drr_shares_a_link_by_weight_whatever_the_buffer_holds() {
    for file in ["drr-shares.toml", "drr-shares-poisson.toml"] {
        // With Poisson arrivals, a short queue is empty now and then.
        let buffers: &[&str] = if file.contains("poisson") { &["20p"] } else { &["3p", "4p", "20p"] };
        for buffer in buffers.iter().chain(&["200p", "1000p"]) {
            let records = records(file, &[("duration", "12s"), ("warmup", "2s"), ("switch.buffer", buffer)]);
            let shares = shares_of(&records);
            // The two backlogs at the end are not received yet.
            let waiting: f64 = buffer.trim_end_matches('p').parse::<f64>().unwrap() * 1_500.0;
            // Poisson arrivals leave a short queue empty now and then: the flow then loses its
            // deficit.
            let emptied = if file.contains("poisson") && waiting < 50_000.0 { 0.01 } else { 0.002 };
            let slack = emptied + waiting / (100e6 / 8.0 * 10.0);
            assert!((shares[0] - 0.2).abs() < slack, "{file}, {buffer}: {shares:?}");
            if waiting < 10_000.0 {
                // Theorem 2, with quanta of 1514 bytes and a quarter, and the packets that have not
                // arrived.
                let apart = 4.0 * records[0].received.1 as f64 - records[1].received.1 as f64;
                let bound = 2.0 * 1_514.0 + 4.0 * 1_500.0 + 1_500.0;
                assert!(apart.abs() <= bound + 4.0 * waiting, "{file}, {buffer}: {apart} bytes");
            }
        }
    }
}

/// A flow that offers less than its weight loses nothing, and the others share the rest by their
/// weights.
#[test]
fn drr_gives_a_flow_below_its_weight_what_it_offers() {
    let records = records("drrflat.toml", &[]);
    let conforming = &records[3];
    let lost = (conforming.sent.0 - conforming.received.0) as f64;
    // A burst of its own may be the longest queue of the pool for a moment.
    assert!(lost < 0.005 * conforming.sent.0 as f64, "{lost} of {} have not arrived", conforming.sent.0);
    let shares = shares_of(&records[..3]);
    for (share, weight) in shares.iter().zip([450.0, 600.0, 150.0]) {
        assert!((share - weight / 1_200.0).abs() < 0.005, "{shares:?}");
    }
}

/// A call below its reservation waits for its share of a turn, not for turns of megabytes: the
/// latency of a DRR server with quanta of any length (Lenzini, Mingozzi and Stea 2004;
/// `docs/schedulers/drr.md`), and a packet at its share.
#[test]
fn a_call_under_drr_waits_no_longer_than_its_latency() {
    let records = records("drr-call.toml", &[]);
    let voice = &records[0];
    // The last packet may be on its way.
    assert!(voice.sent.0 - voice.received.0 <= 1);
    let (largest, second, own) = (1_514.0, 1_514.0 * 4.0 / 5.0, 1_514.0 / 50.0);
    let all = largest + second + own;
    let latency = (all - own) * (1.0 + 200.0 / own) + (200.0 + 1_500.0 + 1_500.0) + 1_500.0;
    let bound = seconds(latency, 10e6) + seconds(200.0, 10e6 * own / all);
    let most = voice.queueing.max().unwrap().as_secs_f64();
    assert!(most <= bound && bound < 0.04, "{most} s of {bound}");
}

/// A flow of a random network.
struct Flow {
    weight: u64,
    largest: u64,
    /// True if its source has a packet in every time in which one is sent.
    always: bool,
}

/// A random network: hosts with fast links and one link of 10 Mbit/s, where all wait in memory of
/// one packet a flow and one more, at least. The file, its flows and the quantum.
fn network(rng: &mut Rng) -> (String, Vec<Flow>, u64) {
    let quantum = pick(rng, &[500, 1_514, 1_514, 9_000]);
    let lengths: &[u64] = if quantum == 500 { &[100, 250, 500] } else { &[200, 500, 1_000, 1_500] };
    let flows: Vec<Flow> = (0..2 + rng.below(5))
        .map(|_| Flow { weight: 1 + rng.below(10), largest: pick(rng, lengths), always: true })
        .collect();
    let count = flows.len() as u64;
    let memory = match rng.below(4) {
        0 => format!("{}p", count + 1),
        1 => format!("{}p", 2 * count),
        2 => format!("{}p", (count + 1 + rng.below(40)).min(40)),
        // In bytes, by the same reasoning: the longest packet of each flow, and one more.
        _ => {
            let one_of_each: u64 = flows.iter().map(|flow| flow.largest).sum();
            let longest = flows.iter().map(|flow| flow.largest).max().unwrap();
            format!("{}B", one_of_each + longest + rng.below(20) * rng.below(1_500))
        }
    };
    let mut text = format!(
        "version = 1\nduration = \"300ms\"\nport = {{ scheduler = {{ kind = \"drr\", quantum = \"{quantum}B\" }} }}\n\
         switch = {{ buffer = \"{memory}\" }}\n[[node]]\nname = \"s1\"\n[[node]]\nname = \"s2\"\n\
         [[link]]\nfrom = \"s1\"\nto = \"s2\"\nrate = \"10mbit\"\n"
    );
    let mut drawn = Vec::new();
    for (nth, flow) in flows.into_iter().enumerate() {
        let mut sizes = vec![flow.largest];
        if rng.chance(0.5) {
            sizes.extend(lengths.iter().filter(|len| **len < flow.largest));
        }
        let sizes: Vec<String> = sizes.iter().map(|len| format!("\"{len}B\"")).collect();
        // A packet of its own in the time of the shortest.
        let rate = 10_000_000 * flow.largest / lengths[0] * (11 + rng.below(10)) / 10;
        let mean = |kind: &str| format!("{{ kind = \"{kind}\", rate = \"{rate}bit\" }}");
        let (source, at_switch, always) = match rng.below(6) {
            0 => (mean("poisson"), false, false),
            1 => (mean("packet-train"), false, false),
            2 => (format!("{{ kind = \"greedy\", window = {} }}", 2 + rng.below(8)), true, false),
            _ => (mean("cbr"), false, true),
        };
        let from = if at_switch { "s1".to_owned() } else { format!("h{nth}") };
        if !at_switch {
            _ = writeln!(
                text,
                "[[node]]\nname = \"{from}\"\nkind = \"host\"\n[[link]]\nfrom = \"{from}\"\nto = \"s1\"\nrate = \"10gbit\""
            );
        }
        _ = writeln!(
            text,
            "[[flow]]\nname = \"f{nth}\"\nfrom = \"{from}\"\nto = \"s2\"\nsize = [{}]\nreserve = \"{}kbit\"\n\
             start = \"{}us\"\nsource = {source}",
            sizes.join(", "),
            flow.weight * 100,
            rng.below(20_000)
        );
        drawn.push(Flow { always, ..flow });
    }
    (text, drawn, quantum)
}

/// Distance of two flows since both have had packets: bytes of either times the weight of the
/// other.
#[derive(Clone, Copy, Default)]
struct Apart {
    now: i64,
    least: i64,
    most: i64,
}

/// History of a link with its queue, packet by packet.
struct Link<'f> {
    flows: &'f [Flow],
    quantum: u64,
    queued: Vec<u32>,
    /// Flows that had packets at the latest selection.
    backlogged: Vec<bool>,
    /// Distances of flows i < j, at (i, j).
    apart: BTreeMap<(usize, usize), Apart>,
}

impl Link<'_> {
    /// A packet is selected: a flow without one begins anew with its next. Returns false if its
    /// source always has one.
    fn select(&mut self) -> bool {
        for flow in 0..self.flows.len() {
            let before = std::mem::replace(&mut self.backlogged[flow], self.queued[flow] > 0);
            if before && !self.backlogged[flow] && self.flows[flow].always {
                return false;
            }
            if !before {
                self.apart.retain(|(i, j), _| *i != flow && *j != flow);
            }
        }
        true
    }

    /// A packet of the flow is sent. Returns, for each other flow with packets, their distance as a
    /// part of the bound, and whether packets of either are longer than its quantum.
    fn send(&mut self, flow: usize, len: u32) -> Vec<(f64, bool)> {
        self.queued[flow] -= 1;
        let others = (0..self.flows.len()).filter(|other| *other != flow && self.backlogged[*other]);
        let heaviest = self.flows.iter().map(|flow| flow.weight).max().unwrap();
        let mut parts = Vec::new();
        for other in others {
            let pair = self.apart.entry((flow.min(other), flow.max(other))).or_default();
            let bytes = i64::from(len) * self.flows[other].weight as i64;
            pair.now += if flow < other { bytes } else { -bytes };
            (pair.least, pair.most) = (pair.least.min(pair.now), pair.most.max(pair.now));
            let [i, j] = [&self.flows[flow], &self.flows[other]];
            let rest = [i, j].iter().any(|flow| flow.largest * heaviest > self.quantum * flow.weight);
            let turns = self.quantum * i.weight * j.weight * if rest { 2 } else { 1 };
            let bound = turns + (i.largest * j.weight + j.largest * i.weight) * heaviest;
            parts.push(((pair.most - pair.least) as f64 * heaviest as f64 / bound as f64, rest));
        }
        parts
    }
}

/// Shreedhar and Varghese 1996, theorem 2, from their lemma 1, by which a deficit is less than the
/// flow's longest packet: over any time in which flows i and j have packets, their bytes W, quanta
/// q and longest packets L are within
/// |W_i / q_i − W_j / q_j| ≤ 1 + L_i / q_i + L_j / q_j; with quanta in proportion to weights that is a quantum and a packet of
/// each. A flow whose packets are longer than its quantum may have a turn less, as it joins behind
/// all others when it may send.
///
/// The memory needed is one packet a flow and one more. One packet is in service. When a packet
/// comes that does not fit, there is one more queued than there are flows: some flow has two, and
/// push-out takes of those. So no flow loses its only packet, and one that has sent its last has
/// place for the next until the next selection.
/// [`drr_has_no_choice_in_a_memory_of_a_packet_a_flow`] shows that it cannot be less.
#[test]
fn drr_shares_by_weight_in_a_memory_of_a_packet_a_flow_and_one() {
    let (mut nearest, mut judged, mut rested, mut short) = ([0.0f64; 2], 0, 0, 0);
    for seed in 0..200 {
        let (text, flows, quantum) = network(&mut Rng::named(seed, "memories"));
        let network = assemble(&parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))).unwrap();
        let link = network.links.iter().position(|link| link.rate.bits_per_second() < 11e6).unwrap();
        let mut world: World<Calendar> =
            World::new(&network, seed, &Probes { log: true, ..Probes::default() }).unwrap();
        while !world.advance(1_000_000) {}
        let (queued, backlogged) = (vec![0; flows.len()], vec![false; flows.len()]);
        let mut port = Link { flows: &flows, quantum, queued, backlogged, apart: BTreeMap::new() };
        let mut lengths = BTreeMap::new();
        for entry in world.log().iter().filter(|entry| entry.link as usize == link) {
            match entry.what {
                PacketEvent::Arrived { packet, len } => {
                    port.queued[packet.flow as usize] += 1;
                    lengths.insert(packet, len);
                }
                PacketEvent::Dropped(packet, _) => port.queued[packet.flow as usize] -= 1,
                PacketEvent::Started { packet, .. } => {
                    assert!(port.select(), "seed {seed}: a flow is empty at {:?}\n{text}", entry.at);
                    for (part, rests) in port.send(packet.flow as usize, lengths[&packet]) {
                        assert!(part <= 1.0, "seed {seed}: {part} at {:?}\n{text}", entry.at);
                        nearest[usize::from(rests)] = nearest[usize::from(rests)].max(part);
                        judged += 1;
                        rested += u32::from(rests);
                    }
                }
                _ => {}
            }
        }
        short += u32::from(text.contains(&format!("buffer = \"{}p\"", flows.len() + 1)));
    }
    println!("{nearest:?}: {judged} packets, {rested} where quanta are shorter; {short} in the least memory");
    assert!(judged > 100_000 && rested > 20_000 && rested < judged - 20_000, "{judged}, {rested}");
    assert!(nearest.iter().all(|part| *part > 0.5) && short > 30, "{nearest:?}, {short}");
}

/// A memory of as many packets as flows is too small by one. With a packet in service, one of two
/// flows has none whenever a packet is selected, so that there is nothing to choose and weights
/// change nothing.
#[test]
fn drr_has_no_choice_in_a_memory_of_a_packet_a_flow() {
    for file in ["drr-shares.toml", "drr-shares-poisson.toml"] {
        let with = |a: &str, b: &str| {
            let sets = [("switch.buffer", "2p"), ("flow.a.reserve", a), ("flow.b.reserve", b)];
            let times = [("duration", "4s"), ("warmup", "2s")];
            records(file, &[&sets[..], &times].concat()).iter().map(|flow| flow.received).collect::<Vec<_>>()
        };
        assert_eq!(with("20mbit", "80mbit"), with("80mbit", "20mbit"), "{file}");
    }
}
