//! Members that ceilings hold, as the switch sees them: each is held until it has noticed otherwise.

use super::super::Ticks;
use super::Tree;

impl Tree {
    /// Like [`select`](Self::select), as the switch sees it: a member is held until it has noticed
    /// otherwise.
    pub(super) fn select_noticed(&self, at: usize, now: Ticks) -> Option<usize> {
        if self.nodes[at].ceiling.is_some_and(|ceiling| ceiling.clear_at > now) {
            return None;
        }
        self.select_noticed_without_ceiling(at, now)
    }

    pub(super) fn select_noticed_without_ceiling(&self, at: usize, now: Ticks) -> Option<usize> {
        self.select_among(at, now, |member| !member.queue.is_empty() && !member.is_away)
    }

    /// True if a member of a node has packets, and is not held.
    pub(super) fn any_waits(&self, at: usize) -> bool {
        self.nodes[at].members.iter().any(|member| !member.queue.is_empty() && !member.is_away)
    }

    pub(super) fn set_away(&mut self, now: Ticks, at: usize, place: usize, is_away: bool) {
        let others = self.any_waits(at);
        let node = &mut self.nodes[at];
        let member = &mut node.members[place];
        if std::mem::replace(&mut member.is_away, is_away) == is_away {
            return;
        }
        match is_away {
            true => node.rule.leaves(now, place),
            false => node.rule.returns(now, place, &member.queue, others),
        }
    }

    /// Notices that a class is held, or no longer.
    pub(super) fn notice(&mut self, now: Ticks, at: usize) {
        if let Some((above, place)) = self.nodes[at].above {
            let is_away = self.has_packets(at) && self.select_noticed(at, now).is_none();
            self.set_away(now, above, place, is_away);
        }
    }

    /// Notices it of a class and those above it.
    pub fn notice_upwards(&mut self, now: Ticks, mut at: usize) {
        self.notice(now, at);
        while let Some((above, _)) = self.nodes[at].above {
            at = above;
            self.notice(now, at);
        }
    }

    /// While the link is free, and before each start, the switch notices who is held no longer.
    pub fn release(&mut self, now: Ticks) {
        for at in 0..self.nodes.len() {
            for place in 0..self.nodes[at].members.len() {
                let member = &self.nodes[at].members[place];
                let is_clear = member.ceiling.is_some_and(|ceiling| ceiling.clear_at <= now);
                if member.is_away && is_clear {
                    self.set_away(now, at, place, false);
                    self.notice_upwards(now, at);
                }
            }
        }
        for at in (1..self.nodes.len()).rev() {
            if let Some((above, place)) = self.nodes[at].above
                && self.nodes[above].members[place].is_away
            {
                self.notice_upwards(now, at);
            }
        }
    }
}
