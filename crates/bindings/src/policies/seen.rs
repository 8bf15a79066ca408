//! Packets, contracts and queues as policies in Python see them. Times are ticks of 10 ps.

use pyo3::prelude::*;
use tidegate_core::contract::Contract;
use tidegate_core::dropper::Occupancy;
use tidegate_core::packet::Packet;
use tidegate_core::units::Rate;

/// A packet as a policy in Python sees it.
#[pyclass(name = "Packet", module = "tidegate._tidegate")]
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
            state: None,
        }
    }
}

#[pymethods]
impl PyPacket {
    fn __repr__(&self) -> String {
        format!("Packet(flow={}, length={}, arrived={})", self.flow, self.length, self.arrived)
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
