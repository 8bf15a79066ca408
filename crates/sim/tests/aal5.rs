//! Flows sent as ATM cells: properties of cells and packets with and without loss.

use std::path::Path;
use tidegate_core::aal5::{CELL, cells};
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::{PacketCounts, World};

fn run(text: &str, seed: u64) -> World<Calendar> {
    let scenario = Scenario::parse(text, "a.toml", Path::new(""), &[]);
    let network = assemble(&scenario.unwrap_or_else(|errors| panic!("{errors}\n{text}"))).unwrap();
    let mut world = World::new(&network, seed, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

/// A chain of links with these keys, and the traffic over it.
fn chain(hops: usize, link: &str, duration: &str, traffic: &str) -> String {
    let mut text = format!("version = 1\nduration = \"{duration}\"\n");
    for node in 0..=hops {
        text += &format!("[[node]]\nname = \"s{node}\"\n");
    }
    for hop in 0..hops {
        text += &format!("[[link]]\nfrom = \"s{hop}\"\nto = \"s{}\"\n{link}\n", hop + 1);
    }
    text + traffic
}

fn flow(hops: usize, size: u32, source: &str) -> String {
    format!(
        "[[flow]]\nname = \"f\"\nfrom = \"s0\"\nto = \"s{hops}\"\nsize = \"{size}B\"\nadaptation = \"aal5\"\nsource = {source}\n"
    )
}

fn packets(world: &World<Calendar>) -> PacketCounts {
    world.packets_of_cells(0).unwrap()
}

/// Cells are pipelined: a packet of k cells over h idle links takes k + h − 1 cell times and the
/// propagation.
#[test]
fn cells_of_a_packet_follow_each_other_over_several_links() {
    for hops in [1, 2, 5] {
        for size in [1, 40, 41, 1500, 9188] {
            // A packet every 20 ms.
            let source = format!("{{ kind = \"cbr\", rate = \"{}bit\" }}", size * 400);
            let link = "rate = \"42400kbit\"\ndelay = \"1ms\"";
            let world = run(&chain(hops, link, "110ms", &flow(hops, size, &source)), 1);
            let k = u64::from(cells(size));
            let last = Span::from_micros((k + hops as u64 - 1) * 10 + 1000 * hops as u64);
            let counts = packets(&world);
            assert!(counts.sent.packets >= 5 && counts.sent.packets == counts.received.packets);
            assert_eq!(counts.received.bytes, counts.received.packets * u64::from(size));
            assert_eq!(counts.discarded_cells, 0);
            let record = &world.records()[0];
            assert_eq!(record.sent, (counts.sent.packets * k, counts.sent.packets * k * u64::from(CELL)));
            assert_eq!(record.delay.max(), Some(last), "{hops} links, {size} bytes");
        }
    }
}

/// With cells lost independently with probability p, a packet of k cells arrives if all its cells
/// arrive and the receiver keeps no cells of the previous packet. It keeps some with probability r
/// = p(1 − p^(k−1)) / (1 − p^k). There are two cases: the previous packet lost its last cell but
/// not all others; or it lost all cells, and some were kept before it.
#[test]
fn lost_cells_lose_packets_as_often_as_expected() {
    for (size, p) in [(40, 0.2), (80, 0.2), (500, 0.02), (500, 0.2), (1500, 0.01), (9188, 0.002)] {
        let link = format!("rate = \"155mbit\"\nloss = {p}");
        let source = "{ kind = \"cbr\", rate = \"8mbit\" }";
        let mut counts = PacketCounts::default();
        for seed in 1..=2 {
            let found = packets(&run(&chain(1, &link, "1s", &flow(1, size, source)), seed));
            counts.sent.packets += found.sent.packets;
            counts.received.packets += found.received.packets;
        }
        let k = cells(size) as i32;
        let kept = p * (1.0 - f64::powi(p, k - 1)) / (1.0 - f64::powi(p, k));
        let expected = f64::powi(1.0 - p, k) * (1.0 - kept);
        let (n, share) =
            (counts.sent.packets as f64, counts.received.packets as f64 / counts.sent.packets as f64);
        // Neighbours are correlated; twice the variance of independent packets is more than enough.
        let bound = 3.29 * (2.0 * expected * (1.0 - expected) / n).sqrt();
        assert!((share - expected).abs() < bound, "{size} B, loss {p}: {share} for {expected} ± {bound}");
    }
}

/// Over random links and sources, every cell that arrived belongs to a packet that was delivered,
/// discarded or is being reassembled, and every delivered packet was sent.
#[test]
fn no_cell_comes_out_of_nothing() {
    let (mut delivered, mut discarded) = (0, 0);
    for seed in 0..30 {
        let mut rng = Rng::named(seed, "aal5");
        let hops = 1 + rng.below(4) as usize;
        let size = 1 + rng.below(3000) as u32;
        let loss = [0.0, 0.001, 0.05][rng.below(3) as usize];
        let limit = 20 + rng.below(200);
        let link = format!(
            "rate = \"2mbit\"\ndelay = \"{}us\"\nloss = {loss}\ndropper = {{ kind = \"drop-tail\", limit = \"{limit}p\" }}",
            rng.below(20_000)
        );
        let source = match rng.below(2) {
            0 => "{ kind = \"poisson\", rate = \"1500kbit\" }",
            _ => "{ kind = \"on-off\", rate = \"1mbit\", peak = \"10mbit\", burst = 5 }",
        };
        let text = chain(hops, &link, "500ms", &flow(hops, size, source));
        let world = run(&text, seed);
        let (counts, record) = (packets(&world), &world.records()[0]);
        let k = u64::from(cells(size));
        assert!(counts.received.packets <= counts.sent.packets, "{text}");
        let accounted = counts.received.packets * k + counts.discarded_cells;
        assert!(accounted <= record.received.0, "{text}");
        if loss == 0.0 && record.dropped == 0 {
            assert!(record.received.0 - accounted < k && counts.discarded_cells == 0, "{text}");
        }
        delivered += counts.received.packets;
        discarded += counts.discarded_cells;
    }
    assert!(delivered > 200 && discarded > 200, "{delivered} {discarded}");
}

/// A connection alone on a link uses all of it, less the overhead of cells, padding and headers.
#[test]
fn tcp_over_cells_fills_its_link() {
    let connection = "[[connection]]\nname = \"c\"\nfrom = \"s0\"\nto = \"s1\"\nsize = \"1500B\"\n\
                      adaptation = \"aal5\"\ntransport = { kind = \"tcp\", stack = \"rfc\", receiver_window = \"60kB\" }\n";
    let link = "rate = \"10mbit\"\ndelay = \"2ms\"\ndropper = { kind = \"drop-tail\", limit = \"4000p\" }";
    let world = run(&chain(1, link, "2s", connection), 1);
    let delivered = world.counts(0).delivered.unwrap() as f64 * 8.0 / 2.0;
    let possible = 10e6 * 1460.0 / f64::from(cells(1500) * CELL);
    assert!(delivered > 0.96 * possible && delivered <= possible, "{delivered} of {possible}");
    let [data, answers] = [0, 1].map(|flow| world.packets_of_cells(flow).unwrap());
    assert!(data.received.packets > 1000 && answers.received.packets * 3 > data.received.packets);
    assert_eq!((data.discarded_cells, answers.discarded_cells), (0, 0));
}

/// A host that prepares one packet after the other sends one in the time of its cells and of the
/// preparation, with any number of packets waiting, and also where the first port drops the last
/// cell of a packet.
#[test]
fn a_host_prepares_a_packet_when_the_one_before_has_left() {
    let size = 9188;
    let cells_at_first = Span::from_micros(10 * u64::from(cells(size)));
    for (preparation, dropper) in
        [(0, ""), (100, ""), (1000, ""), (1000, "dropper = { kind = \"drop-tail\", limit = \"100p\" }")]
    {
        let link = format!("rate = \"42400kbit\"\ndelay = \"10us\"\n{dropper}");
        let connection = format!(
            "[[connection]]\nname = \"c\"\nfrom = \"s0\"\nto = \"s1\"\nsize = \"{size}B\"\nadaptation = \"aal5\"\n\
             preparation = \"{preparation}us\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", receiver_window = \"40kB\" }}\n"
        );
        let world = run(&chain(1, &link, "500ms", &connection), 1);
        let counts = packets(&world);
        let time = cells_at_first + Span::from_micros(preparation);
        let most = Span::from_millis(500).ticks() / time.ticks();
        assert!(counts.received.packets <= most, "{preparation} us: {counts:?}");
        if dropper.is_empty() {
            // In the long run no other time is spent.
            assert!(counts.received.packets * 100 >= most * 95, "{preparation} us: {counts:?} of {most}");
        } else {
            // No packet is complete, and the host continues.
            assert!(counts.received.packets == 0 && counts.sent.packets > 3, "{counts:?}");
        }
    }
}
