//! Packets, contracts and queues as policies in Python see them. Times are ticks of 10 ps.

use super::verdict::shown;
use crate::error::TidegateError;
use pyo3::prelude::*;
use tidegate_core::contract::Contract;
use tidegate_core::dropper::Occupancy;
use tidegate_core::packet::{Colour, Packet};
use tidegate_core::units::Rate;

/// A packet as a policy in Python sees it.
#[pyclass(subclass, name = "Packet", module = "tidegate._tidegate")]
pub struct PyPacket {
    /// The flow's index at the port.
    #[pyo3(get)]
    flow: u32,
    /// Length in bytes.
    #[pyo3(get)]
    length: u32,
    /// Time of arrival, in ticks.
    #[pyo3(get)]
    arrived: u64,
    /// Differentiated services code point (RFC 2474).
    #[pyo3(get)]
    dscp: u8,
    /// ECN codepoint (RFC 3168).
    #[pyo3(get)]
    ecn: u8,
    /// The worse of the colour that was written on it and the drop precedence of its DSCP.
    colour: Colour,
    /// The policy's own.
    #[pyo3(get, set)]
    state: Option<Py<PyAny>>,
}

impl PyPacket {
    pub(super) fn of(packet: &Packet) -> PyPacket {
        PyPacket {
            flow: packet.flow.0,
            length: packet.len,
            arrived: packet.arrived.ticks(),
            dscp: packet.mark.dscp(),
            ecn: packet.mark.ecn(),
            colour: packet.mark.shown_colour(),
            state: None,
        }
    }
}

#[pymethods]
impl PyPacket {
    /// Colour with which it came (RFC 2697): `green`, `yellow` or `red`.
    #[getter]
    fn colour(&self) -> &'static str {
        name_of(self.colour)
    }

    fn __repr__(&self) -> String {
        format!("Packet(flow={}, length={}, arrived={})", self.flow, self.length, self.arrived)
    }
}

/// A packet as a meter sees it, which may colour it.
#[pyclass(extends = PyPacket, name = "MeteredPacket", module = "tidegate._tidegate")]
pub struct PyMeteredPacket {
    /// The colour that the meter has written.
    pub(super) written: Option<Colour>,
}

impl PyMeteredPacket {
    pub(super) fn of(packet: &Packet) -> PyClassInitializer<PyMeteredPacket> {
        PyClassInitializer::from(PyPacket::of(packet)).add_subclass(PyMeteredPacket { written: None })
    }
}

#[pymethods]
impl PyMeteredPacket {
    /// Its colour: the one with which it came, until another one is written.
    #[getter]
    fn colour(slf: PyRef<'_, Self>) -> &'static str {
        slf.written.map_or_else(|| slf.as_super().colour(), name_of)
    }

    #[setter]
    fn set_colour(&mut self, name: &Bound<'_, PyAny>) -> PyResult<()> {
        let given = name.extract::<String>().ok();
        let known = COLOURS.into_iter().find(|colour| given.as_deref() == Some(name_of(*colour)));
        self.written = Some(known.ok_or_else(|| {
            TidegateError::new_err(format!("{} is no colour: green, yellow or red", shown(name)))
        })?);
        Ok(())
    }
}

/// The colours, the best one first.
const COLOURS: [Colour; 3] = [Colour::Green, Colour::Yellow, Colour::Red];

/// The name of a colour.
pub(super) const fn name_of(colour: Colour) -> &'static str {
    match colour {
        Colour::Green => "green",
        Colour::Yellow => "yellow",
        Colour::Red => "red",
    }
}

/// The contract of a flow with every port on its way.
#[pyclass(frozen, name = "Contract", module = "tidegate._tidegate")]
pub struct PyContract(pub(super) Contract);

#[pymethods]
impl PyContract {
    /// Reserved average rate in bit/s; `None` for a datagram flow.
    #[getter]
    fn reserve(&self) -> Option<f64> {
        self.0.reserve.map(Rate::bits_per_second)
    }

    /// Average interval in ticks.
    #[getter]
    fn interval(&self) -> Option<u64> {
        self.0.interval.map(|span| span.ticks())
    }

    /// Head start in ticks.
    #[getter]
    fn head_start(&self) -> u64 {
        self.0.head_start.ticks()
    }

    /// Priority level, 0 the most urgent.
    #[getter]
    fn priority(&self) -> u8 {
        self.0.priority
    }

    /// Maximum workahead in bytes.
    #[getter]
    fn workahead(&self) -> Option<u64> {
        self.0.max_workahead()
    }

    /// Peak rate in bit/s.
    #[getter]
    fn peak(&self) -> Option<f64> {
        self.0.peak.map(Rate::bits_per_second)
    }

    /// Local delay bound in ticks.
    #[getter]
    fn deadline(&self) -> Option<u64> {
        self.0.deadline.map(|span| span.ticks())
    }

    /// Excess burst size in bytes (EBS, RFC 2697).
    #[getter]
    fn excess_burst(&self) -> Option<u32> {
        self.0.excess_burst
    }

    /// Peak burst size in bytes (PBS, RFC 2698).
    #[getter]
    fn peak_burst(&self) -> Option<u32> {
        self.0.peak_burst
    }

    /// Number of its host.
    #[getter]
    fn host(&self) -> Option<u32> {
        self.0.host
    }

    /// Number of the host at its other end.
    #[getter]
    fn peer(&self) -> Option<u32> {
        self.0.peer
    }

    /// Ticks that `length` bytes take at the reserved rate, rounded to the nearest; `None` without
    /// one.
    fn time_for(&self, length: u32) -> Option<u64> {
        self.0.reserve.map(|rate| rate.time_for(length).ticks())
    }
}

/// The queues around a packet, which is not counted.
#[pyclass(frozen, name = "Queue", module = "tidegate._tidegate")]
pub struct PyQueue(pub(super) Occupancy);

#[pymethods]
impl PyQueue {
    /// Packets of the queue that the dropper guards, the one in service included.
    #[getter]
    fn packets(&self) -> u64 {
        self.0.queue.packets
    }

    /// Its bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.queue.bytes
    }

    /// Packets of the packet's own flow.
    #[getter]
    fn flow_packets(&self) -> u64 {
        self.0.flow.packets
    }

    /// Bytes of the packet's own flow.
    #[getter]
    fn flow_bytes(&self) -> u64 {
        self.0.flow.bytes
    }

    /// Packets of all queues of the port.
    #[getter]
    fn port_packets(&self) -> u64 {
        self.0.port.packets
    }

    /// Bytes of all queues of the port.
    #[getter]
    fn port_bytes(&self) -> u64 {
        self.0.port.bytes
    }
}
