//! A scenario, read and built.

use crate::TidegateError;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_sim::build::build;
use tidegate_sim::network::Network;

/// A scenario that was read without a mistake, with the network that it describes.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Scenario {
    pub(crate) spec: tidegate_spec::Scenario,
    pub(crate) network: Arc<Network>,
    base_dir: PathBuf,
}

fn wrong(message: impl ToString) -> PyErr {
    TidegateError::new_err(message.to_string())
}

impl Scenario {
    fn new(
        py: Python<'_>,
        spec: Result<tidegate_spec::Scenario, tidegate_spec::SpecErrors>,
        base_dir: &Path,
    ) -> PyResult<Scenario> {
        let spec = spec.map_err(wrong)?;
        let network = py.detach(|| build(&spec)).map_err(wrong)?;
        Ok(Scenario { spec, network: Arc::new(network), base_dir: base_dir.to_owned() })
    }
}

#[pymethods]
impl Scenario {
    /// Reads the scenario file at `path`; `sets` are (path, value) overrides.
    #[staticmethod]
    #[pyo3(signature = (path, sets = Vec::new()))]
    fn load(py: Python<'_>, path: PathBuf, sets: Vec<(String, String)>) -> PyResult<Scenario> {
        let base_dir = path.parent().unwrap_or(Path::new(""));
        Scenario::new(py, tidegate_spec::Scenario::load(&path, &sets), base_dir)
    }

    /// Reads a scenario from its text; relative paths in it start at `base_dir`.
    #[staticmethod]
    #[pyo3(signature = (text, name = "scenario", base_dir = PathBuf::from("."), sets = Vec::new()))]
    fn parse(
        py: Python<'_>,
        text: &str,
        name: &str,
        base_dir: PathBuf,
        sets: Vec<(String, String)>,
    ) -> PyResult<Scenario> {
        Scenario::new(py, tidegate_spec::Scenario::parse(text, name, &base_dir, &sets), &base_dir)
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

    /// Where relative paths in it start.
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

    /// How many quantities a run records over time.
    #[getter]
    fn series(&self) -> u64 {
        self.spec.series()
    }

    /// How many times a run records each of them.
    #[getter]
    fn samples(&self) -> u64 {
        self.spec.duration.ticks() / self.spec.sample.ticks()
    }

    /// What is no mistake, and yet is seldom meant, each with its place.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.spec.warnings().iter().map(ToString::to_string).collect()
    }

    /// Its text, overrides applied, comments kept.
    #[getter]
    fn toml(&self) -> &str {
        self.spec.to_toml()
    }
}
