//! Queueing disciplines with one line or one queue for each conversation.

use super::cake::{self, Cake};
use super::entry::Entry;
use super::plan::{Among, Queue, Side};
use super::policies;
use crate::error::FormatErrors;
use crate::suggest::brief;
use tidegate_core::classifier::rules::Direction;

/// Qdiscs that other ones may have at their classes, or that stand alone.
pub(super) const KINDS: [&str; 5] = ["fq_codel", "cake", "sfq", "pfifo", "bfifo"];

/// A discipline of which `tc` shows the options.
pub(super) struct Qdisc {
    pub(super) kind: String,
    pub(super) handle: String,
    pub(super) parent: Option<String>,
    pub(super) is_root: bool,
    pub(super) options: Entry,
    /// The size table; empty without one.
    pub(super) stab: Entry,
}

impl Qdisc {
    pub(super) fn read(mut entry: Entry) -> Result<Qdisc, FormatErrors> {
        entry.ignore(&["refcnt", "offloaded"]);
        let qdisc = Qdisc {
            kind: entry.needed_text("kind")?,
            handle: entry.needed_text("handle")?,
            parent: entry.text("parent")?,
            is_root: entry.flag("root")?,
            options: entry.inner("options")?,
            stab: entry.inner("stab")?,
        };
        entry.end()?;
        Ok(qdisc)
    }
}

/// A line of packets with a limit in packets: the kernel's does not count the packet that is being
/// sent, and a gate's does.
pub(super) fn fifo(limit: u64) -> Queue {
    let packets = limit.saturating_add(1);
    Queue { packets: Some(packets), ..line(&format!("{packets}p")) }
}

/// A line of packets with a limit in bytes.
pub(super) fn fifo_of_bytes(limit: u64) -> Queue {
    line(&format!("{}B", limit.max(1)))
}

fn line(limit: &str) -> Queue {
    let policy = Some(policies::line(limit));
    Queue {
        in_linux: policy.clone(),
        policy,
        among: Among::Nothing,
        divides: false,
        wash: false,
        packets: None,
    }
}

/// The queue of a class: one of [`KINDS`].
pub(super) fn read(qdisc: &mut Qdisc, side: &mut Side, direction: Direction) -> Result<Queue, FormatErrors> {
    let options = &mut qdisc.options;
    let queue = match qdisc.kind.as_str() {
        "fq_codel" => fq_codel(options, side)?,
        "sfq" => sfq(options, side)?,
        "pfifo" => fifo(options.count("limit")?.unwrap_or(1000)),
        "bfifo" => fifo_of_bytes(options.size("limit")?.unwrap_or(1_514_000)),
        "cake" => {
            let Cake { queue, bandwidth, tins, framing, memory } = cake::read(options, side, direction)?;
            if bandwidth.is_some() {
                side.loses(&options.at, "`bandwidth` of a class's queue is left out");
            }
            if framing.is_some_and(|framing| framing != side.framing) {
                side.loses(&options.at, "its overhead is left out: a gate has one for the whole line");
            }
            if memory.is_some() {
                side.loses(&options.at, "`memlimit` of a class's queue is left out");
            }
            if !tins.is_empty() {
                side.loses(
                    &options.at,
                    "the tins of a class's queue are left out: its marks make no difference",
                );
            }
            queue
        }
        kind => {
            return options.at.refuse_with(
                format!("a queue of `{}` is not translated", brief(kind)),
                format!("those of {} are", KINDS.join(", ")),
            );
        }
    };
    options.end()?;
    Ok(queue)
}

/// A time that the kernel keeps in steps of 1.024 µs and `tc` rounds down: 4999 µs are 5 ms.
fn microseconds(shown: u64) -> u64 {
    if (shown + 1).is_multiple_of(1000) { shown + 1 } else { shown }
}

fn fq_codel(options: &mut Entry, side: &mut Side) -> Result<Queue, FormatErrors> {
    let mut stated = Vec::new();
    for (key, default) in [("target", 5_000), ("interval", 100_000)] {
        match options.count(key)?.map(microseconds) {
            Some(time) if time != default => stated.push(format!("{key}={time}us")),
            _ => {}
        }
    }
    if let Some(quantum) = options.size("quantum")?.filter(|quantum| *quantum != 1514) {
        stated.push(format!("quantum={quantum}B"));
    }
    for (key, default) in [("limit", 10_240), ("flows", 1024), ("memory_limit", 32 << 20), ("drop_batch", 64)]
    {
        if let Some(found) = options.size(key)?.filter(|found| *found != default) {
            let why = match key {
                "flows" => "every conversation has a queue of its own",
                _ => "`[switch] buffer` limits all queues",
            };
            side.loses(&options.at, format!("`{key} {found}` is left out: {why}"));
        }
    }
    if !options.flag("ecn")? {
        side.loses(&options.at, "`noecn` is left out: packets that are ECN-capable are marked");
    }
    for key in ["ce_threshold", "ce_threshold_selector", "ce_threshold_mask"] {
        if let Some(value) = options.shown(key) {
            side.loses(&options.at, format!("`{key} {value}` is left out"));
        }
    }
    Ok(Queue {
        policy: Some(policies::fq_codel(&stated)),
        in_linux: Some(policies::fq_codel_in_linux(&stated)),
        among: Among::Conversations,
        divides: false,
        wash: false,
        packets: None,
    })
}

fn sfq(options: &mut Entry, side: &mut Side) -> Result<Queue, FormatErrors> {
    let quantum = options.size("quantum")?.unwrap_or(1514);
    let limit = options.count("limit")?.unwrap_or(127);
    side.loses(&options.at, format!("`limit {limit}` is left out: `[switch] buffer` limits all queues"));
    if let Some(period) = options.count("perturb")?.filter(|period| *period != 0) {
        let message =
            format!("`perturb {period}` is left out: every conversation has a queue, none by a hash");
        side.loses(&options.at, message);
    }
    // The number of queues, and the length of each.
    options.ignore(&["depth", "divisor", "headdrop", "flows"]);
    let red: Vec<String> = options.rest().map(str::to_owned).collect();
    for key in red {
        let value = options.shown(&key).unwrap_or_default();
        side.loses(&options.at, format!("`{} {value}` is left out", brief(&key)));
    }
    Ok(Queue {
        policy: Some(policies::sfq(quantum)),
        in_linux: Some(policies::sfq_in_linux(quantum)),
        among: Among::Conversations,
        divides: true,
        wash: false,
        packets: None,
    })
}
