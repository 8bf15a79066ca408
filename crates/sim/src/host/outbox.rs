//! Outbox: work handed out by endpoints and stages that the world has not taken yet.

use crate::events::LinkEvent;
use crate::packets::HostCell;
use std::collections::VecDeque;
use tidegate_core::endpoint::{Action, Notice, Payload};
use tidegate_core::packet::Mark;
use tidegate_core::units::Time;

/// Work handed out by endpoints and stages that the world has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// Actions of the endpoint called last.
    pub(crate) actions: Vec<Action>,
    sends: VecDeque<Sending>,
    /// Flows whose source has nothing more to send.
    ended: Vec<u32>,
    /// Notices for sources, delivered at once.
    notices: VecDeque<(u32, Notice)>,
    /// Flows whose endpoint asked to be woken once more at once.
    again: VecDeque<u32>,
    /// Links whose ports may have become ready.
    ready: Vec<u32>,
    /// Events at links, which are reported before anything else happens.
    reports: VecDeque<(u32, LinkEvent)>,
    /// Idle links that have cells of their own to send.
    cells: Vec<u32>,
    /// True while one of these lists may have entries.
    is_filled: bool,
    /// True while the world is emptying the outbox.
    pub(crate) being_emptied: bool,
}

/// A task for the world.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// Stages observe an event at a link.
    Report(u32, LinkEvent),
    /// A packet enters the network.
    Send(Sending),
    /// The source of a flow is notified.
    Notify(u32, Notice),
    /// The endpoint that sends a flow is woken.
    Wake(u32),
    /// A link starts.
    Start(u32),
    /// A port is asked if it is ready.
    Ask(u32),
    /// Stages are notified that a flow's source has ended.
    Ended(u32),
}

impl Outbox {
    /// Returns true if tasks are pending and no drain is running.
    #[inline(always)]
    pub(crate) fn is_left(&self) -> bool {
        self.is_filled && !self.being_emptied
    }

    /// Returns true if no packet waits to enter the network.
    #[inline(always)]
    pub(crate) fn has_no_sends(&self) -> bool {
        !self.is_filled || self.sends.is_empty()
    }

    /// Takes the next task: reports, packets, then notices, endpoints, links, and ended sources.
    pub(crate) fn next(&mut self) -> Option<Task> {
        if let Some((link, event)) = self.reports.pop_front() {
            return Some(Task::Report(link, event));
        }
        if let Some(sending) = self.next_send() {
            return Some(Task::Send(sending));
        }
        let next = if let Some((flow, notice)) = self.notices.pop_front() {
            Task::Notify(flow, notice)
        } else if let Some(flow) = self.again.pop_front() {
            Task::Wake(flow)
        } else if let Some(link) = self.cells.pop() {
            Task::Start(link)
        } else if let Some(link) = self.ready.pop() {
            Task::Ask(link)
        } else {
            self.is_filled = !self.ended.is_empty();
            return self.ended.pop().map(Task::Ended);
        };
        Some(next)
    }

    /// Takes the packet that enters the network next.
    pub(crate) fn next_send(&mut self) -> Option<Sending> {
        self.sends.pop_front()
    }

    /// Takes all packets that wait to enter the network.
    pub(crate) fn take_sends(&mut self) -> VecDeque<Sending> {
        core::mem::take(&mut self.sends)
    }

    /// Puts back packets that were taken, when no others wait.
    pub(crate) fn put_back(&mut self, sends: VecDeque<Sending>) {
        self.is_filled |= !sends.is_empty();
        self.sends = sends;
    }

    /// Queues a packet that enters the network.
    pub(crate) fn send(&mut self, sending: Sending) {
        self.sends.push_back(sending);
        self.is_filled = true;
    }

    /// Queues a notice for the source of a flow.
    #[inline]
    pub(crate) fn notify(&mut self, flow: u32, notice: Notice) {
        self.notices.push_back((flow, notice));
        self.is_filled = true;
    }

    /// Queues another wake-up of the endpoint that sends a flow.
    #[inline]
    pub(crate) fn wake(&mut self, flow: u32) {
        self.again.push_back(flow);
        self.is_filled = true;
    }

    /// Queues the end of a flow's source: it has nothing more to send.
    pub(crate) fn ended(&mut self, flow: u32) {
        self.ended.push(flow);
        self.is_filled = true;
    }

    /// Queues the report of an event at a link.
    pub(crate) fn report(&mut self, link: u32, event: LinkEvent) {
        self.reports.push_back((link, event));
        self.is_filled = true;
    }

    /// Queues the port in front of a link, which may have become ready.
    pub(crate) fn ask(&mut self, link: u32) {
        self.ready.push(link);
        self.is_filled = true;
    }

    /// Queues the start of an idle link that has cells of its own to send.
    pub(crate) fn start(&mut self, link: u32) {
        self.cells.push(link);
        self.is_filled = true;
    }
}

/// A packet handed to the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) flow: u32,
    /// The hop at which it enters the flow's route; `None` for the beginning.
    pub(crate) hop: Option<u32>,
    pub(crate) len: u32,
    pub(crate) mark: Mark,
    pub(crate) payload: Payload,
    /// The time at which its data were first sent, if they are sent again.
    pub(crate) first_sent: Option<Time>,
    /// Its part of another packet, if it is an ATM cell.
    pub(crate) cell: Option<HostCell>,
}
