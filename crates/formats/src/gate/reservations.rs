//! Checks that reservations fit: in their class if that reserves, and on the link.

use super::circuits::Listing;
use super::{GateClass, GateFlow};
use crate::error::{Complaint, FormatErrors, Report};
use crate::units::show_rate;
use tidegate_core::classifier::rules::Direction;

/// A reservation: of a flow, or of a circuit.
struct Reservation<'a> {
    flow: &'a GateFlow,
    /// The list and the number of a circuit, where it is one.
    circuit: Option<(&'a Listing, u32)>,
    class: Option<usize>,
    bits: u64,
}

/// Adds up the reservations in each direction, in the order of the file: in bit/s, of the link, up
/// first. Reports the first reservation that does not fit.
pub(super) fn check(
    flows: &[GateFlow],
    listings: &[Option<Listing>],
    classes: &[GateClass],
    rates: [u64; 2],
    report: &mut Report,
) -> [u64; 2] {
    let mut reserved = [0; 2];
    for direction in Direction::BOTH {
        let mut ledger = Ledger::new(classes, rates[direction as usize], direction);
        let reservations = flows
            .iter()
            .zip(listings)
            .flat_map(|(flow, listing)| reservations(flow, listing.as_ref(), direction));
        let overdrawn =
            reservations.into_iter().find_map(|reservation| Some((ledger.add(&reservation)?, reservation)));
        reserved[direction as usize] = u64::try_from(ledger.totals[classes.len()]).unwrap_or(u64::MAX);
        let Some((overdraft, reservation)) = overdrawn else { continue };
        match reservation.circuit {
            None => {
                let message =
                    format!("{overdraft}: flow `{}` is the first that does not fit", reservation.flow.name);
                report.add(reservation.flow.place, Complaint::new(message).help("reserve less"));
            }
            Some((listing, circuit)) => {
                let name = listing.circuits.name(circuit);
                let message = format!("{overdraft}: circuit `{name}` is the first that does not fit");
                let complaint = Complaint::new(message).help(
                    "reserve what everybody gets when all send at once; the ceiling is what a \
                           subscriber may reach",
                );
                let error = listing.error_at_reserve(circuit, direction, complaint);
                report.say_elsewhere(FormatErrors::from(error));
            }
        }
        return reserved;
    }
    reserved
}

/// The holders of reservations in a direction: a flow, or its circuits. The number of flows of a
/// rule with `each` is unknown; at least one has to fit.
fn reservations<'a>(
    flow: &'a GateFlow,
    listing: Option<&'a Listing>,
    direction: Direction,
) -> Vec<Reservation<'a>> {
    if flow.matching.direction.is_some_and(|only| only != direction) {
        return Vec::new();
    }
    let common = flow.terms[direction as usize].reserve;
    let Some(listing) = listing else {
        let alone = |bits| Reservation { flow, circuit: None, class: flow.class, bits };
        return common.map(alone).into_iter().collect();
    };
    let each = (0..listing.circuits.len() as u32).filter_map(|circuit| {
        let terms = listing.circuits.terms(circuit);
        let own = terms.reserve[direction as usize].map(|rate| rate.bits_per_second().round() as u64);
        let class = terms.class.map(usize::from).or(flow.class);
        Some(Reservation { flow, circuit: Some((listing, circuit)), class, bits: own.or(common)? })
    });
    each.collect()
}

/// Rates reserved so far in each class, and on the link.
struct Ledger<'a> {
    classes: &'a [GateClass],
    rate: u64,
    direction: Direction,
    /// By class; the link's comes last.
    totals: Vec<u128>,
    /// Classes whose own reservation is booked above them.
    counted: Vec<bool>,
}

impl Ledger<'_> {
    fn new(classes: &[GateClass], rate: u64, direction: Direction) -> Ledger<'_> {
        let (totals, counted) = (vec![0; classes.len() + 1], vec![false; classes.len()]);
        Ledger { classes, rate, direction, totals, counted }
    }

    /// Books a reservation from its class upwards; names the holder that has too little for it.
    fn add(&mut self, reservation: &Reservation<'_>) -> Option<String> {
        let mut bits = u128::from(reservation.bits);
        let mut holder = reservation.class;
        let mut overdraft = None;
        loop {
            let (place, room) = match holder {
                // A class without a reservation gets no more than its ceiling.
                Some(class) => (class, self.reserved(class).or(self.ceiling(class))),
                None => (self.classes.len(), Some(self.rate)),
            };
            self.totals[place] += bits;
            if let Some(room) = room.filter(|room| self.totals[place] > u128::from(*room)) {
                overdraft = overdraft.or_else(|| Some(self.overdraft(holder, room, self.totals[place])));
            }
            let Some(class) = holder else { return overdraft };
            if let Some(reserve) = self.reserved(class) {
                // A class asks the scheduler above for its own reservation, whatever its content.
                bits =
                    if std::mem::replace(&mut self.counted[class], true) { 0 } else { u128::from(reserve) };
            }
            holder = self.classes[class].class.parent;
        }
    }

    fn reserved(&self, class: usize) -> Option<u64> {
        self.classes[class].terms[self.direction as usize].reserve
    }

    fn ceiling(&self, class: usize) -> Option<u64> {
        self.classes[class].terms[self.direction as usize].ceiling
    }

    fn overdraft(&self, holder: Option<usize>, room: u64, total: u128) -> String {
        let (room, direction) = (show_rate(room), self.direction.name());
        let total = show_rate(u64::try_from(total).unwrap_or(u64::MAX));
        match holder {
            Some(class) => {
                let name = &self.classes[class].class.name;
                format!("{total} is reserved on class `{name}` ({room}) {direction}")
            }
            None => format!("{total} is reserved on the link {direction} ({room})"),
        }
    }
}
