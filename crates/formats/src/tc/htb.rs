//! HTB: its classes as those of a gate, its filters as flows.

use super::entry::{At, Entry};
use super::filters::{self, Criteria};
use super::plan::{Among, Class, Flow, Queue, Side};
use super::queue::{self, Qdisc};
use super::value::Value;
use crate::error::FormatErrors;
use crate::port::MAX_CLASS_LEVELS;
use crate::suggest::{brief, did_you_mean};
use crate::units::show_rate;
use std::collections::BTreeMap;
use tidegate_core::classifier::rules::Direction;

/// Bounds of the quantum that the kernel derives from a rate, in bytes.
const QUANTUM: (u64, u64) = (1000, 200_000);
/// The longest time that a burst may stand for and still be that of a clock's tick, as `tc` sets
/// it, in parts of a second; and the packet that it adds.
const TICKS: u64 = 100;
const PACKET: u64 = 2047;
/// Parts in which quanta may differ from the proportion of rates.
const TOLERANCE: f64 = 1.05;
/// The most urgent level of a class, and the least.
const LEVELS: u64 = 8;

/// A class as `tc` shows it.
struct Shown {
    at: At,
    handle: String,
    parent: Option<String>,
    rate: u64,
    ceil: u64,
    burst: u64,
    cburst: u64,
    prio: u64,
    quantum: u64,
}

/// Reads an HTB at the root, its classes, their queues and its filters.
pub(super) fn read(
    root: &mut Qdisc,
    others: &mut [Qdisc],
    classes: Vec<Entry>,
    filters: Vec<Entry>,
    side: &mut Side,
    direction: Direction,
) -> Result<(), FormatErrors> {
    let options = &mut root.options;
    let at = options.at.clone();
    let r2q = options.count("r2q")?.unwrap_or(10).max(1);
    let default = default_class(options, &root.handle)?;
    let line = options.count("direct_qlen")?.unwrap_or(1000);
    if options.take("ver").is_none() {
        side.losses.push(at.says(
            "`tc` was run without `-d`, so it shows neither a size table (`stab`) nor a `quantum`",
            Some("run `tc -d -j qdisc show dev IF` and `tc -d -j class show dev IF`".to_owned()),
        ));
    }
    options.ignore(&["direct_packets_stat", "offload"]);
    options.end()?;
    let shown = classes.into_iter().map(|entry| class(entry, r2q, side)).collect::<Result<Vec<_>, _>>()?;
    let shown = in_order(shown.into_iter().flatten().collect(), &at, &root.handle)?;
    let places: BTreeMap<String, usize> =
        shown.iter().enumerate().map(|(place, class)| (class.handle.clone(), place)).collect();
    // One class above all others is the line itself.
    let tops = shown.iter().filter(|class| class.parent.is_none()).count();
    let line_class = shown
        .first()
        .filter(|first| tops == 1 && shown.iter().any(|class| class.parent.as_ref() == Some(&first.handle)));
    if let (1, Some(first)) = (tops, shown.first()) {
        side.rate = Some((first.rate, first.at.clone()));
    }
    let skipped = usize::from(line_class.is_some());
    for class in &shown[skipped..] {
        let parent = class.parent.as_ref().and_then(|parent| places[parent].checked_sub(skipped));
        let is_leaf = !shown.iter().any(|other| other.parent.as_ref() == Some(&class.handle));
        // A class at the top has nobody to borrow from.
        let ceil = if class.parent.is_none() { class.rate } else { class.ceil };
        let queue = match others.iter_mut().find(|qdisc| qdisc.parent.as_ref() == Some(&class.handle)) {
            Some(qdisc) if is_leaf => Some(queue::read(qdisc, side, direction)?),
            _ if is_leaf => Some(queue::fifo(line)),
            _ => None,
        };
        side.classes.push(Class {
            name: format!("{}-{}", direction.name(), class.handle.replace(':', "-")),
            handle: class.handle.clone(),
            parent,
            reserve: Some(class.rate.min(ceil)),
            ceiling: Some(ceil),
            ceiling_burst: Some(class.cburst).filter(|burst| *burst > 0),
            prio: class.prio,
            quantum: class.quantum,
            queue,
        });
    }
    flows(&at, &root.handle, default.as_deref(), &places, skipped, filters, side)?;
    what_shares(&at, &shown, side);
    Ok(())
}

/// The class of what no filter takes: hexadecimal text, `0x30` or `30`.
fn default_class(options: &mut Entry, root: &str) -> Result<Option<String>, FormatErrors> {
    let minor = match options.take("default") {
        None => return Ok(None),
        Some(Value::Text(text)) => u32::from_str_radix(text.trim_start_matches("0x"), 16).ok(),
        Some(Value::Number(number)) => Some(number as u32),
        Some(_) => None,
    };
    match minor {
        Some(0) => Ok(None),
        Some(minor) => Ok(Some(format!("{root}{minor:x}"))),
        None => options.at.refuse("`default` is not the number of a class"),
    }
}

/// Reads a class; `None` for one of another qdisc.
fn class(mut entry: Entry, r2q: u64, side: &mut Side) -> Result<Option<Shown>, FormatErrors> {
    let at = entry.at.clone();
    if entry.needed_text("class")? != "htb" {
        return Ok(None);
    }
    entry.ignore(&["leaf", "level", "burst_cell", "cburst_cell", "stats"]);
    let (Some(rate), Some(ceil)) = (entry.rate("rate")?, entry.rate("ceil")?) else {
        return at.refuse("`rate` or `ceil` is missing");
    };
    if let Some(bytes) = entry.count("overhead")?.filter(|bytes| *bytes != 0) {
        side.loses(&at, format!("`overhead {bytes}` is left out: a gate has one for the whole line"));
    }
    let layer = entry.text("linklayer")?;
    if let Some(layer) = layer.filter(|layer| !["ethernet", "unspec"].contains(&layer.as_str())) {
        let message = format!("`linklayer {}` is left out: a gate has one for the whole line", brief(&layer));
        side.loses(&at, message);
    }
    if let Some(bytes) = entry.any_size(&["mpu", "mpu_rate", "mpu_ceil"])? {
        side.loses(&at, format!("`mpu {bytes}` is left out: a gate has one for the whole line"));
    }
    let is_root = entry.flag("root")?;
    let class = Shown {
        handle: entry.needed_text("handle")?,
        parent: entry.text("parent")?.filter(|_| !is_root),
        rate,
        ceil,
        burst: entry.size("burst")?.unwrap_or_default(),
        cburst: entry.size("cburst")?.unwrap_or_default(),
        prio: entry.count("prio")?.unwrap_or_default(),
        quantum: entry.count("quantum")?.unwrap_or((rate / 8 / r2q).clamp(QUANTUM.0, QUANTUM.1)),
        at,
    };
    entry.end()?;
    if class.prio >= LEVELS {
        return class.at.refuse(format!("`prio` ({}) is not from 0 to {}", class.prio, LEVELS - 1));
    }
    if class.rate > class.ceil {
        let message = format!(
            "its `rate` ({}) is above its `ceil`, which is what it reserves: {}",
            show_rate(class.rate),
            show_rate(class.ceil)
        );
        side.loses(&class.at, message);
    }
    if class.burst > class.rate / 8 / TICKS + PACKET {
        let message =
            format!("`burst {}` is left out: packets leave at the times that the rate gives", class.burst);
        side.loses(&class.at, message);
    }
    Ok(Some(class))
}

/// The classes, each behind the one that it is in.
fn in_order(mut left: Vec<Shown>, at: &At, root: &str) -> Result<Vec<Shown>, FormatErrors> {
    if left.is_empty() {
        return at.refuse_with("it has no classes", "add the output of `tc -d -j class show dev IF`");
    }
    let mut ordered: Vec<Shown> = Vec::new();
    let mut depths: BTreeMap<String, usize> = BTreeMap::new();
    while !left.is_empty() {
        let before = ordered.len();
        let mut waiting = Vec::new();
        for mut class in left {
            // A class right under the qdisc is one at the root.
            class.parent = class.parent.filter(|parent| parent != root);
            let depth = match &class.parent {
                None => Some(1),
                Some(parent) => depths.get(parent).map(|depth| depth + 1),
            };
            let Some(depth) = depth else {
                waiting.push(class);
                continue;
            };
            if depth > MAX_CLASS_LEVELS {
                return class
                    .at
                    .refuse(format!("it is {depth} classes deep, and a gate has {MAX_CLASS_LEVELS}"));
            }
            if depths.insert(class.handle.clone(), depth).is_some() {
                return class.at.refuse("it is listed twice");
            }
            ordered.push(class);
        }
        if ordered.len() == before {
            let lost = &waiting[0];
            let parent = lost.parent.clone().unwrap_or_default();
            return lost.at.refuse(format!("its parent `{}` is not above it", brief(&parent)));
        }
        left = waiting;
    }
    Ok(ordered)
}

/// A flow for each filter, and one for all other packets.
fn flows(
    at: &At,
    root: &str,
    default: Option<&str>,
    places: &BTreeMap<String, usize>,
    skipped: usize,
    entries: Vec<Entry>,
    side: &mut Side,
) -> Result<(), FormatErrors> {
    let mut read = Vec::new();
    for entry in entries {
        read.extend(filters::read(entry, root)?);
    }
    read.sort_by_key(|filter| filter.pref);
    let leaf = |handle: &str, side: &Side| -> Option<usize> {
        let place = places.get(handle)?.checked_sub(skipped)?;
        side.classes[place].queue.is_some().then_some(place)
    };
    let fallback = default.and_then(|handle| leaf(handle, side));
    let mut numbers: BTreeMap<usize, usize> = BTreeMap::new();
    for filter in read {
        let criteria = match filter.packets {
            Ok(criteria) => criteria,
            Err(why) => {
                let class =
                    if filter.class.is_empty() { String::new() } else { format!(" for {}", filter.class) };
                side.loses(&filter.at, format!("it is left out{class}: {why}"));
                continue;
            }
        };
        if !places.contains_key(&filter.class) && filter.class != root {
            let help = did_you_mean(&filter.class, places.keys().map(String::as_str));
            let message = format!("there is no class `{}`", brief(&filter.class));
            return Err(filter.at.says(message, help).into());
        }
        for note in &filter.notes {
            side.loses(&filter.at, note);
        }
        // HTB looks no further where a filter names a class with others in it, but at the filters
        // there.
        if places.contains_key(&filter.class) && leaf(&filter.class, side).is_none() {
            side.loses(
                &filter.at,
                format!("filters of {} are not among those that `tc` shows", filter.class),
            );
        }
        let Some(class) = leaf(&filter.class, side).or(fallback) else {
            side.loses(&filter.at, "its packets pass HTB unshaped, and here they are among the others");
            continue;
        };
        let number = numbers.entry(class).or_default();
        *number += 1;
        let name = format!("{}-{number}", side.classes[class].name);
        side.flows.extend(flow(side, class, name, filter.at.name, criteria));
    }
    match fallback {
        Some(class) => {
            let name = format!("{}-default", side.classes[class].name);
            side.flows.extend(flow(side, class, name, "default".to_owned(), Criteria::default()));
        }
        None => side.loses(
            at,
            "packets that no filter takes pass HTB unshaped, and here they have a hundredth of the rate",
        ),
    }
    for (class, number) in numbers {
        // A fair queue by reservations has a shared class for each flow; one by turns has not.
        let is_shared = |queue: &Queue| queue.among != Among::Nothing && queue.divides;
        if number > 1 && side.classes[class].queue.as_ref().is_some_and(is_shared) {
            let message = format!(
                "the {number} filters of {} divide it first, and then what is in each",
                side.classes[class].handle
            );
            side.loses(at, message);
        }
    }
    Ok(())
}

fn flow(side: &Side, class: usize, name: String, comment: String, criteria: Criteria) -> Option<Flow> {
    let queue: Queue = side.classes[class].queue.clone()?;
    Some(Flow { name, comment, criteria, class: Some(class), reserve: None, queue })
}

/// Notes in what shares differ: those of levels, and those of quanta.
fn what_shares(at: &At, shown: &[Shown], side: &mut Side) {
    let leaves: Vec<&Class> = side.classes.iter().filter(|class| class.queue.is_some()).collect();
    if leaves.iter().any(|class| class.prio != leaves[0].prio) {
        let prios: Vec<String> =
            leaves.iter().map(|class| format!("{} {}", class.handle, class.prio)).collect();
        let message = format!(
            "`prio` ({}) is left out: what others leave is divided by `reserve`, not the most urgent first",
            prios.join(", ")
        );
        side.loses(at, message);
    }
    let mut parents: Vec<Option<usize>> = side.classes.iter().map(|class| class.parent).collect();
    parents.sort_unstable();
    parents.dedup();
    for parent in parents {
        let members: Vec<(&Class, u64)> = (0..side.classes.len())
            .filter(|at| side.classes[*at].parent == parent)
            .map(|at| (&side.classes[at], turn(side, at)))
            .collect();
        let ratios = members.iter().filter_map(|(class, turn)| Some(*turn as f64 / class.reserve? as f64));
        let (least, most) =
            ratios.fold((f64::MAX, 0.0_f64), |(least, most), ratio| (least.min(ratio), most.max(ratio)));
        if most <= least * TOLERANCE {
            continue;
        }
        let quanta: Vec<String> =
            members.iter().map(|(class, turn)| format!("{} {turn}", class.handle)).collect();
        let name = parent.map_or(&shown[0].handle, |parent| &side.classes[parent].handle);
        let message = format!(
            "what classes of {name} leave is divided by `quantum` ({}), and here by `reserve`",
            quanta.join(", ")
        );
        side.loses(at, message);
    }
}

/// The bytes of a class's turn: for one with classes in it, the longest of those among its queues.
fn turn(side: &Side, class: usize) -> u64 {
    let is_in =
        |at: usize| std::iter::successors(Some(at), |at| side.classes[*at].parent).any(|at| at == class);
    let queues = side.classes.iter().enumerate().filter(|(at, other)| other.queue.is_some() && is_in(*at));
    queues.map(|(_, other)| other.quantum).max().unwrap_or_default()
}

/// Leaves out ceilings that the line has itself, and lowers reservations where they add up to more
/// than the class or the line that they are in.
pub(super) fn fit(side: &mut Side, line: u64, at: &At) {
    for class in &mut side.classes {
        class.ceiling = class.ceiling.filter(|ceiling| *ceiling < line);
    }
    for holder in std::iter::once(None).chain((0..side.classes.len()).map(Some)) {
        let room = holder.map_or(Some(line), |class| side.classes[class].reserve);
        let Some(room) = room else { continue };
        let members: Vec<usize> =
            (0..side.classes.len()).filter(|class| side.classes[*class].parent == holder).collect();
        let sum: u64 = members.iter().filter_map(|class| side.classes[*class].reserve).sum();
        if sum <= room {
            continue;
        }
        for class in members {
            if let Some(reserve) = &mut side.classes[class].reserve {
                *reserve = ((u128::from(*reserve) * u128::from(room) / u128::from(sum)) as u64).max(1);
            }
        }
        let name = holder.map_or("the line".to_owned(), |class| side.classes[class].handle.clone());
        side.loses(
            at,
            format!(
                "the rates of the classes in {name} add up to {}, and there is room for {}: each is lowered to {:.1} %",
                show_rate(sum),
                show_rate(room),
                100.0 * room as f64 / sum as f64
            ),
        );
    }
}
