//! Credit cells and credit_check cells: the choice of the next cell to send, and the handling of
//! arrivals.

use super::Credit;
use super::sent_cell::{Message, SentCell};
use crate::stage::{Cell, StageCx};
use tidegate_core::endpoint::Payload;

impl Credit {
    /// Makes the next cell that a link of the network has to send.
    pub(super) fn make_cell(&mut self, cx: &mut StageCx, link: u32) -> Option<Cell> {
        for nth in 0..self.back[link as usize].len() {
            let place = self.back[link as usize][nth];
            if let Some(cell) = self.links[place as usize].receiver.take_credit_cell() {
                return Some(self.send(place, Message::Credit(cell)));
            }
        }
        if let Some(place) = self.forward[link as usize] {
            let check = self.links[place as usize].take_check(cx.now());
            self.plan_wake(cx, place);
            if let Some(check) = check {
                return Some(self.send(place, Message::Check(check)));
            }
        }
        if !self.has_repeats(link) || cx.queue_of(link).packets > 0 {
            return None;
        }
        let repeat = |place: &u32| Some((*place, self.links[*place as usize].receiver.take_repeat_cell()?));
        let (place, repeated) = self.back[link as usize].iter().find_map(repeat)?;
        Some(self.send(place, Message::Credit(repeated)))
    }

    /// Returns true if cells wait for a link of the network, including those that wait until it is
    /// otherwise idle.
    pub(super) fn cells_wait(&self, link: u32) -> bool {
        let has_credits = |place: &u32| self.links[*place as usize].receiver.records_due() > 0;
        let has_check = |place: u32| self.links[place as usize].check_due;
        self.back[link as usize].iter().any(has_credits)
            || self.forward[link as usize].is_some_and(has_check)
            || self.has_repeats(link)
    }

    /// Returns true if a link of the network has cells that wait until it is otherwise idle.
    fn has_repeats(&self, link: u32) -> bool {
        let waits = |place: &u32| self.links[*place as usize].receiver.repeats_wait();
        self.back[link as usize].iter().any(waits)
    }

    #[inline(always)]
    fn send(&mut self, place: u32, message: Message) -> Cell {
        let id = self.free.pop().unwrap_or(self.cells.len() as u32);
        let cell = SentCell { place, leg: 0, message };
        match self.cells.get_mut(id as usize) {
            Some(free) => *free = cell,
            None => self.cells.push(cell),
        }
        let link = &mut self.links[place as usize];
        let len = link.plan.credit_cell;
        match message {
            Message::Credit(_) => link.figures.credit_cells.add(len),
            Message::Check(_) => link.figures.check_cells.add(len),
        }
        Cell { len, payload: Payload::Credit(id) }
    }

    /// Counts a cell that was lost.
    pub(super) fn lose_cell(&mut self, id: u32) {
        let SentCell { place, .. } = self.cells[id as usize];
        self.free.push(id);
        self.links[place as usize].figures.lost_cells += 1;
    }

    /// Takes a cell that has come over a link; returns the next link on its way, if there is one.
    pub(super) fn take_cell(&mut self, cx: &mut StageCx, id: u32) -> Option<u32> {
        let SentCell { place, leg, .. } = self.cells[id as usize];
        if self.cells[id as usize].message.allocates() && leg + 1 == self.links[place as usize].back.len() {
            self.count_in_service(cx, place);
        }
        let link = &mut self.links[place as usize];
        match &self.cells[id as usize].message {
            Message::Credit(_) if leg + 1 < link.back.len() => {
                self.cells[id as usize].leg += 1;
                return Some(link.back[leg + 1]);
            }
            Message::Credit(cell) => {
                link.credited(cx, cell);
                self.plan_wake(cx, place);
            }
            Message::Check(check) if link.is_virtual() => link.send_check(cx, *check),
            Message::Check(check) => link.checked(cx, check),
        }
        self.free.push(id);
        None
    }
}
