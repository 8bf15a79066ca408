//! Random multicast trees with losses at every place: counts agree with the log, and shares are
//! between 0 and 1.

use super::credit;
use super::{folder, ledger, network, run};
use std::fmt::Write;
use tidegate_core::rng::Rng;
use tidegate_sim::results::{Table, Values, tables};

const TREES: u64 = 200;

/// A tree of 2 to 9 nodes with a multicast flow from one end to two or more, and another flow that
/// fills queues. Links lose packets, queues and shared buffers drop them, and credit and envelopes
/// hold them up.
fn tree(rng: &mut Rng) -> String {
    let nodes = 3 + rng.below(7);
    let mut text = String::from("version = 1\nduration = \"400ms\"\n");
    if rng.chance(0.3) {
        text.push_str("warmup = \"100ms\"\n");
    }
    if rng.chance(0.4) {
        writeln!(text, "switch = {{ buffer = \"{}p\" }}", 2 + rng.below(40)).unwrap();
    }
    if rng.chance(0.4) {
        writeln!(
            text,
            "port = {{ dropper = {{ kind = \"drop-tail\", limit = \"{}p\" }} }}",
            1 + rng.below(9)
        )
        .unwrap();
    }
    for node in 0..nodes {
        writeln!(text, "[[node]]\nname = \"n{node}\"").unwrap();
    }
    let mut parents = vec![0];
    for node in 1..nodes {
        let parent = if rng.chance(0.4) { node - 1 } else { rng.below(node) };
        parents.push(parent);
        let rate = 200 + rng.below(1500);
        write!(text, "[[link]]\nfrom = \"n{parent}\"\nto = \"n{node}\"\nrate = \"{rate}kbit\"\n").unwrap();
        writeln!(text, "delay = \"{}us\"", rng.below(9000)).unwrap();
        if rng.chance(0.5) {
            writeln!(text, "loss = {}", ["0.1", "0.5", "0.9", "1"][rng.below(4) as usize]).unwrap();
        }
        credit::of_link(rng, &mut text);
    }
    let is_leaf = |node: &u64| !parents[1..].contains(node);
    let mut leaves: Vec<String> = (1..nodes).filter(is_leaf).map(|node| format!("\"n{node}\"")).collect();
    // From the root, where the tree may fork at once, or from one of the leaves.
    let from = if leaves.len() > 2 && rng.chance(0.5) { leaves.remove(0) } else { "\"n0\"".into() };
    let envelope = match rng.chance(0.25) {
        true => "envelope = { rate = \"150kbit\", burst = \"1500B\", queue = \"9p\" }\n",
        false => "",
    };
    let rate = 50 + rng.below(600);
    write!(
        text,
        "[[flow]]\nname = \"m\"\nfrom = {from}\nto = [{}]\nsize = \"500B\"\n{envelope}\
         source = {{ kind = \"poisson\", rate = \"{rate}kbit\" }}\n",
        leaves.join(", ")
    )
    .unwrap();
    let to = leaves.first().cloned().unwrap_or_else(|| "\"n1\"".into());
    write!(
        text,
        "[[flow]]\nname = \"x\"\nfrom = \"n0\"\nto = {to}\nsize = \"700B\"\nsource = {{ kind = \"poisson\", rate = \
         \"{}kbit\" }}\n",
        rng.below(900) + 1
    )
    .unwrap();
    text
}

/// A column of whole numbers.
pub fn whole<'t>(table: &'t Table, name: &str) -> &'t [u64] {
    match table.column(name) {
        Some(Values::Whole(values)) => values,
        _ => panic!("`{name}` is no column of whole numbers"),
    }
}

#[test]
fn copies_add_up_in_random_multicast_trees() {
    let folder = folder("multicast-trees");
    let (mut trees, mut before, mut behind, mut over) = (0, 0, 0, 0);
    for seed in 0.. {
        if trees == TREES {
            break;
        }
        let text = tree(&mut Rng::named(seed, "multicast trees"));
        let Some(network) = network(&text, &folder, &[]) else { continue };
        let world = run(&network, seed, u64::MAX).unwrap();
        let books =
            ledger::check(&network, &world).unwrap_or_else(|what| panic!("seed {seed}: {what}\n{text}"));
        if network.flows[0].destinations() < 2 {
            continue;
        }
        trees += 1;
        let of = &books[0];
        before += u64::from(of.missed > of.dropped + of.lost);
        behind += u64::from(of.dropped + of.lost > 0 && of.received > 0);
        over += u64::from(of.dropped + of.lost > of.sent);
        for table in tables(&network, &world, 0, seed) {
            if ["flows", "groups"].contains(&table.record.name) {
                let pairs = whole(&table, "missed_copies").iter().zip(whole(&table, "due_copies"));
                assert!({ pairs }.all(|(missed, due)| missed <= due), "seed {seed}\n{text}");
                let missed: u64 = whole(&table, "missed_copies").iter().sum();
                assert_eq!(missed, books.iter().map(|books| books.missed).sum::<u64>());
            }
        }
    }
    assert!(before > TREES / 5 && behind > TREES / 2 && over > TREES / 20, "{before} {behind} {over}");
}
