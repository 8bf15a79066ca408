//! `match`: the packets that belong to a flow of a gate.

use crate::error::{Complaint, Report};
use crate::prefix::read_prefix;
use crate::suggest::did_you_mean;
use crate::values::Values;
use tidegate_core::classifier::ethertypes::{ethertype_names, ethertype_number, may_carry_ip};
use tidegate_core::classifier::matching::Match;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::classifier::{protocol_names, protocol_number};
use tidegate_core::headers::has_ports;

/// Reads `match`; `None` once a mistake has been reported.
pub(super) fn read(values: &Values, report: &mut Report) -> Option<Match> {
    let criteria = read_criteria(values, report);
    let Some(table) = values.table("not") else { return criteria };
    let except = read_criteria(table, report)?;
    if except == Match::default() {
        let complaint =
            Complaint::new("`not` names no packets, so it would match all").help("leave out `not`");
        report.add(table.place, complaint);
        return None;
    }
    Some(Match { except: Some(Box::new(except)), ..criteria? })
}

/// Reads the criteria; `None` once a mistake has been reported.
fn read_criteria(values: &Values, report: &mut Report) -> Option<Match> {
    let prefixes = |key, report: &mut Report| {
        each(values, key, |text| read_prefix(key, text, values.place_of(key), report))
    };
    let (inside, outside) = (prefixes("inside", report), prefixes("outside", report));
    let macs = |key: &str, report: &mut Report| {
        each(values, key, |text| {
            let help = |_| {
                let complaint = Complaint::new(format!("`{key}` is no MAC address"));
                report.add(values.place_of(key), complaint.help("write it as in 02:00:5e:10:00:0a"));
            };
            text.parse().map_err(help).ok()
        })
    };
    let (inside_mac, outside_mac) = (macs("inside_mac", report), macs("outside_mac", report));
    let protocol = each(values, "protocol", |name| read_protocol(name, values, report))?;
    let ethertype = each(values, "ethertype", |text| read_ethertype(text, values, report))?;
    let small = |key| values.several_integers(key).into_iter();
    Some(Match {
        inside: inside?,
        outside: outside?,
        inside_mac: inside_mac?,
        outside_mac: outside_mac?,
        inside_port: values.ports("inside_port").to_vec(),
        outside_port: values.ports("outside_port").to_vec(),
        port: values.ports("port").to_vec(),
        protocol,
        dscp: small("dscp").filter_map(|number| u8::try_from(number).ok()).collect(),
        ethertype,
        vlan: small("vlan").filter_map(|number| u16::try_from(number).ok()).collect(),
        direction: values.text("direction").map(|word| match word {
            "up" => Direction::Up,
            _ => Direction::Down,
        }),
        except: None,
    })
}

/// Every text under a key, converted by `read`; `None` when one of them cannot be converted.
fn each<T>(values: &Values, key: &str, read: impl FnMut(&str) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = values.several_texts(key).into_iter().map(read).collect();
    read.into_iter().collect()
}

/// Reads a protocol; `None` once a mistake has been reported.
fn read_protocol(name: &str, values: &Values, report: &mut Report) -> Option<u8> {
    let Ok(number) = protocol_number(name) else {
        let mut complaint = Complaint::new("this is not a protocol");
        complaint.help = did_you_mean(name, protocol_names());
        report.add(values.place_of("protocol"), complaint);
        return None;
    };
    let ports = ["port", "inside_port", "outside_port"];
    for key in ports.into_iter().filter(|key| values.given(key) && !has_ports(number)) {
        let complaint = Complaint::new("this protocol has no ports, so nothing would ever match")
            .help("tcp, udp, sctp, dccp and udplite have ports");
        report.add(values.place_of(key), complaint);
    }
    Some(number)
}

/// Reads a frame type; `None` once a mistake has been reported.
fn read_ethertype(text: &str, values: &Values, report: &mut Report) -> Option<u16> {
    let Some(number) = ethertype_number(text) else {
        let mut complaint = Complaint::new("this is not a frame type");
        complaint.help = did_you_mean(text, ethertype_names())
            .or_else(|| Some("write a name such as arp, or a number from 0x0600 to 0xffff".to_owned()));
        report.add(values.place_of("ethertype"), complaint);
        return None;
    };
    let of_ip = ["inside", "outside", "inside_port", "outside_port", "port", "protocol", "dscp"];
    if let Some(key) = of_ip.into_iter().find(|key| values.given(key) && !may_carry_ip(number)) {
        let message = format!("frames of this type carry no IP, so with `{key}` nothing would ever match");
        report.add(values.place_of("ethertype"), Complaint::new(message).help(format!("leave out `{key}`")));
    }
    Some(number)
}
