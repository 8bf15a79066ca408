//! Credit on small networks: rates, memory, back-pressure, stalls.

use crate::{check, credit_of, network, run};
use std::fmt::Write;
use tidegate_core::credit::params::CreditTerms;
use tidegate_core::credit::sizing::{Exact, Loop};
use tidegate_core::rng::Rng;
use tidegate_core::units::Span;

/// One cell takes 1 ms on a link of 1 Mbit/s.
const CELL: u64 = 125;

/// A row of switches s0, s1 and so on with a link from each to the next and one back, of 1 Mbit/s
/// and `delay` ms each. The first link has credit, and `flows` flows go from end to end.
struct Row {
    links: u64,
    delay: u64,
    credit: String,
    /// Further keys of the first link, and of its reverse direction.
    first: &'static str,
    back: &'static str,
    flows: u64,
    source: &'static str,
    seconds: u64,
}

impl Default for Row {
    fn default() -> Row {
        let source = "{ kind = \"greedy\", window = 3 }";
        Row { links: 2, delay: 10, credit: String::new(), first: "", back: "", flows: 1, source, seconds: 20 }
    }
}

impl Row {
    fn text(&self) -> String {
        let Row { links, delay, credit, first, back, flows, source, seconds } = self;
        let mut text = format!(
            "version = 1\nduration = \"{seconds}s\"\nwarmup = \"2s\"\nport = {{ scheduler = \"round-robin\" }}\n"
        );
        (0..=*links).for_each(|node| writeln!(text, "[[node]]\nname = \"s{node}\"").unwrap());
        for link in 0..*links {
            let (to, delay) = (link + 1, if link == 0 { *delay } else { 0 });
            let wire = format!("rate = \"1mbit\"\nduplex = false\ndelay = \"{delay}ms\"\n");
            let credit =
                if link == 0 { format!("credit = {{ {credit} }}\n{first}\n") } else { String::new() };
            let back = if link == 0 { back } else { "" };
            write!(text, "[[link]]\nfrom = \"s{link}\"\nto = \"s{to}\"\n{wire}{credit}").unwrap();
            writeln!(text, "[[link]]\nfrom = \"s{to}\"\nto = \"s{link}\"\n{wire}{back}").unwrap();
        }
        for flow in 0..*flows {
            write!(
                text,
                "[[flow]]\nname = \"f{flow}\"\nfrom = \"s0\"\nto = \"s{links}\"\nsize = \"{CELL}B\"\nsource = {source}\n"
            )
            .unwrap();
        }
        text
    }
}

/// Cells of each flow a second that were received.
fn rates(row: &Row) -> Vec<f64> {
    let network = network(&row.text());
    let world = run(&network, 1);
    check(&network, &world, &row.text());
    let measured = world.measured().as_secs_f64();
    world.records().iter().map(|record| record.received.0 as f64 / measured).collect()
}

/// Calculated rates of a link, in cells a second: RTT is the propagation both ways, the cell at the
/// next link and the credit cell.
fn calculated(row: &Row, buf_alloc: u64, n2: u64) -> (f64, f64) {
    let rtt = Exact::from_integer(u128::from(2 * row.delay + 2));
    let share = Loop::new(rtt, n2).unwrap().share(buf_alloc, row.flows).unwrap();
    let cells = |share: Exact| *share.numer() as f64 / *share.denom() as f64 * 1000.0;
    (cells(share.least), cells(share.most))
}

#[test]
fn equation_2_holds_for_one_vc_and_bounds_several() {
    let mut rng = Rng::named(1, "credit-links");
    let (mut exact, mut below) = (0, 0);
    let cases = if crate::long::is_long() { 400 } else { 40 };
    for _ in 0..cases {
        let n2 = 1 + rng.below(8);
        let delay = rng.below(20);
        let buf_alloc = n2 + rng.below(2 * delay + 2 * n2 + 3);
        let credit = format!("buffer = {buf_alloc}, n2 = {n2}");
        // A batch of credit that is under way at either end of 20 s is less than 1 % of the cells.
        let row =
            Row { delay, credit, flows: [1, 1, 2, 5][rng.below(4) as usize], seconds: 22, ..Row::default() };
        let (least, most) = calculated(&row, buf_alloc, n2);
        for rate in rates(&row) {
            if row.flows == 1 {
                assert!((rate / least - 1.0).abs() < 0.01, "{rate} beside {least}: {}", row.text());
                exact += 1;
            }
            // Within 5 % of the calculated rates.
            assert!(
                (0.95 * least..1.05 * most).contains(&rate),
                "{rate} in {least} to {most}: {}",
                row.text()
            );
            below += u32::from(most < 999.0);
        }
    }
    assert!(exact > cases / 4 && below > cases / 4, "{exact} {below}");
}

#[test]
fn the_default_buffer_is_enough_for_the_whole_link() {
    for delay in [0, 1, 30] {
        let row = Row { delay, ..Row::default() };
        let plan = credit_of(&network(&row.text()), 0).unwrap().plan;
        assert!((rates(&row)[0] - 1000.0).abs() < 2.0);
        // A buffer smaller by a tenth of the RTT does not suffice.
        let CreditTerms::Static { buf_alloc, n2 } = plan.terms else { unreachable!() };
        assert_eq!(plan.rtt, Span::from_millis(2 * delay + 2));
        let credit = format!("buffer = {}, n2 = {n2}", u64::from(buf_alloc) - (2 * delay + 2).div_ceil(10));
        assert!(rates(&Row { delay, credit, ..Row::default() })[0] < 999.0);
    }
}

/// Total cells a second of `flows` VCs with a buffer of RTT and `batches` times N2, of which 30 %
/// of the credit cells are lost, beside as many where none is.
fn with_lost_credit(flows: u64, batches: u64, repeats: u64) -> (f64, f64) {
    let (rtt, n2) = (22, 8);
    let buffer = rtt + batches * n2;
    let credit = format!("buffer = {buffer}, n2 = {n2}, repeats = {repeats}, check = \"{rtt}ms\"");
    let total = |back| rates(&Row { credit: credit.clone(), back, flows, ..Row::default() }).iter().sum();
    (total("loss = 0.3"), total(""))
}

#[test]
fn lost_credit_cells_cost_little_when_the_buffer_has_room_for_more_batches() {
    // A VC loses a batch's time when two records in a row are lost, and another with each one more:
    // on average 0.3²/0.7 of the time for 1/0.7 batches, unless a check repairs the loss earlier.
    for (flows, batches, repeats, least) in
        [(1, 2, 0, 0.88), (1, 3, 0, 0.95), (4, 2, 0, 0.95), (1, 2, 1, 0.97), (4, 2, 1, 0.98)]
    {
        let (lossy, lossless) = with_lost_credit(flows, batches, repeats);
        assert!(lossy > least * lossless, "{flows} {batches} {repeats}: {lossy} beside {lossless}");
    }
    // With a buffer for one batch each lost credit cell waits for a check.
    let rate = |back| rates(&Row { credit: "buffer = 8, n2 = 8".into(), back, ..Row::default() })[0];
    let (lossy, lossless) = (rate("loss = 0.3"), rate(""));
    assert!(lossy < 0.5 * lossless, "{lossy} beside {lossless}");
}

/// The share of the link that a VC alone has, when each record is lost with probability p: a cell
/// is sent after the one before it, and when the first record has come that covers it.
fn share_with_lost_records(rtt: usize, n2: usize, buffer: usize, p: f64, cells: usize) -> f64 {
    let mut rng = Rng::named(1, "lost-records");
    let lost: Vec<bool> = (0..=cells / n2).map(|_| rng.below(1000) < (p * 1000.0) as u64).collect();
    let mut sent = vec![0; cells + 1];
    for cell in 1..=cells {
        sent[cell] = sent[cell - 1] + 1;
        if cell > buffer {
            let mut record = (cell - buffer).div_ceil(n2);
            while lost[record] {
                record += 1;
            }
            sent[cell] = sent[cell].max(sent[record * n2] + rtt + 1);
        }
    }
    cells as f64 / sent[cells] as f64
}

#[test]
fn lost_records_cost_what_waiting_for_the_next_ones_costs() {
    // RTT + (K + 1) N2 cells; records are far from all being lost at once.
    let (rtt, n2) = (22, 2);
    for (p, batches) in [(0.3, 1), (0.3, 2), (0.3, 3), (0.1, 2), (0.2, 1)] {
        let buffer = rtt + batches * n2;
        let expected = share_with_lost_records(rtt, n2, buffer, p, 400_000);
        // The waits counted one by one add up to no less than the real wait: one wait makes room
        // for those that follow within an RTT.
        let least = 1.0 / (1.0 + p.powi(batches as i32));
        let with_longer_delay = share_with_lost_records(10 * rtt, n2, 10 * rtt + batches * n2, p, 400_000);
        assert!(expected > least - 0.003 && with_longer_delay > expected, "{p} {batches}");
        let credit = format!("buffer = {buffer}, n2 = {n2}, check = \"0s\"");
        let back = match p {
            0.1 => "loss = 0.1",
            0.2 => "loss = 0.2",
            _ => "loss = 0.3",
        };
        let share = rates(&Row { credit, back, seconds: 42, ..Row::default() })[0] / 1000.0;
        assert!((share - expected).abs() < 0.012, "loss {p}, {batches} batches: {share} for {expected}");
    }
}

#[test]
fn a_stall_is_found_and_named() {
    let stalls = |first: &'static str, back: &'static str, credit: &str| {
        let row = Row { first, back, credit: credit.into(), flows: 4, seconds: 20, ..Row::default() };
        let network = network(&row.text());
        let world = run(&network, 1);
        check(&network, &world, &row.text());
        (world.stalls(), world.credit_links()[0].plan)
    };
    // Buf_Alloc = N2: the first lost credit cell was the only one. The other case is lost data
    // cells without checks.
    for (first, back, credit) in [
        ("", "loss = 0.1", "buffer = 4, n2 = 4, check = \"0s\""),
        ("loss = 0.1", "", "buffer = 12, n2 = 2, check = \"0s\""),
        ("", "loss = 0.1", "buffer = 12, n2 = 2, protocol = \"incremental\""),
    ] {
        let (found, plan) = stalls(first, back, credit);
        assert_eq!(found.len(), 4, "{credit}");
        for (number, stall) in found.iter().enumerate() {
            assert_eq!((stall.until, stall.stall.vc.0 as usize), (None, number));
            let lasts = stall.stall.round_trips * plan.rtt.ticks();
            assert!(lasts > 100 * plan.rtt.ticks());
            let words = format!("VC {number} has had no credit for {} RTT", stall.stall.round_trips);
            assert_eq!(stall.stall.to_string(), words);
        }
    }
    // With checks no stall lasts.
    for (first, back) in [("", "loss = 0.1"), ("loss = 0.1", "")] {
        assert!(stalls(first, back, "buffer = 4, n2 = 4").0.is_empty());
    }
    // A VC that is held back downstream has not stalled.
    let mut text = Row { flows: 2, seconds: 20, credit: "buffer = 8".into(), ..Row::default() }.text();
    text = text.replacen(
        "from = \"s1\"\nto = \"s2\"\nrate = \"1mbit\"",
        "from = \"s1\"\nto = \"s2\"\nrate = \"1kbit\"",
        1,
    );
    assert!(run(&network(&text), 1).stalls().is_empty());
}

#[test]
fn incremental_credits_give_the_same_departures_without_loss() {
    let fingerprint = |protocol: &str, back| {
        let credit = format!("buffer = 14, n2 = 3, protocol = \"{protocol}\", check = \"0s\"");
        let source = "{ kind = \"poisson\", rate = \"300kbit\" }";
        let row = Row { credit, back, flows: 4, source, seconds: 10, ..Row::default() };
        run(&network(&row.text()), 1).fingerprint()
    };
    assert_eq!(fingerprint("cup", ""), fingerprint("incremental", ""));
    assert_ne!(fingerprint("cup", "loss = 0.05"), fingerprint("incremental", "loss = 0.05"));
}

#[test]
fn a_credit_cell_that_comes_twice_counts_once_except_with_incremental_credits() {
    let ran = |protocol: &str, duplicate: &str| {
        let credit = format!(
            "buffer = 14, n2 = 3, protocol = \"{protocol}\", check = \"0s\", duplicate = {duplicate}"
        );
        let source = "{ kind = \"greedy\", window = 3 }";
        // The second link is the slow one, so that the receiver's memory fills.
        let text = Row { credit, flows: 4, source, seconds: 10, ..Row::default() }.text();
        let text = text.replacen(
            "from = \"s1\"\nto = \"s2\"\nrate = \"1mbit\"",
            "from = \"s1\"\nto = \"s2\"\nrate = \"300kbit\"",
            1,
        );
        let world = run(&network(&text), 1);
        let link = world.credit_links()[0].clone();
        (world.fingerprint(), link.duplicated_cells, link.dropped)
    };
    let (once, _, _) = ran("cup", "0.0");
    let (twice, duplicated, dropped) = ran("cup", "0.4");
    assert!(once == twice && duplicated > 100 && dropped == 0, "{duplicated} {dropped}");
    // Credit that is added twice overruns the receiver, which drops the packets that do not fit.
    let (_, duplicated, dropped) = ran("incremental", "0.4");
    assert!(duplicated > 100 && dropped > 100, "{duplicated} {dropped}");
}

/// Two flows over a first link, one of which goes on over a link of a tenth of its rate. Returns
/// the packets a second of each that were received, and the packets that wait at the host.
fn fork(per: &str) -> (f64, f64, u64) {
    let credit = format!("credit = {{ buffer = 20, n2 = 2, per = \"{per}\" }}");
    let mut text = "version = 1\nduration = \"2s\"\n".to_owned();
    write!(text, "port = {{ scheduler = \"round-robin\", {credit} }}\nhost = {{ {credit} }}\n").unwrap();
    for (from, to, rate) in
        [("h", "s1", 10), ("s1", "s2", 10), ("s2", "s3", 1), ("s3", "far", 10), ("s2", "near", 10)]
    {
        write!(
            text,
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}mbit\"\ndelay = \"100us\"\n"
        )
        .unwrap();
    }
    for node in ["s1", "s2", "s3"] {
        write!(text, "[[node]]\nname = \"{node}\"\n").unwrap();
    }
    for node in ["h", "far", "near"] {
        write!(text, "[[node]]\nname = \"{node}\"\nkind = \"host\"\n").unwrap();
    }
    for to in ["far", "near"] {
        let source = "{ kind = \"cbr\", rate = \"4mbit\" }";
        write!(
            text,
            "[[flow]]\nname = \"{to}\"\nfrom = \"h\"\nto = \"{to}\"\nsize = \"500B\"\nsource = {source}\n"
        )
        .unwrap();
    }
    let network = network(&text);
    let world = run(&network, 1);
    check(&network, &world, &text);
    let rate = |flow: usize| world.records()[flow].received.0 as f64 / world.measured().as_secs_f64();
    let longest = world.link(0).stats.unwrap().longest;
    (rate(0), rate(1), longest)
}

#[test]
fn back_pressure_reaches_the_host_and_blocks_nobody_else() {
    // 1 Mbit/s and 4 Mbit/s, in packets of 4000 bits.
    let (far, near, waiting) = fork("flow");
    assert!((far - 250.0).abs() < 2.0 && (near - 1000.0).abs() < 2.0, "{far} {near}");
    // 500 of the slow flow's 2000 packets have left, and up to 60 are in the network.
    assert!(waiting > 1400, "{waiting}");
    // With one VC for all flows of a link the slow one holds the other back to its own rate.
    let (far, near, _) = fork("link");
    assert!((far - 250.0).abs() < 3.0 && near < 300.0, "{far} {near}");
}

#[test]
fn a_multicast_packet_is_stored_once_until_its_last_copy_has_left() {
    let mut text = "version = 1\nduration = \"4s\"\nport = { scheduler = \"round-robin\" }\n".to_owned();
    for node in ["a", "b", "fast", "slow"] {
        write!(text, "[[node]]\nname = \"{node}\"\n").unwrap();
    }
    text.push_str("[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\ncredit = { buffer = 10, n2 = 2 }\n");
    text.push_str("[[link]]\nfrom = \"b\"\nto = \"fast\"\nrate = \"1mbit\"\n");
    text.push_str("[[link]]\nfrom = \"b\"\nto = \"slow\"\nrate = \"100kbit\"\n");
    text.push_str("[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = [\"fast\", \"slow\"]\nsize = \"125B\"\n");
    text.push_str("source = { kind = \"cbr\", rate = \"500kbit\" }\n");
    let network = network(&text);
    let world = run(&network, 1);
    let [vc] = world.credit_vcs()[..] else { unreachable!() };
    // The slow copy holds the whole flow back, and both have the same rate.
    assert_eq!(vc.queue_max, 10);
    let received = world.records()[0].received.0;
    assert!((received as i64 - 2 * 400).abs() < 24, "{received}");
    assert_eq!(world.records()[0].dropped, 0);
}
