//! Scenarios: read, checked and expanded, ready to be simulated.

mod abr;
mod admission;
mod assurance;
mod credit;
mod distances;
pub(crate) mod flows;
mod framing;
mod gate;
mod headers;
mod limits;
mod load;
mod marking;
mod metered;
pub(crate) mod multipath;
mod network;
mod own_cells;
mod placed;
pub(crate) mod policies;
mod profiles;
mod reservations;
mod routing;
mod spread;
mod stages;
mod warnings;
mod whole;

pub use admission::Admission;
pub use assurance::{Assurance, Destinations};
pub use credit::{CreditLinks, LinkCredit, OutputCredit};
pub(crate) use flows::ANSWERS;
pub use flows::{ChangeSpec, Flow, FlowGroup, WhenWarned};
pub use headers::HeadersSpec;
pub use load::{Load, Played};
pub use multipath::Paths;
pub use network::{Link, Node, NodeKind};
pub use placed::StageSpec;
pub use profiles::Profile;
pub use routing::{Router, route};
pub use whole::Scenario;

use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place, Report};
use crate::file::{self, File};
use crate::gate::GateFile;
use crate::keys;
use crate::keys::routing::Routing;
use crate::port::{ContractSpec, classes};
use crate::units::show_time;
use policies::ScenarioParts;
use std::path::Path;
use tidegate_core::units::Span;

/// The most points in a series: a finer `sample` fills the memory rather than a plot.
const MAX_SAMPLES: u64 = 1_000_000;
/// Points in a series when `sample` is left out.
const DEFAULT_SAMPLES: u64 = 600;

impl Scenario {
    /// Reads the scenario file at `path`, with overrides as in [`Scenario::parse`].
    ///
    /// # Errors
    /// When the file cannot be read, is larger than 8 MiB, or holds mistakes; every one is listed.
    pub fn load(path: &Path, sets: &[(String, String)]) -> Result<Scenario, FormatErrors> {
        let (text, file_name) = file::load(keys::scenario(), path)?;
        Scenario::parse(&text, &file_name, path.parent().unwrap_or(Path::new("")), sets)
    }

    /// Reads a scenario from its text. `file_name` is for messages, relative paths in the scenario
    /// start at `base_dir`, and `sets` are overrides, applied in order: a path such as
    /// `flow.voice.source.rate` and a value, which is TOML if it parses as such and plain text
    /// otherwise.
    ///
    /// # Errors
    /// When the text or the overrides hold mistakes; all that are found at once are listed, the
    /// first in the file first.
    pub fn parse(
        text: &str,
        file_name: &str,
        base_dir: &Path,
        sets: &[(String, String)],
    ) -> Result<Scenario, FormatErrors> {
        let File { origin, keys, effective, texts, mut report } =
            File::read(keys::scenario(), text, file_name, sets)?;
        let gate = gate::load(&keys, base_dir, &origin, &mut report)?;
        let expanded = expand(gate, &keys, file_name, base_dir, effective, &origin, &mut report);
        report.check(&origin)?;
        let scenario = expanded.ok_or_else(|| file::unexplained(&origin))?;
        Ok(Scenario { texts, ..scenario })
    }

    /// The flows one by one: groups in order, members in order.
    pub fn flows(&self) -> impl Iterator<Item = Flow<'_>> {
        self.groups.iter().enumerate().flat_map(|(index, group)| group.members(index))
    }

    /// Checks the flows' reservations and their requirements of the policies on their way, now that
    /// the load of each recording is known.
    ///
    /// # Errors
    /// The first mistake in the file, when they do not fit.
    pub fn check_recorded(&self, loads: &[Load]) -> Result<(), Box<FormatError>> {
        let mut report = Report::default();
        self.check_loads(loads, &mut report);
        limits::check_recorded_ticks(&self.groups, loads, &self.links, &self.classes, &mut report);
        let Err(mistakes) = report.check(&self.origin) else { return Ok(()) };
        mistakes.errors.into_iter().next().map_or(Ok(()), |first| Err(Box::new(first)))
    }

    fn check_loads(&self, loads: &[Load], report: &mut Report) {
        let Scenario { links, nodes, classes, profiles, groups, admission, .. } = self;
        // With admission, the set-up of a flow decides whether it fits.
        if admission.is_none() {
            reservations::check(links, nodes, classes, groups, loads, report);
        }
        let parts = ScenarioParts { links, nodes, classes, profiles, groups, loads, admission: *admission };
        policies::check(&parts, report);
        profiles::check_weights(profiles, groups, report);
        metered::check(&parts, report);
        marking::check(&parts, report);
        framing::check(&parts, report);
        spread::check(&parts, report);
        stages::check(&parts, report);
    }

    /// The contracts of flows and profiles; a group of flows counts once.
    pub fn contracts(&self) -> impl Iterator<Item = &ContractSpec> {
        let flows = self.groups.iter().map(|group| &group.contract);
        flows.chain(self.profiles.iter().map(|profile| &profile.contract))
    }

    /// Number of flows; `capture` sources that bring their own flows count as one.
    pub fn flow_count(&self) -> usize {
        self.groups.iter().map(|group| group.count as usize).sum()
    }

    /// Number of quantities that a run records over time.
    pub fn series(&self) -> u64 {
        let Scenario { links, nodes, classes, groups, .. } = self;
        let own = limits::series(links, metered::coloured(links, nodes, classes, groups), groups);
        own + stages::series(links, groups)
    }

    /// The scenario's text with the overrides applied, comments kept.
    pub fn to_toml(&self) -> &str {
        &self.effective
    }

    /// Every text that is a value in its file, once and in order: any of them may name a file.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// A mistake found only later, at a place that the scenario remembers.
    pub fn error_at(&self, place: Place, message: impl Into<String>, help: Option<String>) -> FormatError {
        self.origin.error(place, Complaint { message: message.into(), help })
    }
}

/// Builds a scenario whose parts fit each other from values that each fit their record. `None` only
/// after something was reported.
fn expand(
    gate: Option<GateFile>,
    keys: &keys::scenario::Scenario,
    file_name: &str,
    base_dir: &Path,
    effective: String,
    origin: &Origin,
    report: &mut Report,
) -> Option<Scenario> {
    let stem = || Path::new(file_name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let times = times(keys, report);
    let mut network = network::build(keys, gate.as_ref(), base_dir, report)?;
    let classes = classes::build(keys.class.iter().map(|class| (class.place, &**class)), report)?;
    keys.class.iter().for_each(|class| classes::check_burst(class, class.ceiling.given, report));
    let profiles = profiles::build(&keys.profile, report)?;
    profiles::give_to_links(&keys.link, &profiles, &classes, &mut network, report);
    let context = flows::Surroundings {
        network: &network,
        classes: &classes,
        profiles: &profiles,
        routing: &keys.routing,
        seed: *keys.seed,
        base_dir,
    };
    let groups = flows::build(&keys.flow, &keys.connection, &context, report)?;
    let admission = keys.admission.as_ref().map(Admission::read);
    match &admission {
        // The set-up of a flow then decides whether it fits.
        Some(_) if gate.is_some() => gate::refuse_admission(keys.admission.place, report),
        Some(_) => admission::check(&groups, report),
        None => {
            admission::check_absent(&groups, report);
        }
    }
    let (duration, warmup, sample) = times?;
    let assurance = keys.assurance.as_ref();
    let assurance = assurance.map(|keys| Assurance::read(keys, &network, report));
    let stages = placed::build(&keys.stages.0, &network.nodes, gate.is_some(), report);
    let scenario = Scenario {
        name: keys.name.value.clone().or_else(stem).unwrap_or_default(),
        seed: *keys.seed,
        duration,
        warmup,
        sample,
        nodes: network.nodes,
        links: network.links,
        has_multipath: matches!(*keys.routing, Routing::Ecmp(_)),
        push_out: *keys.switch.push_out,
        gate,
        classes,
        profiles,
        admission,
        assurance,
        groups,
        stages,
        effective,
        texts: Vec::new(),
        origin: origin.clone(),
    };
    let loads: Vec<Load> =
        scenario.groups.iter().enumerate().map(|(index, group)| Load::of_group(index, group)).collect();
    scenario.check_loads(&loads, report);
    limits::check_ticks(&scenario.groups, &scenario.links, &scenario.classes, report);
    limits::check_series(&keys.sample, (duration, sample), scenario.series(), report);
    Some(scenario)
}

/// Duration, warm-up and sample.
fn times(keys: &keys::scenario::Scenario, report: &mut Report) -> Option<(Span, Span, Span)> {
    let (duration, warmup) = (*keys.duration, *keys.warmup);
    if duration == Span::ZERO {
        report.add(keys.duration.place, Complaint::new("`duration` is zero"));
        return None;
    }
    if warmup >= duration {
        let message = format!(
            "`warmup` ({}) is not shorter than `duration` ({}): nothing would be measured",
            show_time(warmup),
            show_time(duration)
        );
        report.add(keys.warmup.place, Complaint::new(message));
    }
    let default_sample = Span::from_ticks((duration.ticks() / DEFAULT_SAMPLES).max(1));
    let sample = keys.sample.unwrap_or(default_sample);
    if sample == Span::ZERO {
        report.add(keys.sample.place, Complaint::new("`sample` is zero"));
        return None;
    }
    if duration.ticks() / sample.ticks() > MAX_SAMPLES {
        let message =
            format!("`sample` ({}) gives more than {MAX_SAMPLES} points in each series", show_time(sample));
        report.add(keys.sample.place, Complaint::new(message));
    }
    Some((duration, warmup, sample))
}
