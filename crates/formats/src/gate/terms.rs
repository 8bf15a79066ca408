//! Reservations and ceilings whose two directions differ.

use crate::error::{Complaint, Place, Report};
use crate::keys::gate::{self, Directions};
use crate::port::{Class, ContractSpec, DropperSpec};
use crate::units::show_rate;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::contract::Contract;
use tidegate_core::switch::plan::ClassPlan;
use tidegate_core::units::Rate;

/// The reservation and ceiling in one direction, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DirectionTerms {
    /// Reserved rate; `None` for none.
    pub reserve: Option<u64>,
    /// The rate that is never exceeded; `None` for none.
    pub ceiling: Option<u64>,
}

impl DirectionTerms {
    /// The terms of both directions, up first, of a class or a flow.
    pub(super) fn read(
        keys: &Directions,
        contract: &ContractSpec,
        ceiling: Option<u64>,
        report: &mut Report,
    ) -> [DirectionTerms; 2] {
        let both = DirectionTerms { reserve: contract.reserve_bits(), ceiling };
        let Directions { up, down } = keys;
        let own = [
            (up.place, up.as_ref().map(|up| &up.terms)),
            (down.place, down.as_ref().map(|down| &down.terms)),
        ];
        own.map(|(place, own)| {
            let Some(gate::DirectionTerms { reserve, ceiling }) = own else { return both };
            let terms =
                DirectionTerms { reserve: reserve.or(both.reserve), ceiling: ceiling.or(both.ceiling) };
            terms.check(place, report);
            terms
        })
    }

    /// A ceiling below the reservation could never give the reservation.
    pub(super) fn check(&self, place: Place, report: &mut Report) {
        if let (Some(ceiling), Some(reserve)) = (self.ceiling, self.reserve)
            && ceiling < reserve
        {
            let message =
                format!("`ceiling` ({}) is below `reserve` ({})", show_rate(ceiling), show_rate(reserve));
            report.add(place, Complaint::new(message));
        }
    }

    /// The contract for a scheduler, of which this direction's reservation is part.
    pub(super) fn contract(&self, spec: &ContractSpec) -> Contract {
        Contract { reserve: self.reserve.and_then(Rate::from_bits_per_second), ..spec.contract() }
    }

    /// The ceiling for a switch.
    pub(super) fn ceiling(&self) -> Option<Rate> {
        self.ceiling.and_then(Rate::from_bits_per_second)
    }
}

/// One `[[class]]` of a gate.
#[derive(Clone, Debug)]
pub struct GateClass {
    /// Its properties in both directions.
    pub class: Class,
    /// Its reservation and ceiling in each direction, up first.
    pub terms: [DirectionTerms; 2],
}

impl GateClass {
    /// The class at the port of a direction, under these droppers.
    pub(super) fn plan(&self, direction: Direction, above: &[&DropperSpec]) -> ClassPlan {
        let terms = self.terms[direction as usize];
        ClassPlan {
            contract: terms.contract(&self.class.contract),
            ceiling: terms.ceiling(),
            ceiling_burst: terms.ceiling.and(self.class.ceiling_burst),
            ..self.class.plan(above)
        }
    }
}
