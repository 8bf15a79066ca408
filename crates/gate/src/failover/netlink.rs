//! Lists interfaces and changes them (rtnetlink(7)).

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressMessage, AddressScope};
use netlink_packet_route::link::{InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;

/// Receive buffer in bytes; the kernel's is half as long.
const BUFFER: usize = 1 << 16;

/// The properties of an interface that failover uses.
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) up: bool,
    pub(super) bridge: bool,
    /// Index of the bridge, or other master device, of which the interface is a port.
    pub(super) master: Option<u32>,
    /// Its alias (`ip link set … alias`).
    pub(super) alias: Option<String>,
}

impl Link {
    fn new(message: LinkMessage) -> Link {
        let mut link = Link {
            index: message.header.index,
            name: String::new(),
            up: message.header.flags.contains(LinkFlags::Up),
            bridge: false,
            master: None,
            alias: None,
        };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::IfAlias(alias) => link.alias = Some(alias),
                LinkAttribute::Controller(master) => link.master = Some(master),
                LinkAttribute::LinkInfo(infos) => {
                    link.bridge = infos.contains(&LinkInfo::Kind(InfoKind::Bridge));
                }
                _ => {}
            }
        }
        link
    }
}

/// A netlink socket.
pub(super) struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens the socket.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket })
    }

    /// All interfaces of this network namespace.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn links(&self) -> io::Result<Vec<Link>> {
        let mut links = Vec::new();
        self.ask(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewLink(message) = answer {
                links.push(Link::new(message));
            }
        })?;
        Ok(links)
    }

    /// Returns true if an interface has an address other than link-scope ones.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn is_addressed(&self, interface: u32) -> io::Result<bool> {
        let mut addressed = false;
        self.ask(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewAddress(message) = answer {
                addressed |= message.header.index == interface && message.header.scope != AddressScope::Link;
            }
        })?;
        Ok(addressed)
    }

    /// Sends a request that changes something, and waits for its acknowledgement.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn change(&self, request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.ask(request, NLM_F_ACK | flags, |_| {})
    }

    /// Sends a request and passes its answers to `take`.
    fn ask(
        &self,
        request: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        loop {
            let mut bytes = Vec::with_capacity(BUFFER);
            self.socket.recv(&mut bytes, 0)?;
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                let length = (answer.header.length as usize).next_multiple_of(4).min(rest.len());
                rest = &rest[length..];
                match answer.payload {
                    NetlinkPayload::InnerMessage(message) => take(message),
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    NetlinkPayload::Error(_) => return Ok(()),
                    _ => {}
                }
            }
        }
    }
}
