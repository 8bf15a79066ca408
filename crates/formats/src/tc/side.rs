//! One direction: the qdisc at the root, and what it needs.

use super::cake::{self, Cake, Tin, WHOLE};
use super::entry::{At, Entry};
use super::files::Shown;
use super::filters::Criteria;
use super::htb;
use super::plan::{Among, Class, Flow, Framing, Queue, Side};
use super::queue::{self, KINDS, Qdisc};
use crate::error::FormatErrors;
use crate::suggest::brief;
use tidegate_core::classifier::rules::Direction;

/// Rate of tins without a threshold, and of each host in the tin of all others, in bit/s.
const LEAST: u64 = 10_000;
const HOST: u64 = 100_000;
/// Packets that no flow takes have this part of the rate.
const UNMATCHED: u64 = 50;

pub(super) fn read(shown: Shown, direction: Direction) -> Result<Side, FormatErrors> {
    let mut side = Side::default();
    let qdiscs = shown.qdiscs.into_iter().map(Qdisc::read).collect::<Result<Vec<_>, _>>()?;
    let (mut roots, mut others): (Vec<Qdisc>, Vec<Qdisc>) =
        qdiscs.into_iter().partition(|qdisc| qdisc.is_root);
    let Some(mut root) = roots.pop() else {
        let stray = shown.classes.iter().chain(&shown.filters).next().map(|entry| &entry.at);
        let at = stray.or(others.first().map(|qdisc| &qdisc.options.at)).cloned();
        let at = at.unwrap_or(At { file: "tc".into(), name: "files".to_owned() });
        return at.refuse_with("no qdisc is at the root", "add the output of `tc -d -j qdisc show dev IF`");
    };
    if let Some(second) = roots.first() {
        return second.options.at.refuse("another qdisc is at the root, too");
    }
    others.retain(|qdisc| {
        let other_way = ["ingress", "clsact"].contains(&qdisc.kind.as_str());
        if other_way {
            side.loses(&qdisc.options.at, "it is left out: the other direction has files of its own");
        }
        !other_way
    });
    framing(&mut root.stab, &mut side)?;
    for qdisc in &others {
        if qdisc.stab.rest().next().is_some() {
            side.loses(&qdisc.options.at, "`stab` is left out: a gate has one overhead for the whole line");
        }
    }
    let at = root.options.at.clone();
    if !shown.filters.is_empty() && root.kind != "htb" {
        side.loses(&at, "its filters are left out: filters of HTB alone are read");
    }
    match root.kind.as_str() {
        "htb" => htb::read(&mut root, &mut others, shown.classes, shown.filters, &mut side, direction)?,
        "tbf" => tbf(&mut root, &mut others, &mut side, direction)?,
        "cake" => {
            let cake = cake::read(&mut root.options, &mut side, direction)?;
            root.options.end()?;
            shaped(cake, &at, &mut side, direction);
        }
        kind if KINDS.contains(&kind) => {
            let limit = if kind == "fq_codel" { root.options.take("limit") } else { None };
            let queue = queue::read(&mut root, &mut side, direction)?;
            if let Some(super::value::Value::Number(limit)) =
                limit.filter(|limit| *limit != super::value::Value::Number(10240.0))
            {
                side.buffer = Some(format!("{limit}p"));
            }
            alone(&root.handle, queue, &mut side, direction);
        }
        kind => {
            return at.refuse_with(
                format!("`{}` at the root is not translated", brief(kind)),
                format!("htb, tbf, {} are", KINDS.join(", ")),
            );
        }
    }
    limits(&mut side);
    for qdisc in &others {
        if !used(qdisc, &root, &side) {
            return qdisc.options.at.refuse(format!(
                "its parent `{}` is no class without classes in it",
                brief(qdisc.parent.as_deref().unwrap_or_default())
            ));
        }
    }
    Ok(side)
}

fn used(qdisc: &Qdisc, root: &Qdisc, side: &Side) -> bool {
    let Some(parent) = &qdisc.parent else { return false };
    let is_leaf = |class: &Class| class.queue.is_some() && class.handle == *parent;
    side.classes.iter().any(is_leaf) || root.kind == "tbf" && parent.starts_with(&root.handle)
}

/// The size table of the root.
fn framing(stab: &mut Entry, side: &mut Side) -> Result<(), FormatErrors> {
    stab.ignore(&["mtu", "tsize"]);
    side.framing.overhead = stab.whole("overhead", -1024)?.unwrap_or_default();
    side.framing.mpu = stab.whole("mpu", 0)?.unwrap_or_default();
    side.framing.atm = match stab.text("linklayer")?.as_deref() {
        None | Some("ethernet") => false,
        Some("atm" | "adsl") => true,
        Some(other) => return stab.at.refuse(format!("`linklayer` (`{}`) is not known here", brief(other))),
    };
    stab.end()
}

/// A token bucket and what waits for it.
fn tbf(
    root: &mut Qdisc,
    others: &mut [Qdisc],
    side: &mut Side,
    direction: Direction,
) -> Result<(), FormatErrors> {
    let options = &mut root.options;
    let at = options.at.clone();
    let Some(rate) = options.rate("rate")? else { return at.refuse("`rate` is missing") };
    let burst = options.size("burst")?.unwrap_or_default();
    if burst > rate / 8 / 100 + 2047 {
        side.loses(
            &at,
            format!("`burst {burst}` is left out: packets leave at the times that the rate gives"),
        );
    }
    for key in ["peakrate", "minburst", "mtu"] {
        if let Some(value) = options.shown(key) {
            side.loses(
                &at,
                format!("`{key} {value}` is left out: packets leave at the times that the rate gives"),
            );
        }
    }
    let latency = options.count("lat")?;
    let limit =
        options.size("limit")?.or(latency.map(|latency| in_time(latency, rate).saturating_add(burst)));
    let layer = options.text("linklayer")?.filter(|layer| layer != "ethernet");
    let bytes = options.any_size(&["overhead", "mpu"])?.map(|bytes| bytes.to_string());
    if let Some(found) = layer.or(bytes) {
        let message =
            format!("its overhead ({}) is left out: a size table (`stab`) is carried over", brief(&found));
        side.loses(&at, message);
    }
    options.end()?;
    side.rate = Some((rate, at));
    let child = others
        .iter_mut()
        .find(|qdisc| qdisc.parent.as_ref().is_some_and(|parent| parent.starts_with(&root.handle)));
    let queue = match child {
        Some(qdisc) => queue::read(qdisc, side, direction)?,
        None => queue::fifo_of_bytes(limit.unwrap_or(1_514_000)),
    };
    alone(&root.handle, queue, side, direction);
    Ok(())
}

/// Bytes in so many microseconds at a rate in bit/s.
fn in_time(microseconds: u64, rate: u64) -> u64 {
    u64::try_from(u128::from(microseconds) * u128::from(rate) / 8_000_000).unwrap_or(u64::MAX)
}

/// One queue for the whole direction.
fn alone(handle: &str, queue: Queue, side: &mut Side, direction: Direction) {
    let name = format!("{}-{}", direction.name(), handle.trim_end_matches(':'));
    let class = queue.policy.is_some().then(|| {
        side.classes.push(class_of(&name, handle, &queue));
        side.classes.len() - 1
    });
    let flow =
        Flow { name, comment: String::new(), criteria: Criteria::default(), class, reserve: None, queue };
    side.flows.push(flow);
}

/// A class directly at the line, with one queue and nothing promised.
fn class_of(name: &str, handle: &str, queue: &Queue) -> Class {
    Class {
        name: name.to_owned(),
        handle: handle.to_owned(),
        parent: None,
        reserve: None,
        ceiling: None,
        ceiling_burst: None,
        prio: 0,
        quantum: 1514,
        queue: Some(queue.clone()),
    }
}

/// CAKE at the root: a rate, tins, and hosts or conversations in each.
fn shaped(cake: Cake, at: &At, side: &mut Side, direction: Direction) {
    let Cake { queue, bandwidth, tins, framing, memory } = cake;
    if let Some(framing) = framing {
        let stab = std::mem::replace(&mut side.framing, framing);
        if stab != Framing::default() {
            side.loses(at, "`stab` is left out beside the overhead of CAKE");
        }
    }
    side.buffer = memory.map(|bytes| format!("{bytes}B"));
    match bandwidth {
        Some(rate) => side.rate = Some((rate, at.clone())),
        None => side.loses(at, "`unlimited` is left out: a gate is meant for a line that it fills"),
    }
    let way = direction.name();
    if !tins.is_empty() {
        side.loses(at, "a tin is served first up to its threshold, and here it reserves that rate");
        side.unmodelled = Some("CAKE's tins are not served first in the simulator".to_owned());
    }
    let mut left = bandwidth.map(|rate| rate - rate / UNMATCHED);
    for Tin { name, dscp, threshold } in tins {
        let rate = bandwidth.map_or(LEAST, |rate| rate / WHOLE * threshold);
        // A threshold of the tin for bulk is no promise: all others go first.
        let is_promised = *name != "bulk";
        let class = is_promised.then(|| {
            let class = class_of(&format!("{way}-{name}"), name, &queue);
            side.classes.push(Class { reserve: Some(rate), ..class });
            side.classes.len() - 1
        });
        let reserve = (!is_promised).then_some(LEAST);
        left = left.map(|left| left.saturating_sub(reserve.unwrap_or(rate)));
        let queue =
            if is_promised { queue.clone() } else { Queue { among: Among::Nothing, ..queue.clone() } };
        side.flows.push(Flow {
            name: format!("{way}-{name}"),
            comment: String::new(),
            criteria: Criteria { dscp: dscp.to_vec(), ..Criteria::default() },
            class,
            reserve,
            queue,
        });
    }
    // All that a flow opens has what the others leave, and so has a circuit that reserves nothing.
    let reserve = match queue.among {
        _ if tins.is_empty() => None,
        Among::HostsOfBothSides => None,
        Among::Nothing => Some(left.unwrap_or(HOST).max(LEAST)),
        Among::Conversations | Among::Hosts | Among::HostsFirst => Some(HOST),
    };
    let flow = Flow {
        name: format!("{way}-best-effort"),
        comment: String::new(),
        criteria: Criteria::default(),
        class: None,
        reserve,
        queue,
    };
    side.flows.push(flow);
}

/// The packets that all queues of a direction hold, where some have limits of their own.
fn limits(side: &mut Side) {
    const USUAL: u64 = 1000;
    let queues = side.classes.iter().filter_map(|class| class.queue.as_ref());
    let (mut own, mut others) = (0, 0);
    for queue in queues {
        match queue.packets {
            Some(packets) => own += packets,
            None => others = USUAL,
        }
    }
    if own > 0 && side.buffer.is_none() {
        side.buffer = Some(format!("{}p", own + others));
    }
}
