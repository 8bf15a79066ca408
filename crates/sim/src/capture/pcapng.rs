//! A pcapng file (draft-ietf-opsawg-pcapng): an interface for each link, the names of the nodes,
//! and packets in the order of time, with nanoseconds from the start of the run. Each packet has a
//! comment: the name of its flow and its number within it, and its length in the simulator where
//! the IP packet has another.

use super::CapturedPacket;
use super::frame::{Frame, Tuple, Unframed, address};
use crate::network::Network;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, PcapError};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tidegate_core::endpoint::Payload;
use tidegate_core::units::Time;

/// Nanoseconds: the decimal exponent of the unit of time, negated.
const NANOSECONDS: u8 = 9;
/// Ticks in a nanosecond.
const TICKS: u64 = 100;

/// The error for a capture that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// A packet of a flow is no IP packet.
    #[error("flow `{flow}`: {reason}")]
    Packet {
        /// Name of the flow.
        flow: String,
        /// The reason.
        reason: Unframed,
    },
    /// The file could not be written.
    #[error("{0}")]
    File(std::io::Error),
}

impl From<PcapError> for CaptureError {
    fn from(error: PcapError) -> CaptureError {
        CaptureError::File(match error {
            PcapError::IoError(error) => error,
            other => std::io::Error::other(other.to_string()),
        })
    }
}

/// A capture of some links, in a file.
pub struct CaptureFile<W: Write> {
    network: Arc<Network>,
    out: PcapNgWriter<W>,
    /// The interface of each link.
    interfaces: BTreeMap<u32, u32>,
    /// Addresses and ports of the flows seen so far.
    tuples: BTreeMap<u32, Tuple>,
}

impl<W: Write> CaptureFile<W> {
    /// Starts the file of a capture of `links`, each one given once.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(network: Arc<Network>, links: &[u32], out: W) -> Result<CaptureFile<W>, CaptureError> {
        let maker = concat!("tidegate ", env!("CARGO_PKG_VERSION"));
        let options = vec![SectionHeaderOption::UserApplication(maker.into())];
        let section = SectionHeaderBlock { options, ..SectionHeaderBlock::default() };
        let mut out = PcapNgWriter::with_section_header(out, section)?;
        for link in links {
            let link = &network.links[*link as usize];
            let options = vec![
                InterfaceDescriptionOption::IfName(link.name.as_str().into()),
                InterfaceDescriptionOption::IfSpeed(link.rate.bits_per_second().round() as u64),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: 0, options };
            out.write_block(&block.into_block())?;
        }
        let named = network.nodes.iter().enumerate().map(|(ix, node)| {
            let names = vec![node.name.as_str().into()];
            Record::Ipv4(Ipv4Record { ip_addr: address(ix).to_vec().into(), names })
        });
        let names = NameResolutionBlock { records: named.collect(), options: Vec::new() };
        out.write_block(&names.into_block())?;
        let interfaces = links.iter().copied().zip(0..).collect();
        Ok(CaptureFile { network, out, interfaces, tuples: BTreeMap::new() })
    }

    /// Returns true if the packets of a link are captured here.
    pub fn captures(&self, link: u32) -> bool {
        self.interfaces.contains_key(&link)
    }

    /// Writes a packet that left one of the links.
    ///
    /// # Errors
    /// When it is no IP packet, or the file cannot be written.
    pub fn write(&mut self, packet: &CapturedPacket) -> Result<(), CaptureError> {
        let network = &self.network;
        let tuple =
            self.tuples.entry(packet.flow).or_insert_with(|| Tuple::of(network, packet.flow as usize));
        tuple.scaled |= matches!(packet.payload, Payload::Tcp(segment) if segment.opens);
        let name = &network.flows[packet.flow as usize].name;
        let frame =
            Frame::of(packet, tuple).map_err(|reason| CaptureError::Packet { flow: name.clone(), reason })?;
        let mut comment = format!("{name} #{}", packet.sequence);
        if frame.len != packet.len {
            comment.push_str(&format!(", {} bytes", packet.len));
        }
        let since = packet.at.since(Time::ORIGIN);
        let block = EnhancedPacketBlock {
            interface_id: self.interfaces[&packet.link],
            timestamp: Duration::from_nanos(since.ticks() / TICKS),
            original_len: frame.len,
            data: frame.headers.into(),
            options: vec![EnhancedPacketOption::Comment(comment.into())],
        };
        self.out.write_block(&block.into_block())?;
        Ok(())
    }

    /// Ends the file, and returns what it was written to.
    pub fn into_inner(self) -> W {
        self.out.into_inner()
    }
}
