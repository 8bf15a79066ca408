//! Packets as stages in Python see them.

use super::seen::name_of;
use super::verdict::shown;
use crate::error::TidegateError;
use pyo3::prelude::*;
use std::sync::Arc;
use tidegate_core::packet::{Mark, Packet};
use tidegate_sim::packet_log::PacketId;
use tidegate_sim::stage::Names;

/// The ECN codepoint of congestion experienced (RFC 3168, section 5).
const CE: u8 = 0b11;

/// A packet beside a node.
#[pyclass(name = "PassingPacket", module = "tidegate._tidegate")]
pub struct PyPassingPacket {
    names: Arc<Names>,
    id: PacketId,
    came: Option<u32>,
    goes: Option<u32>,
    #[pyo3(get)]
    length: u32,
    pub(super) mark: Mark,
}

impl PyPassingPacket {
    /// A packet that came over a link, `None` from its source, and goes over one, `None` to its
    /// receiver.
    pub(super) fn of(
        names: &Arc<Names>,
        packet: &Packet,
        id: PacketId,
        came: Option<u32>,
        goes: Option<u32>,
    ) -> PyPassingPacket {
        PyPassingPacket { names: names.clone(), id, came, goes, length: packet.len, mark: packet.mark }
    }

    fn link(&self, link: Option<u32>) -> Option<&str> {
        Some(self.names.links.get(link? as usize)?.as_str())
    }
}

/// A codepoint of so many bits.
fn codepoint(value: &Bound<'_, PyAny>, name: &str, bits: u32) -> PyResult<u8> {
    let most = (1u8 << bits) - 1;
    value.extract::<u8>().ok().filter(|point| *point <= most).ok_or_else(|| {
        TidegateError::new_err(format!("{} is no {name}: a whole number from 0 to {most}", shown(value)))
    })
}

#[pymethods]
impl PyPassingPacket {
    /// Name of its flow.
    #[getter]
    fn flow(&self) -> &str {
        self.names.flows.get(self.id.flow as usize).map_or("", String::as_str)
    }

    /// Its number within its flow, from 0.
    #[getter]
    fn number(&self) -> u64 {
        self.id.sequence
    }

    /// Name of the link over which it came.
    #[getter]
    fn came(&self) -> Option<&str> {
        self.link(self.came)
    }

    /// Name of the link over which it leaves.
    #[getter]
    fn goes(&self) -> Option<&str> {
        self.link(self.goes)
    }

    /// Colour with which it came.
    #[getter]
    fn colour(&self) -> &'static str {
        name_of(self.mark.shown_colour())
    }

    #[getter]
    fn dscp(&self) -> u8 {
        self.mark.dscp()
    }

    #[setter]
    fn set_dscp(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.mark = self.mark.with_dscp(codepoint(value, "DSCP", 6)?);
        Ok(())
    }

    #[getter]
    fn ecn(&self) -> u8 {
        self.mark.ecn()
    }

    #[setter]
    fn set_ecn(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let ecn = codepoint(value, "ECN codepoint", 2)?;
        let mark = self.mark.congestion_cleared().with_ecn(ecn);
        // Congestion experienced counts as a mark wherever marks are counted.
        self.mark = if ecn == CE { mark.congested() } else { mark };
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!("PassingPacket(flow={:?}, number={}, length={})", self.flow(), self.number(), self.length)
    }
}
