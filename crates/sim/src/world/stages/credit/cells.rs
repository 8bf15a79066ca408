//! Credit cells and credit_check cells: the choice of the next cell to send, and the handling of
//! arrivals.

use super::Credit;
use crate::control::ControlCell;
use crate::stage::StageCx;
use std::collections::VecDeque;
use tidegate_core::credit::messages::{CreditCell, CreditCheck};

/// Content of a link's own cell.
#[derive(Clone, Copy, Debug)]
enum Message {
    Credit(CreditCell),
    Check(CreditCheck),
}

impl Message {
    /// Returns true if it changes the sender's allocations.
    fn allocates(&self) -> bool {
        match self {
            Message::Credit(cell) => cell.records().iter().any(|record| record.allocation.is_some()),
            Message::Check(_) => false,
        }
    }
}

/// A link's own cell on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    /// The place of the link with credit that it is for.
    place: u32,
    /// Index of the link back on which it is.
    leg: usize,
    message: Message,
}

impl Credit {
    /// Returns the number of credit cells and credit_check cells that links have sent or are to
    /// pass on.
    pub(in crate::world) fn cells_under_way(&self) -> usize {
        self.cells.len() - self.free.len()
    }

    /// Returns the next own cell that a link of the network has to send, made now.
    pub(in crate::world) fn next_cell(&mut self, cx: &mut StageCx, link: u32) -> Option<ControlCell> {
        if let Some(id) = self.passing.get_mut(&link).and_then(VecDeque::pop_front) {
            let Cell { place, .. } = self.cells[id as usize];
            return Some(ControlCell { id: u64::from(id), len: self.links[place as usize].plan.credit_cell });
        }
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

    /// Returns true if a link of the network has own cells waiting, including those that wait until
    /// it is otherwise idle.
    pub(in crate::world) fn has_cells(&self, link: u32) -> bool {
        let has_credits = |place: &u32| self.links[*place as usize].receiver.records_due() > 0;
        let has_check = |place: u32| self.links[place as usize].check_due;
        self.back[link as usize].iter().any(has_credits)
            || self.forward[link as usize].is_some_and(has_check)
            || self.has_repeats(link)
            || self.passing.get(&link).is_some_and(|cells| !cells.is_empty())
    }

    /// Returns true if a link of the network has own cells that wait until it is otherwise idle.
    fn has_repeats(&self, link: u32) -> bool {
        let waits = |place: &u32| self.links[*place as usize].receiver.repeats_wait();
        self.back[link as usize].iter().any(waits)
    }

    fn send(&mut self, place: u32, message: Message) -> ControlCell {
        let id = self.free.pop().unwrap_or(self.cells.len() as u32);
        let cell = Cell { place, leg: 0, message };
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
        ControlCell { id: u64::from(id), len }
    }

    /// Counts a link's own cell that was lost.
    pub(in crate::world) fn cell_lost(&mut self, id: u64) {
        let Cell { place, .. } = self.cells[id as usize];
        self.free.push(id as u32);
        self.links[place as usize].figures.lost_cells += 1;
    }

    /// Handles a link's own cell that has reached its end.
    pub(in crate::world) fn cell_arrived(&mut self, cx: &mut StageCx, id: u64) {
        let Cell { place, leg, .. } = self.cells[id as usize];
        if self.cells[id as usize].message.allocates() && leg + 1 == self.links[place as usize].back.len() {
            self.count_in_service(cx, place);
        }
        let link = &mut self.links[place as usize];
        match &self.cells[id as usize].message {
            Message::Credit(_) if leg + 1 < link.back.len() => {
                let next = link.back[leg + 1];
                self.cells[id as usize].leg += 1;
                self.passing.entry(next).or_default().push_back(id as u32);
                return cx.cells_due(next);
            }
            Message::Credit(cell) => {
                link.credited(cx, cell);
                self.plan_wake(cx, place);
            }
            Message::Check(check) if link.is_virtual() => link.send_check(cx, *check),
            Message::Check(check) => link.checked(cx, check),
        }
        self.free.push(id as u32);
    }
}
