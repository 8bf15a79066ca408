//! One replication of a scenario.

use crate::error::TidegateError;
use crate::packet_log;
use crate::policies::failure;
use crate::scenario::Scenario;
use crate::table::handed_over;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidegate_core::scheduler::Hold;
use tidegate_core::switch::Block;
use tidegate_core::units::{Span, Time};
use tidegate_sim::capture::{CaptureFiles, FileError, Wanted};
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::input::TraceFlow;
use tidegate_sim::network::{Life, Network};
use tidegate_sim::probe::Probes;
use tidegate_sim::results::tables;
use tidegate_sim::source::Traffic;
use tidegate_sim::watch::{Cause, Served, Waiting, Watch, WatchedHop};
use tidegate_sim::world::{Overflow, World};

/// Maximum number of flows with delay quantiles of their own; with more flows, only the groups have
/// them.
const MAX_FLOW_DELAYS: usize = 500;

/// One replication of a scenario, under one seed.
#[pyclass(frozen, module = "tidegate._tidegate")]
pub struct Run {
    // Python may hand a run from thread to thread; one works on it at a time.
    world: Mutex<World<Calendar>>,
    captures: Mutex<CaptureFiles>,
    network: Arc<Network>,
    replication: u64,
    seed: u64,
}

#[pymethods]
impl Run {
    /// Prepares a run. `series` records queues and throughput over time; `watch` follows a flow's
    /// packets and keeps the given number of the slowest; `workahead` are factors on reserved rates
    /// at which the exact W of every flow is measured along its route; `captures` are links, by
    /// index, and the files of the packets that leave them, which are there when the run is over.
    #[new]
    #[pyo3(signature = (
        scenario, seed, replication = 0, series = false, watch = None, workahead = Vec::new(), captures = Vec::new()
    ))]
    #[allow(clippy::too_many_arguments, reason = "Python gives them by name")]
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        seed: u64,
        replication: u64,
        series: bool,
        watch: Option<(String, usize)>,
        workahead: Vec<f64>,
        captures: Vec<Wanted>,
    ) -> PyResult<Run> {
        let network = scenario.network.clone();
        let watch = watch
            .map(|(name, keep)| match network.flows.iter().position(|flow| flow.name == name) {
                Some(flow) => Ok(Watch::new(flow as u32, keep)),
                None => Err(TidegateError::new_err(format!("there is no flow `{name}`"))),
            })
            .transpose()?;
        let probes = Probes {
            delays: true,
            flow_delays: network.flows.len() <= MAX_FLOW_DELAYS,
            sample: series.then_some(scenario.spec.sample),
            workahead,
            watch,
            captured: captures.iter().flat_map(|(links, _)| links).copied().collect(),
            log: false,
        };
        let files = CaptureFiles::create(&network, &captures).map_err(unwritten)?;
        let run = Run::under(py, network, seed, replication, &probes)?;
        Ok(Run { captures: Mutex::new(files), ..run })
    }

    /// Prepares a run that keeps every packet's events.
    #[staticmethod]
    fn logged(py: Python<'_>, scenario: &Scenario, seed: u64) -> PyResult<Run> {
        Run::under(py, scenario.network.clone(), seed, 0, &Probes { log: true, ..Probes::default() })
    }

    /// Prepares a run of so many seconds in which flows, by index, send the given packets in place of
    /// their own: pairs of ticks (10 ps) from the start of the run and bytes, in order of time. It
    /// measures all of it, and keeps the slowest packet of `flow`, an index.
    #[staticmethod]
    fn playing(
        py: Python<'_>,
        scenario: &Scenario,
        seed: u64,
        packets: BTreeMap<usize, Vec<(u64, u32)>>,
        flow: usize,
        seconds: f64,
    ) -> PyResult<Run> {
        let mut network = (*scenario.network).clone();
        for (ix, packets) in packets {
            let unknown = || TidegateError::new_err(format!("there is no flow {ix}"));
            let sends = network.flows.get_mut(ix).ok_or_else(unknown)?;
            let packets = packets.into_iter().map(|(at, len)| (Span::from_ticks(at), len)).collect();
            let flow = TraceFlow { name: String::new(), packets, period: Span::ZERO, headers: None };
            sends.traffic = Traffic::Recorded { flow: Arc::new(flow), speed: 1.0, repeat: 1 };
            sends.life = Life::default();
        }
        network.duration = Span::from_secs_f64(seconds);
        network.warmup = Span::ZERO;
        let probes = Probes { watch: Some(Watch::new(flow as u32, 1)), ..Probes::default() };
        Run::under(py, Arc::new(network), seed, 0, &probes)
    }

    /// Carries out at most `events` events without holding the interpreter's lock. True when
    /// the run is over.
    fn advance(&self, py: Python<'_>, events: u64) -> PyResult<bool> {
        let advanced = self.advance_captured(py, events);
        if advanced.is_err() {
            self.captures().abandon();
        }
        advanced
    }

    /// Progress of the run, 0 to 1.
    #[getter]
    fn progress(&self) -> f64 {
        self.world().progress()
    }

    /// The outcome so far in one number, as 16 hexadecimal digits.
    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:016x}", self.world().fingerprint())
    }

    /// Packets that have left an output port.
    #[getter]
    fn packet_hops(&self) -> u64 {
        self.world().packet_hops()
    }

    /// Bytes of memory that the switches hold for flows and packets.
    #[getter]
    fn memory(&self) -> usize {
        self.world().memory()
    }

    /// The result tables so far, by name.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = py.detach(|| tables(&self.network, &self.world(), self.replication, self.seed));
        let named = PyDict::new(py);
        for table in made {
            named.set_item(table.record.name, handed_over(py, table)?)?;
        }
        Ok(named)
    }

    /// The events of packets so far, in order, if they were asked for: a list for each column. Times
    /// are nanoseconds from the start of the run; `length` is 0 where an event has none.
    fn log<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        packet_log::columns(py, self.world().log())
    }

    /// The traffic terms of the watched flow: `reserve` in bit/s and `bucket` in seconds at that
    /// rate, or `None` without a bucket. `None` for a datagram flow, and when nothing is watched.
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(terms) = self.world().watch().and_then(Watch::terms) else { return Ok(None) };
        let entry = PyDict::new(py);
        entry.set_item("reserve", terms.reserve.bits_per_second().round() as u64)?;
        entry.set_item("bucket", terms.bucket.map(Span::as_secs_f64))?;
        Ok(Some(entry))
    }

    /// The slowest packets of the watched flow, the slowest first: dictionaries with times in
    /// seconds from the start of the run.
    fn slowest<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let world = self.world();
        let Some(watch) = world.watch() else { return Ok(list) };
        for journey in watch.slowest() {
            let entry = PyDict::new(py);
            entry.set_item("sequence", journey.sequence)?;
            entry.set_item("bytes", journey.len)?;
            entry.set_item("delay", journey.delay.as_secs_f64())?;
            entry.set_item("earlier", journey.earlier.as_secs_f64())?;
            let last = journey.hops.last().map(|hop| &self.network.links[hop.link as usize]);
            entry.set_item("to", last.map(|link| &self.network.nodes[link.to].name))?;
            entry.set_item("destinations", self.network.flows[watch.flow()].destinations())?;
            entry.set_item("ahead", journey.ahead.map(Span::as_secs_f64))?;
            entry.set_item("arrived", seconds(journey.arrived))?;
            let hops = PyList::empty(py);
            for (place, hop) in journey.hops.iter().enumerate() {
                hops.append(self.hop(py, hop, &watch.waiting(hop), watch.counts_held(journey, place))?)?;
            }
            entry.set_item("hops", hops)?;
            list.append(entry)?;
        }
        Ok(list)
    }
}

impl Run {
    fn under(
        py: Python<'_>,
        network: Arc<Network>,
        seed: u64,
        replication: u64,
        probes: &Probes,
    ) -> PyResult<Run> {
        let made = py.detach(|| World::new(&network, seed, probes));
        if let Some(failed) = failure::take(py) {
            return Err(failed);
        }
        let world = made.map_err(|refused| TidegateError::new_err(refused.to_string()))?;
        Ok(Run { world: Mutex::new(world), captures: Mutex::default(), network, replication, seed })
    }

    /// Does what `advance` does; after an error the files of captures are to be given up.
    fn advance_captured(&self, py: Python<'_>, events: u64) -> PyResult<bool> {
        let (over, overflow, written) = py.detach(|| {
            let mut world = self.world();
            let over = world.advance(events);
            (over, world.overflow(), self.captures().write(&world.take_captured()))
        });
        if let Some(failed) = failure::take(py) {
            return Err(failed);
        }
        written.map_err(unwritten)?;
        if let Some(overflow) = overflow {
            return Err(TidegateError::new_err(self.too_many(&overflow)));
        }
        if over {
            self.captures().finish().map_err(unwritten)?;
        }
        Ok(over)
    }

    /// The message about a network that holds more packets than it may.
    fn too_many(&self, overflow: &Overflow) -> String {
        let Overflow { at, packets, link, waiting } = *overflow;
        format!(
            "not enough memory: after {:.4} s of the run {packets} packets are in the network, {waiting} of them in \
             front of link {}; a limit such as switch = {{ buffer = \"1000p\" }} keeps them out, and so does less \
             traffic or a faster link",
            seconds(at),
            self.network.links[link].name
        )
    }

    /// The parts of a packet's time at a hop, except for other packets: the causes that held it
    /// back, its transmission and its flight.
    fn causes(&self, hop: &WatchedHop, waiting: &Waiting, counts_held: bool) -> Vec<(&'static str, Span)> {
        let mut causes = Vec::new();
        if counts_held {
            causes.push(("shaper", hop.held));
        }
        causes.extend(waiting.causes.iter().filter_map(|(cause, took)| Some((name_of(*cause)?, *took))));
        if let (Some(started), Some(departed), Some(landed)) = (hop.started, hop.departed, hop.landed) {
            let flight = landed.since(departed);
            let link = &self.network.links[hop.link as usize];
            let propagation = flight.min(link.delay);
            let beyond = if link.jitter.happens() || link.delays.is_some() { "jitter" } else { "reordering" };
            causes.push(("transmission", departed.since(started)));
            causes.push(("propagation", propagation));
            causes.push((beyond, flight - propagation));
        }
        causes.retain(|(_, took)| *took > Span::ZERO);
        causes
    }

    fn captures(&self) -> MutexGuard<'_, CaptureFiles> {
        self.captures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn world(&self) -> MutexGuard<'_, World<Calendar>> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hop<'py>(
        &self,
        py: Python<'py>,
        hop: &WatchedHop,
        waiting: &Waiting,
        counts_held: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let entry = PyDict::new(py);
        entry.set_item("link", &self.network.links[hop.link as usize].name)?;
        entry.set_item("arrived", seconds(hop.arrived))?;
        entry.set_item("held", hop.held.as_secs_f64())?;
        entry.set_item("queue", hop.queue)?;
        entry.set_item("started", hop.started.map(seconds))?;
        entry.set_item("stamp", hop.stamp)?;
        let list = PyList::empty(py);
        for Served { flow, packets, bytes, took } in &waiting.served {
            let served = PyDict::new(py);
            served.set_item("flow", &self.network.flows[*flow as usize].name)?;
            served.set_item("packets", packets)?;
            served.set_item("bytes", bytes)?;
            served.set_item("took", took.as_secs_f64())?;
            list.append(served)?;
        }
        entry.set_item("before", list)?;
        let causes = PyDict::new(py);
        for (cause, took) in self.causes(hop, waiting, counts_held) {
            causes.set_item(cause, took.as_secs_f64())?;
        }
        entry.set_item("causes", causes)?;
        Ok(entry)
    }
}

/// The error for a capture that cannot be written.
fn unwritten(error: FileError) -> PyErr {
    TidegateError::new_err(error.to_string())
}

/// The name of a cause of waiting; `None` for packets.
fn name_of(cause: Cause) -> Option<&'static str> {
    Some(match cause {
        Cause::Packet(_) => return None,
        Cause::OwnCell => "credit cells",
        Cause::NoOpportunity => "no opportunity",
        Cause::Block(Block::NoPart) => "no credit",
        Cause::Block(Block::FlowCeiling) => "flow ceiling",
        Cause::Block(Block::ClassCeiling) => "class ceiling",
        Cause::Block(Block::PortCeiling) => "port ceiling",
        Cause::Block(Block::Scheduler(Hold::Slot)) => "slot",
        Cause::Block(Block::Scheduler(Hold::Regulator)) => "not eligible",
        Cause::Unknown => "unknown",
    })
}

/// Seconds from the start of the run.
fn seconds(time: Time) -> f64 {
    time.since(Time::ORIGIN).as_secs_f64()
}
