//! The bridge of the kernel's through which traffic passes without a gate.
//!
//! A bridge that the gate makes is as near to a wire as one can be: it has no address, answers and sends
//! nothing itself, learns nothing, and forwards the group addresses that bridges keep to themselves.

use super::error::HandoverError;
use super::netlink::{Link, Netlink};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, BridgeStpState, In6AddrGenMode, InfoBridge, InfoBridgePort, InfoData,
    InfoKind, InfoPortData, InfoPortKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use std::io;

/// By this note a gate knows a bridge that a gate has made (`ip link` shows it).
const NOTE: &str = "tidegate-gate: passes frames while no gate does";
/// The longest name of an interface, in bytes.
const LONGEST: usize = 15;
/// 01-80-C2-00-00-00 to 0F pass, but for 01: pauses, which concern one cable (the kernel forbids that one).
const GROUPS: u16 = 0xfffd;

/// One side of a gate.
#[derive(Clone, Copy)]
pub(crate) struct Port<'n> {
    pub(crate) name: &'n str,
    pub(crate) index: u32,
}

/// The name of the bridge that is made for a gate.
pub(super) fn name(inside: &str) -> String {
    let mut name = format!("tg-{inside}");
    while name.len() > LONGEST {
        name.pop();
    }
    name
}

fn failed(what: String) -> impl FnOnce(io::Error) -> HandoverError {
    |error| match error.kind() {
        io::ErrorKind::PermissionDenied => HandoverError::BridgePrivilege(what),
        _ => HandoverError::system(format!("cannot {what}"), error),
    }
}

fn links(netlink: &Netlink) -> Result<Vec<Link>, HandoverError> {
    netlink.links().map_err(failed("list the interfaces".to_owned()))
}

fn is_made(link: &Link) -> bool {
    link.bridge && link.alias.as_deref() == Some(NOTE)
}

/// What interface `index` is a port of.
fn master(links: &[Link], index: u32) -> Option<&Link> {
    let master = links.iter().find(|link| link.index == index)?.master?;
    links.iter().find(|link| link.index == master)
}

/// Sees to it that no bridge forwards what a gate forwards.
///
/// # Errors
/// When an interface is a port of anything.
pub(super) fn refuse(netlink: &Netlink, ports: [Port<'_>; 2]) -> Result<(), HandoverError> {
    let links = links(netlink)?;
    match ports.iter().find_map(|port| Some((port, master(&links, port.index)?))) {
        None => Ok(()),
        Some((port, master)) => Err(HandoverError::Bridged {
            port: port.name.to_owned(),
            master: master.name.clone(),
            made: is_made(master),
        }),
    }
}

/// Sees to it that both interfaces are the ports of one bridge that forwards. One that nobody's gate has
/// made stays as it is.
///
/// # Errors
/// When there is a bridge that will not do, or none can be made; then everything is as before.
pub(super) fn ensure(netlink: &Netlink, ports: [Port<'_>; 2]) -> Result<(), HandoverError> {
    let links = links(netlink)?;
    let name = name(ports[0].name);
    let bridge = match ports.map(|port| master(&links, port.index)) {
        [Some(one), Some(other)] if one.index == other.index => one,
        [Some(one), other] if !is_made(one) || other.is_some() => return Err(apart(one, ports)),
        [None, Some(other)] if !is_made(other) => return Err(apart(other, [ports[1], ports[0]])),
        [Some(one), _] | [_, Some(one)] => one,
        [None, None] => match links.iter().find(|link| link.name == name) {
            None => return make(netlink, &name, ports),
            Some(link) if is_made(link) => link,
            Some(_) => return Err(HandoverError::NameTaken(name)),
        },
    };
    if !bridge.bridge {
        let (port, master) = (ports[0].name.to_owned(), bridge.name.clone());
        return Err(HandoverError::NoBridge { port, master });
    }
    let is_other =
        |link: &&Link| link.master == Some(bridge.index) && ports.iter().all(|port| port.index != link.index);
    if let Some(other) = links.iter().find(is_other) {
        let (bridge, port) = (bridge.name.clone(), other.name.clone());
        return Err(HandoverError::OtherPort { bridge, port });
    }
    if is_made(bridge) {
        return set_up(netlink, bridge.index, &bridge.name, ports);
    }
    if !bridge.up {
        return Err(HandoverError::BridgeDown(bridge.name.clone()));
    }
    let addressed =
        netlink.is_addressed(bridge.index).map_err(failed(format!("read `{}`'s addresses", bridge.name)))?;
    if addressed { Err(HandoverError::Addressed(bridge.name.clone())) } else { Ok(()) }
}

fn apart(master: &Link, [port, other]: [Port<'_>; 2]) -> HandoverError {
    HandoverError::Apart {
        port: port.name.to_owned(),
        master: master.name.clone(),
        other: other.name.to_owned(),
    }
}

/// Makes a bridge of both interfaces, or leaves none.
fn make(netlink: &Netlink, name: &str, ports: [Port<'_>; 2]) -> Result<(), HandoverError> {
    let options = vec![
        InfoBridge::StpState(BridgeStpState::Disabled),
        InfoBridge::ForwardDelay(0),
        // It remembers no address, so that a host may move from one side to the other.
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
        // The first error is the one to tell.
        let _ = delete(netlink, &bridge);
    })
}

/// Notes what a bridge is for, silences it, and gives it its ports.
fn set_up(netlink: &Netlink, bridge: u32, name: &str, ports: [Port<'_>; 2]) -> Result<(), HandoverError> {
    let set = |message| netlink.change(RouteNetlinkMessage::SetLink(message), 0);
    let mut message = to(bridge);
    message.attributes = vec![LinkAttribute::IfAlias(NOTE.to_owned())];
    set(message).map_err(failed(format!("set up bridge `{name}`")))?;
    let mut message = to(bridge);
    let silent = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
    message.attributes = vec![LinkAttribute::AfSpecUnspec(vec![silent])];
    match set(message) {
        // Where there is no IPv6, it has no address of that either.
        Err(error) if error.raw_os_error() != Some(libc::EAFNOSUPPORT) => {
            return Err(failed(format!("keep IPv6 off bridge `{name}`"))(error));
        }
        _ => {}
    }
    // In a message of its own: the kernel would set it up before it knows that it takes no address.
    let mut message = to(bridge);
    // The host would answer for addresses of its other interfaces.
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
            LinkInfo::PortData(InfoPortData::BridgePort(vec![InfoBridgePort::GroupFwdMask(GROUPS)])),
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

fn delete(netlink: &Netlink, bridge: &Link) -> Result<(), HandoverError> {
    netlink
        .change(RouteNetlinkMessage::DelLink(to(bridge.index)), 0)
        .map_err(failed(format!("remove bridge `{}`", bridge.name)))
}

/// Removes the bridge that a gate has made of these interfaces, or for this inside if they are gone, and
/// gives its name; `None` when there is none.
///
/// # Errors
/// When it cannot be removed.
pub(super) fn remove(
    netlink: &Netlink,
    inside: &str,
    ports: &[Port<'_>],
) -> Result<Option<String>, HandoverError> {
    let (links, name) = (links(netlink)?, name(inside));
    let mut masters = ports.iter().filter_map(|port| master(&links, port.index));
    let found = masters
        .find(|master| is_made(master))
        .or_else(|| links.iter().find(|link| link.name == name && is_made(link)));
    let Some(bridge) = found else { return Ok(None) };
    delete(netlink, bridge)?;
    Ok(Some(bridge.name.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bridge_is_named_after_the_inside() {
        assert_eq!(name("lan0"), "tg-lan0");
        assert_eq!(name("enp0s31f6.1234"), "tg-enp0s31f6.12");
        // Cut between letters, and only there.
        assert_eq!(name("abcdefghijkö"), "tg-abcdefghijk");
    }
}
