//! The contract that a flow or a class states.

use crate::error::{Complaint, Report};
use crate::keys::flow::{Flow, WhenWarned};
use crate::section::Settings;
use crate::units::{show_rate, show_time};
use std::collections::BTreeSet;
use tidegate_core::contract::Contract;
use tidegate_core::params::{Parameters, Value};
use tidegate_core::units::Span;

/// The contract of a flow or a class: its keys, defaults included.
#[derive(Clone, Debug, PartialEq)]
pub struct ContractSpec {
    /// Values by their key; a key without default that was not given is absent.
    pub values: Vec<(&'static str, Value)>,
}

impl ContractSpec {
    pub(crate) fn read(contract: &Settings) -> ContractSpec {
        ContractSpec { values: contract.values() }
    }

    /// The contract in the form for a scheduler. A rate that was read is in range.
    pub fn contract(&self) -> Contract {
        Contract::read(&self.values).unwrap_or_default()
    }

    /// The keys that at least one of these contracts sets or has a default for.
    pub fn stated<'c>(contracts: impl Iterator<Item = &'c ContractSpec>) -> BTreeSet<&'static str> {
        contracts.flat_map(|contract| contract.values.iter().map(|(name, _)| *name)).collect()
    }

    /// The value of a key, if it was set or has a default.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Reserved average rate in bit/s; `None` for a datagram flow.
    pub fn reserve_bits(&self) -> Option<u64> {
        self.bits("reserve")
    }

    /// Peak rate in bit/s; `None` where none is stated.
    pub(crate) fn peak_bits(&self) -> Option<u64> {
        self.bits("peak")
    }

    fn bits(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            Value::Rate(bits) => Some(*bits),
            _ => None,
        }
    }

    /// Average interval AI; `None` for a flow that is not monitored.
    pub fn interval(&self) -> Option<Span> {
        match self.value("interval")? {
            Value::Time(interval) => Some(*interval),
            _ => None,
        }
    }
}

/// Values measured by a rate mean nothing without one, and the peak rate bounds the average.
pub(crate) fn check_promise(stated: &Settings, reserves: bool, report: &mut Report) {
    let contract = ContractSpec::read(stated);
    if contract.interval() == Some(Span::ZERO) {
        report.add(stated.place_of("interval"), Complaint::new("`interval` is zero"));
    }
    if !reserves {
        for key in ["interval", "head_start", "workahead", "peak", "excess_burst", "peak_burst"] {
            if stated.is_given(key) {
                let message = format!("`{key}` has no effect on a flow without a reservation");
                report.add(stated.place_of(key), Complaint::new(message).help("give it a `reserve`"));
            }
        }
    }
    if let (Some(peak), Some(reserve)) = (contract.peak_bits(), contract.reserve_bits())
        && peak < reserve
    {
        let message = format!("`peak` ({}) is below `reserve` ({})", show_rate(peak), show_rate(reserve));
        report.add(stated.place_of("peak"), Complaint::new(message));
    }
}

/// A promise without a rate, or a warning without an interval, means nothing; `in_aggregates` when
/// links have profiles that its packets may be metered against.
pub(crate) fn check_warnings(flow: &Flow, contract: &ContractSpec, in_aggregates: bool, report: &mut Report) {
    check_promise(&flow.declaration.contract, contract.reserve_bits().is_some(), report);
    let monitored = contract.interval().is_some() || flow.declaration.profile.given || in_aggregates;
    if !monitored && flow.warned.given {
        let complaint = Complaint::new("a flow without `interval` is not monitored, and never warned");
        report.add(flow.warned.place, complaint.help("give it an `interval`"));
    }
    let source = flow.source.about();
    if *flow.warned == WhenWarned::Shrink && source.responsive {
        let message =
            format!("a {} source has no times of its own at which to send smaller packets", source.name);
        report.add(flow.warned.place, Complaint::new(message).help("use \"slow\""));
    }
}

/// Returns the complaint if W is less than the largest packet: a packet counts whole in the
/// workahead.
pub(crate) fn workahead_fault(contract: &Contract, largest: u32) -> Option<Complaint> {
    let workahead = contract.workahead.filter(|workahead| *workahead < largest)?;
    Some(Complaint::new(format!("`workahead` ({workahead}B) is less than a packet ({largest}B)")))
}

/// Returns the complaint if not even one packet may be sent in an average interval: 1/AR ≤ AI.
pub(crate) fn interval_fault(contract: &Contract, largest: u32) -> Option<Complaint> {
    let (interval, rate) = (contract.interval?, contract.reserve?);
    let least = rate.time_for(largest);
    if interval == Span::ZERO || interval >= least {
        return None;
    }
    Some(Complaint::new(format!(
        "`interval` ({}) is shorter than a packet's time at `reserve` (1/AR), {}",
        show_time(interval),
        show_time(least)
    )))
}
