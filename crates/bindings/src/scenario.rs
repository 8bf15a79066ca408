//! A scenario, read and built.

use crate::bounds;
use crate::error::TidegateError;
use crate::interruptible::interruptible;
use crate::network;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_core::units::Span;
use tidegate_sim::assemble::{assemble, loads};
use tidegate_sim::demands::{Asks, demands};
use tidegate_sim::network::Network;

/// A scenario that was read without errors, with the network that it describes.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Scenario {
    pub(crate) spec: tidegate_formats::Scenario,
    pub(crate) network: Arc<Network>,
    base_dir: PathBuf,
}

impl Scenario {
    /// Reads and builds a scenario, which may take long: it may play large captures.
    fn new(
        py: Python<'_>,
        read: impl FnOnce() -> Result<tidegate_formats::Scenario, tidegate_formats::FormatErrors> + Send + 'static,
        base_dir: PathBuf,
    ) -> PyResult<Scenario> {
        let made = interruptible(py, move || {
            let spec = read().map_err(|errors| errors.to_string())?;
            let network = assemble(&spec).map_err(|error| error.to_string())?;
            Ok::<_, String>((spec, Arc::new(network)))
        })?;
        let (spec, network) = made.map_err(TidegateError::new_err)?;
        Ok(Scenario { spec, network, base_dir })
    }
}

#[pymethods]
impl Scenario {
    /// Reads the scenario file at `path`; `sets` are (path, value) overrides.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new()))]
    fn load(py: Python<'_>, path: PathBuf, sets: Vec<(String, String)>) -> PyResult<Scenario> {
        let base_dir = path.parent().unwrap_or(Path::new("")).to_owned();
        Scenario::new(py, move || tidegate_formats::Scenario::load(&path, &sets), base_dir)
    }

    /// Reads a scenario from its text; relative paths in it start at `base_dir`.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario", base_dir = PathBuf::from("."), sets = Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: String,
        name: &str,
        base_dir: PathBuf,
        sets: Vec<(String, String)>,
    ) -> PyResult<Scenario> {
        let (name, folder) = (name.to_owned(), base_dir.clone());
        Scenario::new(py, move || tidegate_formats::Scenario::parse(&text, &name, &folder, &sets), base_dir)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.spec.name
    }

    /// The seed of its first replication.
    #[getter]
    fn seed(&self) -> u64 {
        self.spec.seed
    }

    /// Simulated time in seconds.
    #[getter]
    fn duration(&self) -> f64 {
        self.spec.duration.as_secs_f64()
    }

    /// Seconds that are carried but not measured.
    #[getter]
    fn warmup(&self) -> f64 {
        self.spec.warmup.as_secs_f64()
    }

    /// The folder in which its relative paths start.
    #[getter]
    fn base_dir(&self) -> &Path {
        &self.base_dir
    }

    /// Names of the nodes.
    #[getter]
    fn nodes(&self) -> Vec<String> {
        self.network.nodes.iter().map(|node| node.name.clone()).collect()
    }

    /// Names of the groups of flows.
    #[getter]
    fn groups(&self) -> Vec<String> {
        self.network.groups.clone()
    }

    /// Names of the flows.
    #[getter]
    fn flows(&self) -> Vec<String> {
        self.network.flows.iter().map(|flow| flow.name.clone()).collect()
    }

    /// Names of the links.
    #[getter]
    fn links(&self) -> Vec<String> {
        self.network.links.iter().map(|link| link.name.clone()).collect()
    }

    /// Names of the schedulers at its ports and in its classes.
    #[getter]
    fn schedulers(&self) -> BTreeSet<&'static str> {
        let ports = self.network.links.iter().map(|link| &link.port);
        let kinds = ports.flat_map(|port| {
            std::iter::once(&port.scheduler).chain(port.classes.iter().map(|class| &class.scheduler))
        });
        kinds.map(|kind| kind.record().name).collect()
    }

    /// Number of quantities that a run records over time.
    #[getter]
    fn series(&self) -> u64 {
        self.spec.series()
    }

    /// Number of times that a run records each quantity.
    #[getter]
    fn samples(&self) -> u64 {
        self.spec.duration.ticks() / self.spec.sample.ticks()
    }

    /// Seconds from one sample of a series to the next.
    #[getter]
    fn sample(&self) -> f64 {
        self.spec.sample.as_secs_f64()
    }

    /// The capacities that flows share, links first and in their order: name, rate in bit/s,
    /// whether a switch sends on it, and the share of it that is to be used.
    fn capacities(&self) -> Vec<(String, f64, bool, f64)> {
        let (capacities, _) = demands(&self.spec, &self.network);
        capacities.into_iter().map(|one| (one.name, one.rate, one.switched, one.target)).collect()
    }

    /// The demand of each flow and the capacities that it uses, a dictionary for each; a flow that
    /// answers a connection is left out.
    fn demands<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (_, demands) = demands(&self.spec, &self.network);
        let entries = PyList::empty(py);
        for (flow, demand) in self.network.flows.iter().zip(demands) {
            let (everything, rate) = match demand.asks {
                Asks::Everything => (true, None),
                Asks::Rate(rate) => (false, Some(rate)),
                Asks::Unknown => (false, None),
                Asks::Nothing => continue,
            };
            let entry = PyDict::new(py);
            entry.set_item("flow", &flow.name)?;
            entry.set_item("group", &self.network.groups[flow.group])?;
            entry.set_item("receivers", self.spec.groups[flow.part].to.len())?;
            entry.set_item("capacities", demand.capacities)?;
            entry.set_item("parts", demand.parts)?;
            entry.set_item("everything", everything)?;
            entry.set_item("rate", rate)?;
            entry.set_item("ceiling", demand.ceiling)?;
            entry.set_item("start", demand.start.as_secs_f64())?;
            entry.set_item("stop", demand.stop.map(Span::as_secs_f64))?;
            entry.set_item("drawn", demand.drawn)?;
            entry.set_item("varies", demand.varies)?;
            entries.append(entry)?;
        }
        Ok(entries)
    }

    /// The network as JSON: nodes, links with their ports' policies, and flows with their routes.
    fn network_json(&self) -> String {
        network::json(&self.spec, &self.network).to_string()
    }

    /// Bounds on delays and backlogs as JSON, of every flow and link.
    fn bounds_json(&self, py: Python<'_>) -> PyResult<String> {
        let network = self.network.clone();
        interruptible(py, move || bounds::json(&network).to_string())
    }

    /// The contracts of all flows as JSON: the token buckets within which their traffic is, as
    /// fractions of bytes and of bytes a second.
    fn contracts_json(&self) -> String {
        bounds::contracts_json(&self.network).to_string()
    }

    /// Sends the packets of a record through the port of a link, in lockstep: packets, those that
    /// the record and the port dropped and marked, those whose fates differ, and the greatest time
    /// in seconds between two starts of service.
    fn lockstep<'py>(&self, py: Python<'py>, link: usize, record: &str) -> PyResult<Bound<'py, PyDict>> {
        let outcome = network::lockstep(&self.network, link, record).map_err(TidegateError::new_err)?;
        let made = PyDict::new(py);
        made.set_item("packets", outcome.packets)?;
        made.set_item("dropped", outcome.dropped)?;
        made.set_item("marked", outcome.marked)?;
        made.set_item("differing", outcome.differing)?;
        made.set_item("apart", outcome.apart.as_secs_f64())?;
        Ok(made)
    }

    /// Warnings about settings that are valid and yet seldom meant, each with its place.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        let loads = loads(&self.spec, &self.network);
        self.spec.warnings_of(&loads).iter().map(ToString::to_string).collect()
    }

    /// Pickles the scenario as its text, which is read again.
    fn __reduce__<'py>(slf: &Bound<'py, Scenario>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let this = slf.get();
        let file = format!("{}.toml", this.spec.name);
        let arguments = ("parse", this.spec.to_toml(), file, &this.base_dir);
        let parse = py.import("operator")?.getattr("methodcaller")?.call1(arguments)?;
        Ok((parse, (slf.get_type(),).into_pyobject(py)?.into_any()))
    }

    /// Notes on the recordings that it plays, one sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.network.notes.clone()
    }

    /// Its text, overrides applied, comments kept.
    #[getter]
    fn toml(&self) -> &str {
        self.spec.to_toml()
    }

    /// Every text that is a value in it, once and in order.
    #[getter]
    fn texts(&self) -> Vec<&str> {
        self.spec.texts().iter().map(String::as_str).collect()
    }
}
