//! Operation of a gate: its control socket, and the address of its metrics.

use crate::error::{Complaint, Report};
use crate::keys::gate::{Control, Metrics};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Operation of a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Path of the control socket; `None` for the default path, from the gate's name.
    pub socket: Option<PathBuf>,
    /// Its permission bits.
    pub mode: u32,
    /// Owner of the socket; `None` for the user and the group that the gate runs as.
    pub owner: Option<Owner>,
    /// Address that serves metrics over HTTP; `None` for no metrics.
    pub metrics: Option<SocketAddr>,
}

/// A user, and perhaps a group, each by its name or its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The user.
    pub user: String,
    /// The group.
    pub group: Option<String>,
}

impl Operation {
    /// Reads the operation; `None` once a mistake has been reported.
    pub(super) fn read(
        control: &Control,
        metrics: Option<&Metrics>,
        report: &mut Report,
    ) -> Option<Operation> {
        let Control { socket, mode: text, owner: stated } = control;
        let octal = text.len() <= 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| octal && *mode <= 0o777);
        if mode.is_none() {
            let complaint = Complaint::new(format!("`{text}` is not a file mode"));
            report.add(text.place, complaint.help("write it in octal, as in 0660"));
        }
        let owner = stated.as_ref().map(|text| match text.split_once(':') {
            None => Owner { user: text.clone(), group: None },
            Some((user, group)) => Owner { user: user.to_owned(), group: Some(group.to_owned()) },
        });
        if owner.as_ref().is_some_and(|owner| owner.user.is_empty() || owner.group.as_deref() == Some("")) {
            let complaint = Complaint::new("a user or a group is missing");
            report.add(stated.place, complaint.help("write it as in root:adm"));
        }
        let address = metrics.and_then(|Metrics { listen }| {
            let address = listen.parse().ok();
            if address.is_none() {
                let complaint = Complaint::new(format!("`{listen}` is not an address with a port"));
                let help = "write it as in 127.0.0.1:9273, [::1]:9273, or 0.0.0.0:9273 for every address";
                report.add(listen.place, complaint.help(help));
            }
            address
        });
        Some(Operation { socket: socket.as_ref().map(PathBuf::from), mode: mode?, owner, metrics: address })
    }
}
