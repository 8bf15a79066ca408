//! Schedulers that serve packets in the order of the ranks that functions give them.

use super::declared::{Declared, refused};
use super::rank_function::{RankFunctions, Step, as_tag};
use crate::error::TidegateError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::VecDeque;
use std::sync::Arc;
use tidegate_core::context::Ctx;
use tidegate_core::contract::{Contract, Refused};
use tidegate_core::packet::{FlowIx, Packet};
use tidegate_core::params::{Marking, Role, Service, Value};
use tidegate_core::policies;
use tidegate_core::queues::{Participation, Queues};
use tidegate_core::ranking::flow_heap::FlowHeap;
use tidegate_core::scheduler::{Hold, Removal, Scheduler, SchedulerKind, Select};
use tidegate_core::units::{Rate, Time};

/// A scheduler that sends the packet with the smallest rank of those that are first in their queues
/// and eligible.
struct Ranked {
    functions: RankFunctions,
    /// Flows that may be selected, by the rank of their first packet.
    heads: FlowHeap,
    /// Flows that take part and wait, by the time at which their first packet becomes eligible.
    waiting: FlowHeap,
    /// When the packets of each flow become eligible; empty if they are so on arrival.
    eligible_at: Vec<VecDeque<Time>>,
    /// Flows that are set, and have not been closed since.
    open: Vec<bool>,
}

impl Ranked {
    fn new(functions: RankFunctions) -> Ranked {
        Ranked {
            functions,
            heads: FlowHeap::default(),
            waiting: FlowHeap::default(),
            eligible_at: Vec::new(),
            open: Vec::new(),
        }
    }

    /// Returns the time at which the first packet of a flow becomes eligible, if that is to come.
    fn held_until(&self, now: Time, flow: FlowIx) -> Option<Time> {
        let first = self.eligible_at.get(flow.ix())?.front()?;
        (*first > now).then_some(*first)
    }

    /// Inserts a flow that takes part, and is in no heap.
    fn insert(&mut self, now: Time, flow: FlowIx, tag: u64, order: u64) {
        match self.held_until(now, flow) {
            Some(at) => self.waiting.insert(flow, (at.ticks(), order)),
            None => self.heads.insert(flow, (tag, order)),
        }
    }

    /// Updates the place of a flow after its first packet or its participation has changed.
    fn refresh(&mut self, now: Time, flow: FlowIx, queues: &Queues) {
        self.heads.remove(flow);
        if self.functions.regulates() {
            self.waiting.remove(flow);
        }
        if let Some(first) = queues.first(flow).filter(|_| queues.takes_part(flow)) {
            self.insert(now, flow, first.packet.tag, first.order);
        }
    }

    /// Forgets the eligible time of a packet that has left its queue.
    fn forget(&mut self, flow: FlowIx, is_last: bool) {
        if let Some(times) = self.eligible_at.get_mut(flow.ix()) {
            match is_last {
                true => times.pop_back(),
                false => times.pop_front(),
            };
        }
    }
}

impl Scheduler for Ranked {
    fn set_rate(&mut self, _: Time, rate: Option<Rate>) {
        self.functions.set_rate(rate);
    }

    fn set_flow(
        &mut self,
        now: Time,
        flow: FlowIx,
        contract: &Contract,
        queues: &Queues,
    ) -> Result<(), Refused> {
        if self.open.len() <= flow.ix() {
            self.open.resize(flow.ix() + 1, false);
            self.heads.grow_to(flow.0 + 1);
            if self.functions.regulates() {
                self.waiting.grow_to(flow.0 + 1);
                self.eligible_at.resize_with(flow.ix() + 1, VecDeque::new);
            }
        }
        let was_open = std::mem::replace(&mut self.open[flow.ix()], true);
        self.functions.set_flow(flow, contract, !was_open);
        self.refresh(now, flow, queues);
        Ok(())
    }

    fn forgettable_at(&self, _: Time, _: FlowIx, _: &Queues) -> Time {
        Time::from_ticks(0)
    }

    fn enqueue(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        let flow = packet.flow;
        if self.functions.regulates() {
            let at = self.functions.call(Step::Eligible, cx.now, packet, queues);
            self.eligible_at[flow.ix()].push_back(Time::from_ticks(u64::try_from(at).unwrap_or(0)));
        }
        packet.tag = as_tag(self.functions.call(Step::Rank, cx.now, packet, queues));
        if queues.len(flow) == 0 && queues.takes_part(flow) {
            self.insert(cx.now, flow, packet.tag, queues.arriving());
        }
    }

    fn advance(&mut self, now: Time, queues: &Queues) {
        while let Some(((at, _), flow)) = self.waiting.top()
            && at <= now.ticks()
        {
            self.waiting.remove(flow);
            if let Some(first) = queues.first(flow) {
                self.heads.insert(flow, (first.packet.tag, first.order));
            }
        }
    }

    fn holds(&self, now: Time, flow: FlowIx, queues: &Queues) -> Option<(Hold, Time)> {
        queues.first(flow)?;
        Some((Hold::Regulator, self.held_until(now, flow)?))
    }

    fn select(&self, _: Time, _: &Queues) -> Select {
        match (self.heads.top(), self.waiting.top()) {
            (Some((_, flow)), _) => Select::Flow(flow),
            (None, Some(((at, _), _))) => Select::NotBefore(Time::from_ticks(at)),
            (None, None) => Select::Idle,
        }
    }

    fn dequeued(&mut self, cx: &mut Ctx<'_>, packet: &mut Packet, queues: &Queues) {
        self.functions.call(Step::Served, cx.now, packet, queues);
        self.forget(packet.flow, false);
        self.refresh(cx.now, packet.flow, queues);
    }

    fn removed(&mut self, cx: &mut Ctx<'_>, packet: &Packet, queues: &Queues, why: Removal) {
        self.forget(packet.flow, why == Removal::PushedOut);
        self.refresh(cx.now, packet.flow, queues);
    }

    fn loses_by_length(&self) -> bool {
        true
    }

    fn take_part(&mut self, now: Time, flow: FlowIx, _: Participation, queues: &Queues) {
        self.refresh(now, flow, queues);
    }

    fn release(&mut self, flow: FlowIx) {
        self.open[flow.ix()] = false;
    }

    fn memory(&self) -> usize {
        let times: usize = self.eligible_at.iter().map(|times| times.capacity() * size_of::<Time>()).sum();
        self.functions.memory() + self.heads.memory() + self.waiting.memory() + self.open.capacity() + times
    }
}

/// Registers a scheduler by rank functions. `make(name, parameters)` returns what
/// `tidegate/rank.py` makes of its class; with `regulates`, packets may have to wait until they are
/// eligible.
#[pyfunction]
pub fn register_rank_scheduler(
    name: String,
    about: String,
    defaults: &Bound<'_, PyDict>,
    reads: Vec<String>,
    make: Py<PyAny>,
    regulates: bool,
) -> PyResult<()> {
    let service = if regulates { Service::Regulated } else { Service::WorkConserving };
    let declared = Declared::new(Role::Scheduler { service }, name, about, defaults, reads, Marking::Never)?;
    let (record, make) = (declared.record, Arc::new(make));
    let read = move |given: &[(&'static str, Value)]| {
        let facts = declared.facts(given);
        let (make, values) = (make.clone(), facts.values.clone());
        let functions = move || RankFunctions::made(record.name, &make, &values);
        // A mistake in the class is found when the file is read.
        functions().map_err(refused)?;
        Ok(SchedulerKind::of_facts(Arc::new(facts), move || {
            Ok(Box::new(Ranked::new(functions().map_err(Refused)?)))
        }))
    };
    policies::register_scheduler_at_run_time(record, read)
        .map_err(|wrong| TidegateError::new_err(wrong.to_string()))
}
