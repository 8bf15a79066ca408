//! Random networks whose links have credit.

use std::fmt::Write;
use tidegate_core::rng::Rng;

/// Faults allowed on links.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// True if links lose data and credit cells, and credit cells are duplicated.
    pub loses: bool,
    /// True if checks replace lost credit.
    pub checks: bool,
}

fn one<'a>(rng: &mut Rng, of: &[&'a str]) -> &'a str {
    of[rng.below(of.len() as u64) as usize]
}

/// The credit of one link.
fn credit(rng: &mut Rng, manner: Manner) -> String {
    let mut keys = vec!["cell = \"200B\"".to_owned()];
    let allocation = one(rng, &["static", "static", "sender", "receiver"]);
    keys.push(format!("allocation = \"{allocation}\""));
    let n2 = 1 + rng.below(5);
    match (allocation, rng.below(3)) {
        ("static", 0) => {}
        ("static", 1) => keys.push(format!("buffer = {}", 1 + rng.below(40))),
        ("static", _) => keys.push(format!("n2 = {n2}, buffer = {}", n2 + rng.below(30))),
        ("sender", 0) => keys.push(format!("n2 = {n2}, pool = {}", 60 + rng.below(60))),
        (_, 0) => keys.push(format!("pool = {}", 20 + rng.below(60))),
        (_, 1) => keys.push(format!("interval = \"{}ms\"", 80 + rng.below(80))),
        _ => {}
    }
    if rng.below(4) == 0 {
        keys.push("per = \"link\"".into());
    }
    if !manner.loses && rng.below(4) == 0 {
        keys.push("protocol = \"incremental\"".into());
        return format!("credit = {{ {} }}", keys.join(", "));
    }
    if rng.below(3) == 0 {
        keys.push(format!("repeats = {}", 1 + rng.below(3)));
    }
    if manner.loses && rng.below(2) == 0 {
        keys.push(format!("duplicate = {}", one(rng, &["0.01", "0.2", "0.6"])));
    }
    if !manner.checks {
        keys.push("check = \"0s\"".into());
    } else if manner.loses && rng.below(2) == 0 {
        keys.push(format!("check = \"{}ms\"", 5 + rng.below(60)));
    }
    format!("credit = {{ {} }}", keys.join(", "))
}

/// A tree of switches with hosts, and flows between hosts: 1 to 6 links on the way, all of them
/// with credit.
pub fn scenario(rng: &mut Rng, manner: Manner) -> String {
    let mut text = String::from("version = 1\nduration = \"600ms\"\n");
    let schedulers = ["round-robin", "round-robin", "fifo", "drr", "sfq"];
    let switches = 1 + rng.below(5);
    let hosts = 2 + rng.below(5);
    for switch in 0..switches {
        writeln!(text, "[[node]]\nname = \"s{switch}\"").unwrap();
    }
    for host in 0..hosts {
        writeln!(text, "[[node]]\nname = \"h{host}\"\nkind = \"host\"").unwrap();
    }
    let mut link = |rng: &mut Rng, from: String, to: String| {
        let (rate, delay) = (1 + rng.below(6), rng.below(4000));
        write!(
            text,
            "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}mbit\"\ndelay = \"{delay}us\"\n"
        )
        .unwrap();
        writeln!(text, "scheduler = \"{}\"\n{}", one(rng, &schedulers), credit(rng, manner)).unwrap();
        if manner.loses {
            writeln!(text, "loss = {}", one(rng, &["0", "0.01", "0.1", "0.4"])).unwrap();
        }
    };
    for switch in 1..switches {
        // A chain now and then, for long ways.
        let to = if rng.below(2) == 0 { switch - 1 } else { rng.below(switch) };
        link(rng, format!("s{to}"), format!("s{switch}"));
    }
    for host in 0..hosts {
        let switch = match host {
            0 => 0,
            1 => switches - 1,
            _ => rng.below(switches),
        };
        link(rng, format!("h{host}"), format!("s{switch}"));
    }
    for flow in 0..1 + rng.below(6) {
        // From the first switch to the last one now and then.
        let (from, to) = match rng.below(3) {
            0 => (0, 1),
            _ => {
                let from = rng.below(hosts);
                (from, (from + 1 + rng.below(hosts - 1)) % hosts)
            }
        };
        let source = match rng.below(4) {
            0 => format!("{{ kind = \"cbr\", rate = \"{}kbit\" }}", 200 + rng.below(4000)),
            1 => format!("{{ kind = \"poisson\", rate = \"{}kbit\" }}", 200 + rng.below(4000)),
            2 => format!(
                "{{ kind = \"on-off\", rate = \"800kbit\", peak = \"8mbit\", burst = {} }}",
                2 + rng.below(40)
            ),
            _ => "\"greedy\"".to_owned(),
        };
        let size = one(rng, &["\"200B\"", "\"1000B\"", "[\"200B\", \"700B\", \"1500B\"]"]);
        let (start, stop) = (rng.below(150), 250 + rng.below(350));
        write!(
            text,
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"h{from}\"\nto = \"h{to}\"\nsize = {size}\nsource = {source}\n\
             start = \"{start}ms\"\nstop = \"{stop}ms\"\n"
        )
        .unwrap();
    }
    text
}

/// Variant of [`scenario`] in which the VCs of all links share pools at output ports.
pub fn pooled(rng: &mut Rng, manner: Manner) -> String {
    let pool = if rng.below(2) == 0 { format!(", pool = {}", 20 + rng.below(60)) } else { String::new() };
    let credit = format!("allocation = \"receiver\", pool_per = \"output\"{pool}");
    let mut text = String::new();
    for line in scenario(rng, manner).lines() {
        if line.starts_with("credit = ") {
            let repeats = rng.below(3);
            writeln!(text, "credit = {{ cell = \"200B\", {credit}, repeats = {repeats} }}").unwrap();
        } else {
            writeln!(text, "{line}").unwrap();
        }
    }
    text
}

/// Variant of [`scenario`] that makes credit cells late or lets them be lost: traces in place of
/// rates, credit cells of other sizes, incremental credits and links without checks; and the files
/// of opportunities. Many of these networks are refused.
pub fn unsure(rng: &mut Rng) -> (String, Vec<(String, String)>) {
    let manner = Manner { loses: rng.below(2) == 0, checks: rng.below(2) == 0 };
    let (mut text, mut files) = (String::new(), Vec::new());
    for line in scenario(rng, manner).lines() {
        let mut line = line.to_owned();
        if line.starts_with("rate = ") && rng.below(5) == 0 {
            let name = format!("link{}.trace", files.len());
            line = format!("trace = \"{name}\"");
            let mut at = 0;
            let mut opportunities = String::new();
            for _ in 0..40 {
                at += rng.below(3) * rng.below(3) * rng.below(8);
                writeln!(opportunities, "{at}").unwrap();
            }
            files.push((name, format!("{opportunities}{}\n", at + 1)));
        }
        if line.starts_with("credit = ") {
            let size = one(rng, &["53B", "200B", "1500B"]);
            line = line.replace("cell = \"200B\"", &format!("cell = \"200B\", credit_cell = \"{size}\""));
            if rng.below(6) == 0 && !line.contains("duplicate") {
                line = line.replace(", check = \"0s\"", "");
                line = line.replace(" }", ", protocol = \"incremental\" }");
            }
            if rng.below(3) > 0 && !line.contains("buffer") {
                line = line.replace("\"static\"", "\"receiver\"");
            }
        }
        writeln!(text, "{line}").unwrap();
    }
    (text, files)
}
