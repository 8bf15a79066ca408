//! Finite transfers of connections: their sizes, and the times at which they begin.

use super::rates::fail;
use crate::input;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_core::endpoint::period::Period;
use tidegate_core::endpoint::transfers::{Arrivals, Distribution, Sizes, Transfers};
use tidegate_core::units::Span;
use tidegate_formats::{
    Application, FlowGroup, FormatError, Lasts, Scenario, Source, TransferArrivals, TransferSizes,
};

/// Distributions of sizes that files hold, each read once.
#[derive(Default)]
pub(super) struct SizeFiles(BTreeMap<PathBuf, Arc<Distribution>>);

impl SizeFiles {
    fn sizes(
        &mut self,
        stated: &TransferSizes,
        group: &FlowGroup,
        scenario: &Scenario,
    ) -> Result<Sizes, Box<FormatError>> {
        Ok(match stated {
            TransferSizes::Fixed(bytes) => Sizes::Fixed(*bytes),
            TransferSizes::OneOf(sizes) => Sizes::OneOf(sizes.as_slice().into()),
            TransferSizes::Exponential(mean) => Sizes::Exponential(*mean),
            TransferSizes::WebSearch => Sizes::Distribution(Arc::new(Distribution::web_search())),
            TransferSizes::Hadoop => Sizes::Distribution(Arc::new(Distribution::hadoop())),
            TransferSizes::File(file) => {
                if let Some(read) = self.0.get(file) {
                    return Ok(Sizes::Distribution(read.clone()));
                }
                let read = input::load_sizes(file);
                let read =
                    Arc::new(read.map_err(|error| fail(scenario, group.place, error.to_string(), None))?);
                self.0.insert(file.clone(), read.clone());
                Sizes::Distribution(read)
            }
        })
    }

    /// Returns the transfers of a member of the group.
    pub(super) fn transfers(
        &mut self,
        (stated, arrivals): (&TransferSizes, TransferArrivals),
        group: &FlowGroup,
        scenario: &Scenario,
    ) -> Result<Transfers, Box<FormatError>> {
        let sizes = self.sizes(stated, group, scenario)?;
        let arrivals = match arrivals {
            TransferArrivals::AfterThink(think) => Arrivals::AfterThink(period(think)),
            TransferArrivals::Once { .. } => Arrivals::Once,
            TransferArrivals::Poisson { load } => {
                let of_group = interval(&sizes, load, group);
                Arrivals::Poisson(Span::from_ticks(of_group.ticks().saturating_mul(u64::from(group.of))))
            }
        };
        Ok(Transfers { sizes, arrivals })
    }

    /// Returns the mean time from the start of one member of the group to that of the next, if the
    /// load of its transfers gives it or the group states it; `None` if all start at once.
    pub(super) fn every(
        &mut self,
        group: &FlowGroup,
        scenario: &Scenario,
    ) -> Result<Option<Span>, Box<FormatError>> {
        let Source::Sender { application, .. } = &group.source else { return Ok(group.every) };
        let Application::Transfers { sizes, arrivals: TransferArrivals::Once { load: Some(load) } } =
            application
        else {
            return Ok(group.every);
        };
        let sizes = self.sizes(sizes, group, scenario)?;
        Ok(Some(interval(&sizes, *load, group)))
    }
}

/// Returns a duration of an application.
pub(super) fn period(lasts: Lasts) -> Period {
    match lasts {
        Lasts::Fixed(span) => Period::Fixed(span),
        Lasts::Exponential(mean) => Period::Exponential(mean),
    }
}

/// Returns the mean time from one transfer of the group to the next at this load.
fn interval(sizes: &Sizes, load: f64, group: &FlowGroup) -> Span {
    Span::from_secs_f64(sizes.mean() * 8.0 / (load * group.load_rate as f64)).max(Span::TICK)
}
