//! Which flow does a fragment belong to? Only a datagram's first one has the ports.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use tidegate_core::headers::{Fragment, Headers};

/// Most datagrams that are remembered, the latest ones: it bounds the memory.
const REMEMBERED: usize = 4096;

/// What the fragments of a datagram have in common (RFC 791, section 3.2; RFC 8200, section 4.5).
type Datagram = (IpAddr, IpAddr, u32);

/// Datagrams of which a first fragment was seen, with the number of its flow.
#[derive(Default)]
pub(super) struct Fragments {
    flows: BTreeMap<Datagram, u32>,
    order: VecDeque<Datagram>,
}

impl Fragments {
    /// The flow of a packet with these headers: of a later fragment that of the first one, if it came before
    /// and not too many others since; of any other packet what `classify` says.
    pub(super) fn flow(&mut self, headers: &Headers, classify: impl FnOnce(&Headers) -> u32) -> u32 {
        let Some(ip) = headers.ip else { return classify(headers) };
        match ip.fragment {
            Fragment::Whole => classify(headers),
            Fragment::First(identification) => {
                let flow = classify(headers);
                let datagram = (ip.source, ip.destination, identification);
                if self.flows.insert(datagram, flow).is_none() {
                    self.order.push_back(datagram);
                }
                if self.order.len() > REMEMBERED
                    && let Some(oldest) = self.order.pop_front()
                {
                    self.flows.remove(&oldest);
                }
                flow
            }
            Fragment::Later(identification) => {
                let datagram = (ip.source, ip.destination, identification);
                self.flows.get(&datagram).copied().unwrap_or_else(|| classify(headers))
            }
        }
    }
}
