//! The policy that a person means by a name that no policy has, or none of the wanted kind.

use crate::suggest::did_you_mean;
use tidegate_core::params::{PolicyRecord, Role};
use tidegate_core::policies;

/// Words of other tools for the policies of a port. Each has the tools whose word it is, and the
/// name to write for it. `docs/names.md` has the other direction: the words of other tools for a
/// policy.
const WORDS: &[(&str, &str, &str)] = &[
    ("adaptive-red", "ns-3", "policy = \"red\": its `max_p` does not adapt"),
    ("afq", "papers", "policy = \"scfq\" or \"wf2q-plus\""),
    ("ared", "ns-2 and ns-3", "policy = \"red\": its `max_p` does not adapt"),
    ("bfifo", "tc", "policy = \"fifo\", and the limit in bytes as the switch's `buffer`"),
    ("blackhole", "tc", "`loss = 1` at a link"),
    ("blue", "papers", "policy = \"pie\" or \"codel\", which also need no queue length to act"),
    (
        "cake",
        "tc",
        "policy = \"fq-codel\" and a `ceiling`; with a fair share for each host, a gate file's flow with each = \"host\" and within = \"5-tuple\"",
    ),
    ("cbq", "tc and ns-2", "a [[class]] with `reserve` and `ceiling` for each of its classes"),
    ("cbs", "tc", "a [[class]] with a `ceiling`: its bursts are not those of a credit"),
    ("cbwfq", "Cisco", "policy = \"wf2q-plus\", and a [[class]] with `reserve` for each of its classes"),
    ("choke", "tc", "policy = \"red\", or \"fq-codel\" against a flow that does not respond"),
    ("clsact", "tc", "`match` of a gate file's [[flow]]"),
    ("cobalt", "ns-3 and CAKE", "policy = \"codel\""),
    ("delay-edd", "papers", "policy = \"edf\""),
    ("drop-head", "tc", "policy = \"codel\", which drops at the head of its queue"),
    (
        "droptail",
        "ns-2, ns-3 and mahimahi",
        "policy = \"fifo\" with a switch's `buffer`, or \"drop-tail(limit=100p)\"",
    ),
    ("droptailqueue", "ns-3", "policy = \"fifo\" with a switch's `buffer`, or \"drop-tail(limit=100p)\""),
    ("dualq", "L4S", "policy = \"dualpi2\""),
    ("dwrr", "switches", "policy = \"drr\""),
    ("edd", "papers", "policy = \"edf\""),
    ("ets", "tc", "policy = \"strict-priority\" or \"drr\", or one of them in a [[class]]"),
    ("fair", "", "policy = \"wf2q-plus\" for shares by `reserve`, or \"fq-codel\" for equal ones"),
    ("fair-queue", "Cisco", "policy = \"wf2q-plus\" for shares by `reserve`, or \"fq-codel\" for equal ones"),
    ("fairq", "ALTQ", "policy = \"drr++\", or \"fq-codel\" for short queues too"),
    ("fcfs", "papers", "policy = \"fifo\""),
    (
        "fq",
        "tc and ns-2",
        "policy = \"drr++\", or \"fq-codel\" for short queues too: senders are paced by their transport",
    ),
    ("fq-cobalt", "ns-3", "policy = \"fq-codel\""),
    ("fq-red", "papers", "policy = \"drr++ + red(scope=flow)\""),
    ("gps", "papers", "policy = \"wf2q-plus\" or \"wfq\", which approximate it packet by packet"),
    ("gred", "tc", "policy = \"wred(…)\" with its thresholds, or \"rio(…)\" for two colours"),
    (
        "hfsc",
        "tc and ALTQ",
        "a [[class]] with `reserve` and `ceiling` for each of its classes, and policy = \"wf2q-plus\"",
    ),
    ("hhf", "tc", "policy = \"fq-codel\""),
    ("htb", "tc", "a [[class]] with `reserve` for its rate and `ceiling` for its ceil"),
    ("jobs", "ns-2", "policy = \"edf\" for delays, or \"wf2q-plus\" for rates"),
    ("llq", "Cisco", "a [[class]] with priority = 0 and a `ceiling` under policy = \"strict-priority\""),
    ("mdrr", "Cisco", "policy = \"drr\""),
    ("mq", "tc", "policy = \"fifo\": a port has one queue to its link"),
    ("mqprio", "tc", "policy = \"strict-priority\" and a `priority` of flows"),
    ("multiq", "tc", "policy = \"round-robin\""),
    ("netem", "tc", "`delay`, `loss`, `reorder` and `rate` of a link"),
    ("noqueue", "tc", "`buffer = \"1p\"` at the switch"),
    ("pf", "papers", "policy = \"fq-codel\": a link has no rate for each receiver"),
    ("pfifo", "tc", "policy = \"fifo\", and the limit in packets as the switch's `buffer`"),
    (
        "pfifo-fast",
        "tc",
        "policy = \"strict-priority\" with a `priority` of flows, or \"fifo\" where none is marked",
    ),
    ("pfifo-head-drop", "tc", "policy = \"codel\", which drops at the head of its queue"),
    ("pgps", "papers", "policy = \"wfq\""),
    ("pi", "ns-2", "policy = \"pie\""),
    ("police", "tc", "a `meter` and the `reserve` and `workahead` of its flows"),
    ("pq", "Cisco", "policy = \"strict-priority\" and a `priority` of flows"),
    ("prio", "tc and ns-3", "policy = \"strict-priority\" and a `priority` of flows"),
    ("priority", "", "policy = \"strict-priority\" and a `priority` of flows"),
    ("priq", "ALTQ", "policy = \"strict-priority\" and a `priority` of flows"),
    ("qfq", "tc", "policy = \"wf2q-plus\", which it approximates"),
    ("rem", "ns-2", "policy = \"pie\""),
    ("rr", "", "policy = \"round-robin\""),
    ("sfb", "tc", "policy = \"pie\", or \"fq-codel\" against a flow that does not respond"),
    ("shaper", "", "a `ceiling` at a link, a class or a flow"),
    ("skbprio", "tc", "policy = \"strict-priority\" and a `priority` of flows"),
    ("sp", "ns.py", "policy = \"strict-priority\" and a `priority` of flows"),
    ("spq", "switches", "policy = \"strict-priority\" and a `priority` of flows"),
    ("srr", "switches", "policy = \"drr\""),
    ("static-priority", "papers", "policy = \"strict-priority\" and a `priority` of flows"),
    (
        "stochastic-fairness-queueing",
        "tc",
        "policy = \"drr++\", without a hash, or \"fq-codel\" for short queues too",
    ),
    ("tail-drop", "", "policy = \"fifo\" with a switch's `buffer`, or \"drop-tail(limit=100p)\""),
    ("taildrop", "", "policy = \"fifo\" with a switch's `buffer`, or \"drop-tail(limit=100p)\""),
    ("taprio", "tc", "policy = \"tdm\""),
    ("tbf", "tc", "a `ceiling` at a link, a class or a flow"),
    ("token-bucket-filter", "tc", "a `ceiling` at a link, a class or a flow"),
    ("vc", "ns.py", "policy = \"virtual-clock\""),
    ("wf2q", "papers", "policy = \"wf2q-plus\""),
    ("wf2q+", "dummynet", "policy = \"wf2q-plus\""),
    ("wrr", "switches", "policy = \"drr\""),
];

/// Every policy that has a name.
fn records() -> impl Iterator<Item = &'static PolicyRecord> {
    policies::built_in().chain(policies::registered())
}

/// The key that takes the policies of a role.
fn key_of(role: Role) -> &'static str {
    match role {
        Role::Composite(_) => "policy",
        Role::Scheduler { .. } => "scheduler",
        Role::Dropper => "dropper",
        Role::Meter { .. } => "meter",
        Role::Detector => "detector",
        Role::Shaper => "envelope",
        Role::Stage => "policy",
        Role::Source => "source",
        Role::Transport { .. } => "transport",
        Role::CongestionControl => "congestion",
        Role::RateControl => "rate_control",
        Role::Coupling => "vsvd",
    }
}

/// The help for `name`, which is none of `options` for a key that takes a `what`.
pub(crate) fn help<'c>(
    what: &str,
    name: &str,
    options: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<String> {
    of_another_kind(what, name).or_else(|| of_another_tool(name)).or_else(|| did_you_mean(name, options))
}

/// The help for a policy of another kind than is wanted.
fn of_another_kind(what: &str, name: &str) -> Option<String> {
    let record = records().find(|record| record.name == name)?;
    let (key, noun) = (key_of(record.role), record.role.name());
    Some(match record.role {
        Role::Composite(consists) => {
            format!(
                "`{name}` is `{consists}`: write policy = \"{name}\" in place of a scheduler and a dropper"
            )
        }
        Role::Dropper if what == "scheduler" => format!(
            "`{name}` is a dropper: policy = \"{name}\" is FIFO with it, and dropper = \"{name}\" puts it under \
             another scheduler"
        ),
        Role::Stage => format!("`{name}` is a stage: name it as the policy of a [[stage]]"),
        _ => format!("`{name}` is a {noun}: write {key} = \"{name}\""),
    })
}

/// The help for a word of another tool.
fn of_another_tool(name: &str) -> Option<String> {
    let folded = name.to_lowercase().replace('_', "-");
    if let Some((_, tools, write)) = WORDS.iter().find(|(word, ..)| *word == folded) {
        let whose = if tools.is_empty() { String::new() } else { format!("`{name}` is a word of {tools}: ") };
        return Some(format!("{whose}write {write}"));
    }
    // A class of ns-3: the policy's name in one word.
    let class = folded.strip_suffix("queuedisc")?;
    let is_same = |known: &&str| known.replace('-', "") == class;
    match records().map(|record| record.name).find(is_same) {
        Some(known) => Some(format!("`{name}` is a word of ns-3: write policy = \"{known}\"")),
        None => WORDS
            .iter()
            .find(|(word, ..)| is_same(word))
            .map(|(.., write)| format!("`{name}` is a word of ns-3: write {write}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_word_of_another_tool_is_no_name_here_and_stands_once() {
        let words: BTreeSet<&str> = WORDS.iter().map(|(word, ..)| *word).collect();
        assert_eq!(words.len(), WORDS.len());
        assert!(WORDS.is_sorted());
        let names: BTreeSet<&str> = policies::built_in().map(|record| record.name).collect();
        assert_eq!(words.intersection(&names).collect::<Vec<_>>(), Vec::<&&str>::new());
    }

    /// A policy that an answer recommends can be read.
    #[test]
    fn what_is_to_be_written_is_read() {
        let mut read = 0;
        for (word, _, write) in WORDS {
            let parts: Vec<&str> = write.split('"').collect();
            for pair in
                parts.chunks_exact(2).filter(|pair| pair[0].ends_with("policy = ") || pair[0] == " or ")
            {
                match crate::expression::parse(&pair[1].replace("(…)", "")) {
                    Ok(_) => read += 1,
                    // Its thresholds are left out.
                    Err(complaint) => assert!(complaint.message.contains("needs"), "{word}: {complaint}"),
                }
            }
        }
        assert!(read > 60, "{read}");
    }
}
