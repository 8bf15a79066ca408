//! The log of packets' events, column by column.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tidegate_core::units::Time;
use tidegate_sim::packet_log::{Entry, PacketEvent, PacketId};

/// Ticks in a nanosecond.
const TICKS: u64 = 100;

/// The events of packets, as the buffers of columns: `time`, `link`, `flow`, `sequence` and
/// `length` of 8 bytes each, `event`, a byte that is an index into `names`, and `is_marked`, a byte
/// that is 1 where a packet starts with a congestion mark. Events that are not of one packet are
/// left out.
pub fn columns<'py>(py: Python<'py>, log: &[Entry]) -> PyResult<Bound<'py, PyDict>> {
    let rows: Vec<Row> = log.iter().filter_map(Row::of).collect();
    let made = PyDict::new(py);
    let numbers: [(&str, Number); 5] = [
        ("time", |row| row.time),
        ("link", |row| row.link),
        ("flow", |row| row.packet.flow.into()),
        ("sequence", |row| row.packet.sequence),
        ("length", |row| row.len),
    ];
    for (name, number) in numbers {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| number(row).to_ne_bytes()).collect();
        made.set_item(name, PyBytes::new(py, &bytes))?;
    }
    let events: Vec<u8> = rows.iter().map(|row| row.event).collect();
    made.set_item("event", PyBytes::new(py, &events))?;
    let marked: Vec<u8> = rows.iter().map(|row| u8::from(row.is_marked)).collect();
    made.set_item("is_marked", PyBytes::new(py, &marked))?;
    made.set_item("names", NAMES)?;
    Ok(made)
}

/// Names of the events.
const NAMES: [&str; 8] =
    ["arrived", "released", "started", "departed", "dropped", "absorbed", "lost", "received"];

/// Reads a number of a row.
type Number = fn(&Row) -> u64;

struct Row {
    time: u64,
    link: u64,
    event: u8,
    packet: PacketId,
    len: u64,
    is_marked: bool,
}

impl Row {
    fn of(entry: &Entry) -> Option<Row> {
        let (event, packet, len) = match entry.what {
            PacketEvent::Arrived { packet, len } => (0, packet, len),
            PacketEvent::Released(packet) => (1, packet, 0),
            PacketEvent::Started { packet, .. } => (2, packet, 0),
            PacketEvent::Departed(packet) => (3, packet, 0),
            PacketEvent::Dropped(packet, _) => (4, packet, 0),
            PacketEvent::Absorbed(packet) => (5, packet, 0),
            PacketEvent::Lost(packet) => (6, packet, 0),
            PacketEvent::Received(packet) => (7, packet, 0),
            PacketEvent::Woken
            | PacketEvent::Opened(_)
            | PacketEvent::Amended(..)
            | PacketEvent::Closed(_) => return None,
        };
        let is_marked = matches!(entry.what, PacketEvent::Started { is_marked: true, .. });
        let time = entry.at.since(Time::ORIGIN).ticks() / TICKS;
        Some(Row { time, link: entry.link.into(), event, packet, len: len.into(), is_marked })
    }
}
