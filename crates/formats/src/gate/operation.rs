//! Operation of a gate: its control socket, and the address of its metrics.

use crate::error::{Complaint, Report};
use crate::values::Values;
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
    pub(super) fn read(control: &Values, metrics: Option<&Values>, report: &mut Report) -> Option<Operation> {
        let text = control.text("mode")?;
        let octal = text.len() <= 4 && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
        let mode = u32::from_str_radix(text, 8).ok().filter(|mode| octal && *mode <= 0o777);
        if mode.is_none() {
            let complaint = Complaint::new(format!("`{text}` is not a file mode"));
            report.add(control.place_of("mode"), complaint.help("write it in octal, as in 0660"));
        }
        let owner = control.text("owner").map(|text| match text.split_once(':') {
            None => Owner { user: text.to_owned(), group: None },
            Some((user, group)) => Owner { user: user.to_owned(), group: Some(group.to_owned()) },
        });
        if owner.as_ref().is_some_and(|owner| owner.user.is_empty() || owner.group.as_deref() == Some("")) {
            let complaint = Complaint::new("a user or a group is missing");
            report.add(control.place_of("owner"), complaint.help("write it as in root:adm"));
        }
        let listen = metrics.and_then(|metrics| metrics.text("listen").map(|text| (metrics, text)));
        let address = listen.and_then(|(metrics, text)| {
            let address = text.parse().ok();
            if address.is_none() {
                let complaint = Complaint::new(format!("`{text}` is not an address with a port"));
                let help = "write it as in 127.0.0.1:9273, [::1]:9273, or 0.0.0.0:9273 for every address";
                report.add(metrics.place_of("listen"), complaint.help(help));
            }
            address
        });
        Some(Operation {
            socket: control.text("socket").map(PathBuf::from),
            mode: mode?,
            owner,
            metrics: address,
        })
    }
}
