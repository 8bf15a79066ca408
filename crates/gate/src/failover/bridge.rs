//! The kernel bridge that forwards traffic while no gate runs.
//!
//! A bridge that a gate makes is as transparent as possible: it has no address, sends nothing
//! itself, learns no addresses, and also forwards frames to the reserved group addresses, as far as
//! the kernel permits.

use super::netlink::{Link, Netlink};
use crate::error::FailoverError;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BridgeStpState, In6AddrGenMode, InfoBridge, InfoBridgePort, InfoData,
    InfoKind, InfoPortData, InfoPortKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use std::io;

/// The alias of a bridge that a gate has made (`ip link` shows it).
const ALIAS: &str = "tidegate-gate: passes frames while no gate does";
/// The longest name of an interface, in bytes.
const MAX_NAME: usize = 15;
/// Mask of the group addresses that are forwarded: 01-80-C2-00-00-00 to 0F except 01, PAUSE, which
/// the kernel forbids.
const FORWARDED_GROUPS: u16 = 0xfffd;

/// One interface of a gate.
#[derive(Clone, Copy)]
pub(crate) struct Port<'n> {
    pub(crate) name: &'n str,
    pub(crate) index: u32,
}

/// The name of the bridge that a gate makes.
pub(super) fn name(inside: &str) -> String {
    let mut name = format!("tg-{inside}");
    while name.len() > MAX_NAME {
        name.pop();
    }
    name
}

fn failed(what: String) -> impl FnOnce(io::Error) -> FailoverError {
    |error| match error.kind() {
        io::ErrorKind::PermissionDenied => FailoverError::BridgePrivilege(what),
        _ => FailoverError::system(format!("cannot {what}"), error),
    }
}

fn links(netlink: &Netlink) -> Result<Vec<Link>, FailoverError> {
    netlink.links().map_err(failed("list the interfaces".to_owned()))
}

fn is_made_by_gate(link: &Link) -> bool {
    link.bridge && link.alias.as_deref() == Some(ALIAS)
}

/// The bridge, or other master device, of which interface `index` is a port.
fn master(links: &[Link], index: u32) -> Option<&Link> {
    let master = links.iter().find(|link| link.index == index)?.master?;
    links.iter().find(|link| link.index == master)
}

/// Checks that no bridge forwards the gate's frames too.
///
/// # Errors
/// When an interface is a port of any device.
pub(super) fn require_none(netlink: &Netlink, ports: [Port<'_>; 2]) -> Result<(), FailoverError> {
    let links = links(netlink)?;
    match ports.iter().find_map(|port| Some((port, master(&links, port.index)?))) {
        None => Ok(()),
        Some((port, master)) => Err(FailoverError::Bridged {
            port: port.name.to_owned(),
            master: master.name.clone(),
            made: is_made_by_gate(master),
        }),
    }
}

/// Ensures that both interfaces are the ports of one forwarding bridge. A bridge that no gate has
/// made is checked but not changed.
///
/// # Errors
/// When there is a bridge that is unsuitable, or none can be made. A bridge that could not be
/// completed is removed; one that an earlier gate made is kept.
pub(super) fn ensure(netlink: &Netlink, ports: [Port<'_>; 2]) -> Result<(), FailoverError> {
    let links = links(netlink)?;
    let name = name(ports[0].name);
    let bridge = match ports.map(|port| master(&links, port.index)) {
        [Some(one), Some(other)] if one.index == other.index => one,
        [Some(one), other] if !is_made_by_gate(one) || other.is_some() => return Err(apart(one, ports)),
        [None, Some(other)] if !is_made_by_gate(other) => return Err(apart(other, [ports[1], ports[0]])),
        [Some(one), _] | [_, Some(one)] => one,
        [None, None] => match links.iter().find(|link| link.name == name) {
            None => return make(netlink, &name, ports),
            Some(link) if is_made_by_gate(link) => link,
            Some(_) => return Err(FailoverError::NameTaken(name)),
        },
    };
    if !bridge.bridge {
        let (port, master) = (ports[0].name.to_owned(), bridge.name.clone());
        return Err(FailoverError::NoBridge { port, master });
    }
    let is_other =
        |link: &&Link| link.master == Some(bridge.index) && ports.iter().all(|port| port.index != link.index);
    if let Some(other) = links.iter().find(is_other) {
        let (bridge, port) = (bridge.name.clone(), other.name.clone());
        return Err(FailoverError::OtherPort { bridge, port });
    }
    if is_made_by_gate(bridge) {
        return set_up(netlink, bridge.index, &bridge.name, ports);
    }
    if !bridge.up {
        return Err(FailoverError::BridgeDown(bridge.name.clone()));
    }
    let addressed =
        netlink.is_addressed(bridge.index).map_err(failed(format!("read `{}`'s addresses", bridge.name)))?;
    if addressed { Err(FailoverError::Addressed(bridge.name.clone())) } else { Ok(()) }
}

fn apart(master: &Link, [port, other]: [Port<'_>; 2]) -> FailoverError {
    FailoverError::Apart {
        port: port.name.to_owned(),
        master: master.name.clone(),
        other: other.name.to_owned(),
    }
}

/// Makes a bridge of both interfaces; after an error there is none.
fn make(netlink: &Netlink, name: &str, ports: [Port<'_>; 2]) -> Result<(), FailoverError> {
    let options = vec![
        InfoBridge::StpState(BridgeStpState::Disabled),
        InfoBridge::ForwardDelay(0),
        // Without address learning, a host can move from one side to the other.
        InfoBridge::AgeingTime(0),
        InfoBridge::MulticastSnooping(false),
    ];
    let mut message = LinkMessage::default();
    message.attributes = vec![
        LinkAttribute::IfName(name.to_owned()),
        LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(options)),
        ]),
    ];
    netlink
        .change(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
        .map_err(failed(format!("make bridge `{name}`")))?;
    let Some(bridge) = links(netlink)?.into_iter().find(|link| link.name == name) else {
        return Err(failed(format!("make bridge `{name}`"))(io::Error::from(io::ErrorKind::NotFound)));
    };
    set_up(netlink, bridge.index, name, ports).inspect_err(|_| {
        // Only the first error is reported.
        let _ = delete(netlink, &bridge);
    })
}

/// Sets the alias of a bridge, makes it send nothing itself, and adds its ports.
fn set_up(netlink: &Netlink, bridge: u32, name: &str, ports: [Port<'_>; 2]) -> Result<(), FailoverError> {
    let set = |message| netlink.change(RouteNetlinkMessage::SetLink(message), 0);
    let mut message = to(bridge);
    message.attributes = vec![LinkAttribute::IfAlias(ALIAS.to_owned())];
    set(message).map_err(failed(format!("set up bridge `{name}`")))?;
    let mut message = to(bridge);
    let silent = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
    message.attributes = vec![LinkAttribute::AfSpecUnspec(vec![silent])];
    match set(message) {
        // A kernel without IPv6 gives the bridge no IPv6 address either.
        Err(error) if error.raw_os_error() != Some(libc::EAFNOSUPPORT) => {
            return Err(failed(format!("keep IPv6 off bridge `{name}`"))(error));
        }
        _ => {}
    }
    // In a separate message: in the same one, the kernel would set the bridge up before it disables
    // addresses.
    let mut message = to(bridge);
    // With ARP the host would answer for addresses of its other interfaces.
    message.header.flags = LinkFlags::Up | LinkFlags::Noarp;
    message.header.change_mask = message.header.flags;
    set(message).map_err(failed(format!("set bridge `{name}` up")))?;
    for port in ports {
        let mut message = to(port.index);
        message.attributes = vec![LinkAttribute::Controller(bridge)];
        set(message).map_err(failed(format!("put `{}` in bridge `{name}`", port.name)))?;
        let mut message = to(port.index);
        message.attributes = vec![LinkAttribute::LinkInfo(vec![
            LinkInfo::PortKind(InfoPortKind::Bridge),
            LinkInfo::PortData(InfoPortData::BridgePort(vec![InfoBridgePort::GroupFwdMask(
                FORWARDED_GROUPS,
            )])),
        ])];
        netlink
            .change(RouteNetlinkMessage::NewLink(message), 0)
            .map_err(failed(format!("set up port `{}` of bridge `{name}`", port.name)))?;
    }
    Ok(())
}

/// A message about an interface.
fn to(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

fn delete(netlink: &Netlink, bridge: &Link) -> Result<(), FailoverError> {
    netlink
        .change(RouteNetlinkMessage::DelLink(to(bridge.index)), 0)
        .map_err(failed(format!("remove bridge `{}`", bridge.name)))
}

/// Removes the bridge that a gate has made of these interfaces, found by its ports or else by the
/// inside interface's name. Returns the bridge's name; `None` when there is no such bridge.
///
/// # Errors
/// When the bridge cannot be removed.
pub(super) fn remove(
    netlink: &Netlink,
    inside: &str,
    ports: &[Port<'_>],
) -> Result<Option<String>, FailoverError> {
    let (links, name) = (links(netlink)?, name(inside));
    let mut masters = ports.iter().filter_map(|port| master(&links, port.index));
    let found = masters
        .find(|master| is_made_by_gate(master))
        .or_else(|| links.iter().find(|link| link.name == name && is_made_by_gate(link)));
    let Some(bridge) = found else { return Ok(None) };
    delete(netlink, bridge)?;
    Ok(Some(bridge.name.clone()))
}

#[cfg(test)]
#[path = "bridge_tests.rs"]
mod tests;
