//! The files of LibreQoS, translated: `ShapedDevices.csv` and `network.json` become a gate file and
//! its list of circuits.
//!
//! The rules are those of LibreQoS's documentation (versions 1.5 and 2.0). A node is a class with a
//! ceiling, and no reservation: circuits that compete have what they reserve, and divide the rest. A
//! virtual node limits nothing, so its nodes and circuits belong to the nearest node above that is
//! real. Flows and classes do not compete in one scheduler, so circuits of a node that also has nodes
//! in it share a class of their own there.

mod classes;
mod devices;
mod mbps;
mod names;
mod network;
mod render;

use crate::error::{Complaint, FormatError, FormatErrors, MAX_REPORTED, Origin, Place};
use crate::file::read_text;
use crate::suggest::{brief, did_you_mean};
use crate::units::show_rate;
use classes::{Class, Tree};
use devices::Devices;
use network::Node;
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_core::classifier::rules::Direction;

pub use render::Line;

/// The largest list and the largest network, in bytes.
const LARGEST: usize = 64 << 20;
/// Part of the line that circuits may reserve, in hundredths: the rest is for packets of nobody.
const RESERVABLE: u64 = 98;

/// A translation.
#[derive(Clone, Debug)]
pub struct Import {
    /// The gate file, which names the list `circuits.csv`.
    pub gate: String,
    /// The list.
    pub circuits: String,
    /// Number of circuits.
    pub circuit_count: usize,
    /// Number of classes.
    pub class_count: usize,
    /// Differences from the files that were read.
    pub losses: Vec<FormatError>,
}

/// Translates a list of devices, and the network that it names; without one, no circuit may have a
/// parent.
///
/// # Errors
/// When a file cannot be read or holds mistakes; all that are found at once are listed.
pub fn import(devices: &Path, network: Option<&Path>, line: &Line<'_>) -> Result<Import, FormatErrors> {
    let load = |path: &Path, what: &str, form: &str| {
        let name = path.display().to_string();
        let failed =
            |complaint| FormatErrors::from(Origin::new(&name, "", &[]).error(Place::File, complaint));
        read_text(path, what, form, LARGEST).map_err(failed).map(|text| (text, name))
    };
    let nodes = match network {
        Some(path) => {
            let (text, name) = load(path, "network", "JSON")?;
            network::parse(&text, &name)?
        }
        None => Vec::new(),
    };
    let (text, name) = load(devices, "list of devices", "CSV")?;
    let mut devices = Devices::parse(&text, &name)?;
    let tree = Tree::new(&nodes);
    tree.check_depth(&devices)?;
    let parents = parents(&nodes, &devices)?;
    let (classes, places) = tree.with_circuits(&parents);
    let lowered = lower(&mut devices, &classes, &places, line.rates);
    let losses = devices.losses.drain(..).chain(lowered).collect();
    Ok(Import {
        gate: render::gate(line, &classes),
        circuits: render::circuits(&devices.circuits, &classes, &places),
        circuit_count: devices.circuits.len(),
        class_count: classes.len(),
        losses,
    })
}

/// The node of each circuit.
fn parents(nodes: &[Node], devices: &Devices) -> Result<Vec<Option<usize>>, FormatErrors> {
    let by_name: BTreeMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    let mut errors = Vec::new();
    let mut parents = Vec::with_capacity(devices.circuits.len());
    for circuit in &devices.circuits {
        let name = circuit.parent.as_str();
        let found = by_name.get(name).copied();
        if found.is_none() && !name.is_empty() {
            let mut complaint = Complaint::new(format!("the network has no node `{}`", brief(name)));
            complaint.help = did_you_mean(name, by_name.keys().copied())
                .or_else(|| Some("name the network.json that it is in".to_owned()));
            errors.push(devices.error_at_parent(circuit, complaint));
        }
        parents.push(found);
    }
    if errors.is_empty() {
        return Ok(parents);
    }
    let truncated = errors.len() > MAX_REPORTED;
    errors.truncate(MAX_REPORTED);
    Err(FormatErrors { errors, truncated })
}

/// Lowers the least rates of circuits where they add up to more than a class or the line carries, all
/// in it alike, and says so.
fn lower(
    devices: &mut Devices,
    classes: &[Class],
    places: &[Option<usize>],
    line: [u64; 2],
) -> Vec<FormatError> {
    let mut said = Vec::new();
    // Classes stand behind those that they are in: the innermost come first.
    let inside_out = (0..classes.len()).rev().map(Some).chain([None]);
    for holder in inside_out {
        let Some(room) = (match holder {
            Some(class) => classes[class].ceilings,
            None => Some(line.map(|rate| rate / 100 * RESERVABLE)),
        }) else {
            continue;
        };
        let is_in = |place: Option<usize>| {
            holder.is_none()
                || std::iter::successors(place, |class| classes[*class].parent)
                    .any(|class| Some(class) == holder)
        };
        let members: Vec<usize> = (0..places.len()).filter(|circuit| is_in(places[*circuit])).collect();
        for direction in Direction::BOTH {
            let at = direction as usize;
            let sum: u64 = members.iter().map(|circuit| devices.circuits[*circuit].least[at]).sum();
            if sum <= room[at] {
                continue;
            }
            for circuit in &members {
                let least = &mut devices.circuits[*circuit].least[at];
                *least = (u128::from(*least) * u128::from(room[at]) / u128::from(sum)) as u64;
            }
            let name = holder.map_or("the line".to_owned(), |class| format!("`{}`", classes[class].node));
            let message = format!(
                "the least rates of the circuits in {name} add up to {} {}, and there is room for {}",
                show_rate(sum),
                direction.name(),
                show_rate(room[at])
            );
            let help = format!("each is lowered to {:.1} % of itself", 100.0 * room[at] as f64 / sum as f64);
            said.push(devices.error(Complaint::new(message).help(help)));
        }
    }
    said
}

#[cfg(test)]
mod tests;
