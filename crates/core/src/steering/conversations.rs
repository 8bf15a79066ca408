//! The flow of a conversation (a 5-tuple) in the class of its host, subscriber or circuit
//! ([`Rule::within`](super::Rule)): opened by its first packet, closed once it is idle.

use super::flows::{Cached, Member, Owner, Steering};
use super::unit::Unit;
use crate::classifier::rules::Each;
use crate::headers::Headers;
use crate::switch::Switch;
use crate::units::Time;

/// Greatest number of an owner's conversations with a flow each, as many as the queues of FQ-CoDel
/// (RFC 8290, section 5.2.4); conversations beyond it share one.
const MAX_CONVERSATIONS: usize = 1024;

impl Steering {
    /// Finds the flow of a packet among those of its unit. A circuit for which the switch has no
    /// class has one flow.
    ///
    /// # Errors
    /// The rule, when no flow could be opened now.
    pub(super) fn find_conversation(
        &mut self,
        now: Time,
        switch: &mut Switch,
        headers: &Headers,
        (rule, unit): (usize, Unit),
    ) -> Result<Cached, usize> {
        let conversation = Some(Each::FiveTuple.key(headers, self.direction));
        let place = self.owners.find(rule, unit);
        if let Some(at) = place.and_then(|at| self.owners.flow(at, conversation)) {
            return Ok(self.touch(now, at));
        }
        if let Unit::Circuit(circuit) = unit
            && let Some(at) = self.circuits[rule][circuit as usize].member()
        {
            return Ok(self.touch(now, at));
        }
        self.close_idle(now, switch);
        let is_circuit = matches!(unit, Unit::Circuit(_));
        let Some(at) = self.place(now, switch, (rule, unit)) else {
            let alone = is_circuit.then(|| self.open(now, switch, rule, Owner::Unit(unit))).flatten();
            return alone.ok_or(rule);
        };
        // In its class a circuit always has a flow, too.
        let is_full = self.is_at_limit();
        let own = self.owners.flows_at(at) < MAX_CONVERSATIONS && !(is_circuit && is_full);
        let conversation = conversation.filter(|_| own);
        let found = match self.owners.flow(at, conversation) {
            Some(at) => Some(self.touch(now, at)),
            None if is_full && !is_circuit => None,
            None => self.open(now, switch, rule, Owner::Conversation(at, conversation)),
        };
        if found.is_none() {
            self.owners.leave_if_empty(at);
        }
        found.ok_or(rule)
    }

    /// Returns when a member may be closed; `None` while packets are queued. A conversation may be
    /// closed at any time while its class has no packet: what tells it from a new one is no more
    /// than a turn in a round that does not go on.
    pub(super) fn forgettable_at(&self, now: Time, switch: &Switch, member: &Member) -> Option<Time> {
        let at = switch.forgettable_at(now, member.leg)?;
        let is_empty = match member.owner {
            Owner::Conversation(place, _) => {
                switch.class_forgettable_at(now, self.port, self.owners.class(place)).is_some()
            }
            Owner::Unit(_) | Owner::Shared => false,
        };
        Some(if is_empty { at.min(now) } else { at })
    }

    /// Returns the place of a unit's class, which it gets if it has none.
    fn place(&mut self, now: Time, switch: &mut Switch, (rule, unit): (usize, Unit)) -> Option<usize> {
        if let Some(at) = self.owners.find(rule, unit) {
            return Some(at);
        }
        let may_open = matches!(unit, Unit::Circuit(_)) || !self.is_full(rule);
        let plan = self.rules[rule].owner_class(Some(unit), self.direction)?;
        self.owners.place(now, switch, self.port, (rule, unit), &plan, may_open)
    }
}
