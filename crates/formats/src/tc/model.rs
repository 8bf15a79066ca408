//! HTB in the simulator: a fair queue by rates, or the most urgent first, below ceilings.
//!
//! HTB serves classes that are within their own rate first, and then those that borrow, both in
//! order of `prio` and by turns of a `quantum`. The simulator has no such scheduler.
//!
//! - Classes of one `prio` are in a fair queue in proportion to their rates. A class within its
//!   rate waits there for about a packet, as in HTB; deficit turns as long as its quanta would let it
//!   wait for all others' turns, and in HTB it does not.
//! - Classes of different `prio` are served by strict priority, which has no rates. A class then
//!   has a ceiling that leaves the less urgent ones theirs, as HTB does while those send all that they
//!   have. Where that is below its own ceiling, a note says so.

use super::plan::{Class, Side};
use super::policies;
use crate::units::show_rate;

/// The classes that stand in for those of a side.
#[derive(Default)]
pub(super) struct Model {
    /// Scheduler of a class above all others; `None` where a side has no tree.
    pub(super) root: Option<String>,
    /// By class of the side.
    pub(super) members: Vec<Member>,
    /// Classes for those of one `prio` beside others.
    pub(super) levels: Vec<Level>,
    /// Differences from HTB.
    pub(super) notes: Vec<String>,
}

/// A class of the side.
#[derive(Clone, Default)]
pub(super) struct Member {
    /// The policy of one without a queue.
    pub(super) policy: Option<String>,
    /// The level that it is in.
    pub(super) level: Option<usize>,
    pub(super) ceiling: Option<u64>,
}

/// Several classes of one `prio` beside those of another.
pub(super) struct Level {
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    pub(super) prio: u64,
    pub(super) policy: String,
    pub(super) ceiling: u64,
}

/// The model of a side at a line of this rate, in bit/s, or the reason why there is none.
pub(super) fn of(side: &Side, rate: u64) -> Result<Model, String> {
    if let Some(why) = &side.unmodelled {
        return Err(why.clone());
    }
    let mut model = Model::default();
    model
        .members
        .extend(side.classes.iter().map(|class| Member { ceiling: class.ceiling, ..Member::default() }));
    if side.classes.iter().any(|class| class.reserve.is_some()) {
        model.root = Some(model.arrange(side, None, rate)?);
    }
    for (at, class) in side.classes.iter().enumerate().filter(|(_, class)| class.queue.is_none()) {
        model.members[at].policy = Some(model.arrange(side, Some(at), class.reserve.unwrap_or(rate))?);
    }
    Ok(model)
}

impl Model {
    /// Arranges the classes in one with this rate, or those at the top, and returns their policy.
    fn arrange(&mut self, side: &Side, parent: Option<usize>, rate: u64) -> Result<String, String> {
        let members: Vec<usize> =
            (0..side.classes.len()).filter(|at| side.classes[*at].parent == parent).collect();
        let mut prios = Vec::with_capacity(members.len());
        for member in &members {
            prios.push(prio(side, *member)?);
        }
        let mut urgency = prios.clone();
        urgency.sort_unstable();
        urgency.dedup();
        if urgency.len() < 2 {
            return Ok(policies::PORT.to_owned());
        }
        let at_level = |level: u64| {
            members.iter().zip(&prios).filter(move |(_, prio)| **prio == level).map(|(at, _)| *at)
        };
        let mut left = rate;
        for (nth, level) in urgency.iter().enumerate() {
            let these: Vec<usize> = at_level(*level).collect();
            let later: u64 = urgency[nth + 1..]
                .iter()
                .flat_map(|level| at_level(*level))
                .filter_map(|at| side.classes[at].reserve)
                .sum();
            let ceilings =
                these.iter().map(|at| side.classes[*at].ceiling.unwrap_or(rate)).fold(0, u64::saturating_add);
            // The least urgent ones take nothing from anybody.
            let is_last = nth + 1 == urgency.len();
            let may_have = if is_last { rate } else { left.saturating_sub(later).max(1) };
            let ceiling = ceilings.min(may_have);
            if ceiling < ceilings.min(rate) {
                let names: Vec<&str> = these.iter().map(|at| side.classes[*at].handle.as_str()).collect();
                self.notes.push(format!(
                    "{} has at most {} there, as in HTB while less urgent classes send all that they have",
                    names.join(" and "),
                    show_rate(ceiling)
                ));
            }
            left = left.saturating_sub(ceiling);
            match these.as_slice() {
                [one] => self.members[*one].ceiling = Some(ceiling),
                several => {
                    several.iter().for_each(|at| self.members[*at].level = Some(self.levels.len()));
                    let above = parent.map_or("root", |parent| &side.classes[parent].name);
                    let policy = policies::PORT.to_owned();
                    self.levels.push(Level {
                        name: format!("{above}-prio-{level}"),
                        parent,
                        prio: *level,
                        policy,
                        ceiling,
                    });
                }
            }
        }
        Ok(policies::BY_PRIO.to_owned())
    }
}

/// The `prio` of a class: that of all queues in it.
fn prio(side: &Side, class: usize) -> Result<u64, String> {
    let in_it =
        |at: &usize| std::iter::successors(Some(*at), |at| side.classes[*at].parent).any(|at| at == class);
    let queues: Vec<&Class> = (0..side.classes.len())
        .filter(in_it)
        .map(|at| &side.classes[at])
        .filter(|class| class.queue.is_some())
        .collect();
    match queues.iter().all(|queue| queue.prio == queues[0].prio) {
        true => Ok(queues.first().map_or(0, |queue| queue.prio)),
        false
            if side.classes.iter().filter(|other| other.parent == side.classes[class].parent).count() < 2 =>
        {
            Ok(0)
        }
        false => Err(format!(
            "nothing in the simulator stands in for {}, whose classes have several `prio`, beside others",
            side.classes[class].handle
        )),
    }
}
