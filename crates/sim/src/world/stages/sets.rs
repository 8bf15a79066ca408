//! The sets of stages at hops.

use super::setup::Placed;
use crate::fabric::StageSet;
use crate::stage::{Interest, Site};
use std::collections::{BTreeMap, BTreeSet};
use tidegate_core::contract::Refused;

/// The sets of stages at the hops of a network; the first set is empty.
pub(in crate::world) struct Sets<'a> {
    stages: &'a [Placed],
    /// Indexes of stages that see packets anywhere, and of those at each node.
    anywhere: Vec<u32>,
    at_node: BTreeMap<u32, Vec<u32>>,
    pub(in crate::world) all: Vec<StageSet>,
    index: BTreeMap<StageSet, u16>,
    /// Stages that observe packets and links everywhere.
    pub(in crate::world) observers: BTreeSet<u32>,
}

impl<'a> Sets<'a> {
    pub(in crate::world) fn new(stages: &'a [Placed]) -> Sets<'a> {
        let mut anywhere = Vec::new();
        let mut at_node: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (ix, Placed { node, .. }) in (0..).zip(stages) {
            node.map_or(&mut anywhere, |node| at_node.entry(node).or_default()).push(ix);
        }
        let none = StageSet::default();
        let index = BTreeMap::from([(none.clone(), 0)]);
        Sets { stages, anywhere, at_node, all: vec![none], index, observers: BTreeSet::new() }
    }

    /// Returns the index of the set of a hop: of the stages in front of its port, and of those at
    /// the destination behind it, if one is.
    ///
    /// # Errors
    /// When there are more sets than can be told apart.
    pub(in crate::world) fn set(&mut self, port: &Site, behind: Option<&Site>) -> Result<u16, Refused> {
        let wants = self.interests(port);
        self.observers
            .extend(wants.iter().filter(|(_, interest)| interest.has(Interest::OBSERVE)).map(|(ix, _)| *ix));
        let receive = behind.map(|site| entering(&self.interests(site), Interest::ENTER)).unwrap_or_default();
        if wants.is_empty() && receive.is_empty() {
            return Ok(0);
        }
        let set = StageSet {
            enter: entering(&wants, Interest::ENTER),
            start: entering(&wants, Interest::START),
            released: leaving(&wants, Interest::RELEASED),
            leave: leaving(&wants, Interest::LEAVE),
            dropped: leaving(&wants, Interest::DROPPED),
            receive,
        };
        if let Some(ix) = self.index.get(&set) {
            return Ok(*ix);
        }
        let ix = u16::try_from(self.all.len())
            .map_err(|_| Refused(format!("more than {} different sets of stages", u16::MAX)))?;
        self.all.push(set.clone());
        self.index.insert(set, ix);
        Ok(ix)
    }

    /// Returns the stages that want calls at a site, with these, in the order in which packets pass
    /// them.
    fn interests(&self, site: &Site) -> Vec<(u32, Interest)> {
        let at_node = self.at_node.get(&site.node).into_iter().flatten();
        let interest = |ix: &u32| (*ix, self.stages[*ix as usize].stage.interest(site));
        let mut wants: Vec<(u32, Interest)> = self.anywhere.iter().chain(at_node).map(interest).collect();
        wants.retain(|(_, interest)| *interest != Interest::NONE);
        wants.sort_by_key(|(ix, interest)| (!interest.has(Interest::FIRST), *ix));
        wants
    }
}

fn entering(wants: &[(u32, Interest)], call: Interest) -> Box<[u32]> {
    wants.iter().filter(|(_, interest)| interest.has(call)).map(|(ix, _)| *ix).collect()
}

/// Like [`entering`], with the order of the stages that do not come first reversed.
fn leaving(wants: &[(u32, Interest)], call: Interest) -> Box<[u32]> {
    let firsts = wants.partition_point(|(_, interest)| interest.has(Interest::FIRST));
    let (first, others) = wants.split_at(firsts);
    let ways = first.iter().chain(others.iter().rev());
    ways.filter(|(_, interest)| interest.has(call)).map(|(ix, _)| *ix).collect()
}
