//! Flows of fragments: only a datagram's first fragment has the ports.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use tidegate_core::headers::{Fragment, Headers};

/// The most datagrams that are remembered, the latest ones: it bounds the memory.
const REMEMBERED: usize = 4096;

/// Identity of a datagram, common to its fragments (RFC 791, section 3.2; RFC 8200, section 4.5).
type Datagram = (IpAddr, IpAddr, u32);

/// Datagrams with a known first fragment, and the numbers of their flows.
#[derive(Default)]
pub(super) struct Fragments {
    flows: BTreeMap<Datagram, u32>,
    order: VecDeque<Datagram>,
}

impl Fragments {
    /// Returns the flow of a packet with these headers. A later fragment has the flow of its first
    /// one, if that came before and is still remembered; for any other packet `classify` decides.
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
