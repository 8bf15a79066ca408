//! `match`: the packets that belong to a flow of a gate.

use crate::error::{Complaint, Report};
use crate::keys::matching::{self as keys, Criteria};
use crate::prefix::read_prefix;
use crate::section::{OneOrMore, Placed};
use crate::suggest::did_you_mean;
use tidegate_core::classifier::ethertypes::{ethertype_names, ethertype_number, may_carry_ip};
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::{protocol_names, protocol_number};
use tidegate_core::headers::has_ports;

/// Reads `match`; `None` once a mistake has been reported.
pub(super) fn read(keys: &keys::Match, report: &mut Report) -> Option<Match> {
    let criteria = read_criteria(&keys.criteria, report);
    let Some(not) = keys.not.as_ref() else { return criteria };
    let except = read_criteria(&not.criteria, report)?;
    if except == Match::default() {
        let complaint =
            Complaint::new("`not` names no packets, so it would match all").help("leave out `not`");
        report.add(keys.not.place, complaint);
        return None;
    }
    Some(Match { except: Some(Box::new(except)), ..criteria? })
}

/// Reads the criteria; `None` once a mistake has been reported.
fn read_criteria(keys: &Criteria, report: &mut Report) -> Option<Match> {
    let prefixes = |of: &Placed<OneOrMore<String>>, report: &mut Report| {
        each(of, |text| read_prefix(of.key, text, of.place, report))
    };
    let (inside, outside) = (prefixes(&keys.inside, report), prefixes(&keys.outside, report));
    let macs = |key: &Placed<OneOrMore<String>>, report: &mut Report| {
        each(key, |text| {
            let help = |_| {
                let complaint = Complaint::new(format!("`{}` is no MAC address", key.key));
                report.add(key.place, complaint.help("write it as in 02:00:5e:10:00:0a"));
            };
            text.parse().map_err(help).ok()
        })
    };
    let (inside_mac, outside_mac) = (macs(&keys.inside_mac, report), macs(&keys.outside_mac, report));
    let protocol = each(&keys.protocol, |name| read_protocol(name, keys, report))?;
    let ethertype = each(&keys.ethertype, |text| read_ethertype(text, keys, report))?;
    Some(Match {
        inside: inside?,
        outside: outside?,
        inside_mac: inside_mac?,
        outside_mac: outside_mac?,
        inside_port: keys.inside_port.to_vec(),
        outside_port: keys.outside_port.to_vec(),
        port: keys.port.to_vec(),
        protocol,
        dscp: keys.dscp.to_vec(),
        ethertype,
        vlan: keys.vlan.to_vec(),
        direction: *keys.direction,
        except: None,
    })
}

/// Every text under a key, converted by `read`; `None` when one of them cannot be converted.
fn each<T>(texts: &[String], read: impl FnMut(&String) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = texts.iter().map(read).collect();
    read.into_iter().collect()
}

/// Reads a protocol; `None` once a mistake has been reported.
fn read_protocol(name: &str, keys: &Criteria, report: &mut Report) -> Option<u8> {
    let Ok(number) = protocol_number(name) else {
        let mut complaint = Complaint::new("this is not a protocol");
        complaint.help = did_you_mean(name, protocol_names());
        report.add(keys.protocol.place, complaint);
        return None;
    };
    let ports = [&keys.port, &keys.inside_port, &keys.outside_port];
    for key in ports.into_iter().filter(|key| key.given && !has_ports(number)) {
        let complaint = Complaint::new("this protocol has no ports, so nothing would ever match")
            .help("tcp, udp, sctp, dccp and udplite have ports");
        report.add(key.place, complaint);
    }
    Some(number)
}

/// Reads a frame type; `None` once a mistake has been reported.
fn read_ethertype(text: &str, keys: &Criteria, report: &mut Report) -> Option<u16> {
    let Some(number) = ethertype_number(text) else {
        let mut complaint = Complaint::new("this is not a frame type");
        complaint.help = did_you_mean(text, ethertype_names())
            .or_else(|| Some("write a name such as arp, or a number from 0x0600 to 0xffff".to_owned()));
        report.add(keys.ethertype.place, complaint);
        return None;
    };
    let Criteria { inside, outside, inside_port, outside_port, port, protocol, dscp, .. } = keys;
    let of_ip = [
        inside.written(),
        outside.written(),
        inside_port.written(),
        outside_port.written(),
        port.written(),
        protocol.written(),
        dscp.written(),
    ];
    if let Some((key, _)) = of_ip.into_iter().flatten().find(|_| !may_carry_ip(number)) {
        let message = format!("frames of this type carry no IP, so with `{key}` nothing would ever match");
        report.add(keys.ethertype.place, Complaint::new(message).help(format!("leave out `{key}`")));
    }
    Some(number)
}
