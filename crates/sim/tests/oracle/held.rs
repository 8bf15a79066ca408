//! Fair queues whose flows and classes are held by ceilings, over and over, on a full link.

use crate::case;
use crate::generate::Drawn;
use crate::long;
use std::fmt::Write;
use tidegate_core::rng::Rng;

const KINDS: [&str; 4] = ["wfq", "wf2q-plus", "scfq", "sfq"];
const LINK: u64 = 1_000_000;

fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

/// A reservation, and a ceiling above it for most.
fn terms(rng: &mut Rng, members: u64) -> String {
    let reserve = LINK / members * pick(rng, &[1, 4, 9]) / 10;
    let ceiling = (reserve as f64 * (1.0 + 3.0 * rng.unit())) as u64;
    let ceiling = if rng.chance(0.8) { format!("ceiling = \"{ceiling}bit\"\n") } else { String::new() };
    format!("reserve = \"{reserve}bit\"\n{ceiling}")
}

/// One link, and two to five flows that send what the link cannot carry; some in classes.
fn drawn(rng: &mut Rng) -> Drawn {
    let mut text = format!(
        "version = 1\nduration = \"400ms\"\nport = {{ scheduler = \"{}\" }}\n\
         node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"s\" }}, {{ name = \"d\", kind = \"host\" }}]\n\
         link = [{{ from = \"h\", to = \"s\", rate = \"1gbit\" }}, {{ from = \"s\", to = \"d\", rate = \"{LINK}bit\" }}]\n",
        pick(rng, &KINDS)
    );
    let members = 2 + rng.below(4);
    for member in 0..members {
        let own = terms(rng, members);
        let flows = if rng.chance(0.4) { 1 + rng.below(2) } else { 0 };
        if flows > 0 {
            let scheduler = pick(rng, &["fifo", "wfq", "wf2q-plus", "strict-priority"]);
            writeln!(text, "[[class]]\nname = \"c{member}\"\nscheduler = \"{scheduler}\"\n{own}").unwrap();
        }
        for nth in 0..flows.max(1) {
            let own = if flows > 0 { terms(rng, 3 * members) } else { own.clone() };
            let class = if flows > 0 { format!("class = \"c{member}\"\n") } else { String::new() };
            let rate = pick(rng, &[60_000, 300_000, 1_000_000]);
            let kind = pick(rng, &["poisson", "cbr"]);
            let (size, start) = (pick(rng, &[100, 250, 1_000, 1_500]), rng.below(100));
            writeln!(
                text,
                "[[flow]]\nname = \"f{member}-{nth}\"\nfrom = \"h\"\nto = \"d\"\nsize = \"{size}B\"\n\
                 start = \"{start}ms\"\nsource = {{ kind = \"{kind}\", rate = \"{rate}bit\" }}\n{class}{own}"
            )
            .unwrap();
        }
    }
    Drawn { text, files: Vec::new() }
}

#[test]
fn what_ceilings_hold_returns_as_the_model_says() {
    let (mut starts, mut scenarios) = (0, 0);
    let seeds = if long::is_long() { 5_000 } else { 500 };
    for seed in 0..seeds {
        let drawn = drawn(&mut Rng::named(seed, "held"));
        match case::check(&drawn) {
            Ok(checked) => {
                let checked = checked.unwrap_or_default();
                (starts, scenarios) = (starts + checked.model.starts, scenarios + checked.scenarios);
            }
            Err(what) => panic!("seed {seed}: {what}\n{}", drawn.text),
        }
    }
    assert!(scenarios > seeds / 2 && starts > 100 * scenarios, "{scenarios} scenarios, {starts} starts");
}
