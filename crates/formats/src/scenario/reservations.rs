//! Checks that reservations fit: on every link, and in every class that has a reservation.

use crate::error::{Complaint, Report};
use crate::port::Class;
use crate::scenario::flows::FlowGroup;
use crate::scenario::load::Load;
use crate::scenario::network::{Link, Node, NodeKind};
use crate::units::show_rate;
use std::collections::BTreeMap;

/// A link, or a class on a link.
type Holder = (usize, Option<usize>);

/// The reservations in a holder, and the first that does not fit.
#[derive(Default)]
struct Ledger {
    total: u128,
    tipped_by: Option<(usize, u64)>,
}

/// Adds up reservations along every route, in the order of the file. An overbooked holder is
/// reported once for each group that exceeds it.
pub(super) fn check(
    links: &[Link],
    nodes: &[Node],
    classes: &[Class],
    groups: &[FlowGroup],
    loads: &[Load],
    report: &mut Report,
) {
    let mut ledgers: BTreeMap<Holder, Ledger> = BTreeMap::new();
    for (index, load) in loads.iter().enumerate() {
        let group = &groups[load.group];
        let Some(reserve) = group.contract.reserve_bits() else { continue };
        // The gate's file states the contract of a flow at a gate.
        for &link in group.route.iter().filter(|link| links[**link].gate.is_none()) {
            let at_switch = nodes[links[link].from].kind == NodeKind::Switch;
            let mut holder = (link, group.class.filter(|_| at_switch));
            let mut reservation =
                GroupReservation { each: u128::from(reserve), members: u128::from(load.count) };
            loop {
                let is_new = !ledgers.contains_key(&holder);
                let room = capacity(holder, links, classes);
                ledgers.entry(holder).or_default().add(reservation, room, index);
                let Some(class) = holder.1 else { break };
                // A class asks the scheduler above for its own reservation, whatever its content.
                if let Some(reserve) = classes[class].contract.reserve_bits() {
                    reservation = GroupReservation { each: u128::from(reserve), members: u128::from(is_new) };
                }
                holder.1 = classes[class].parent;
            }
        }
    }
    report_overbooking(links, classes, groups, loads, ledgers, report);
}

fn report_overbooking(
    links: &[Link],
    classes: &[Class],
    groups: &[FlowGroup],
    loads: &[Load],
    ledgers: BTreeMap<Holder, Ledger>,
    report: &mut Report,
) {
    let mut told = vec![false; groups.len()];
    for (holder, ledger) in ledgers {
        let (Some((load, member)), Some(room)) = (ledger.tipped_by, capacity(holder, links, classes)) else {
            continue;
        };
        let load = &loads[load];
        if std::mem::replace(&mut told[load.group], true) {
            continue;
        }
        let group = &groups[load.group];
        let flow = load.member_name(group, member);
        let link = &links[holder.0].name;
        let whose = match holder.1 {
            None => format!("link {link} ({})", show_rate(room)),
            Some(class) => format!("class `{}` ({}) on link {link}", classes[class].name, show_rate(room)),
        };
        let total = show_rate(u64::try_from(ledger.total).unwrap_or(u64::MAX));
        let message = format!("{total} is reserved on {whose}: flow `{flow}` is the first that does not fit");
        let complaint = Complaint::new(message).help(match holder.1 {
            None => "reserve less, or make the link faster",
            Some(_) => "reserve less, or reserve more for the class",
        });
        report.add(group.reserve_place, complaint);
    }
}

/// The most that can be reserved in a holder, in bit/s; `None` for a class without a reservation of
/// its own.
fn capacity((link, class): Holder, links: &[Link], classes: &[Class]) -> Option<u64> {
    match class {
        Some(class) => classes[class].contract.reserve_bits(),
        None => Some(links[link].rate_bits.min(links[link].port.ceiling.unwrap_or(u64::MAX))),
    }
}

/// The reservations of a group's members in a holder.
#[derive(Clone, Copy)]
struct GroupReservation {
    each: u128,
    members: u128,
}

impl Ledger {
    fn add(&mut self, reservation: GroupReservation, room: Option<u64>, group: usize) {
        let before = self.total;
        self.total += reservation.each * reservation.members;
        let Some(room) = room.map(u128::from) else { return };
        if self.total > room && self.tipped_by.is_none() {
            // As many members as still fit come before the one that does not.
            let fitting = room.saturating_sub(before) / reservation.each;
            self.tipped_by = Some((group, u64::try_from(fitting).unwrap_or(u64::MAX)));
        }
    }
}
