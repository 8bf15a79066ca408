//! The files of LibreQoS, `ShapedDevices.csv` and `network.json`: the classes and the circuits of a
//! gate. A gate file names them, or `import` translates them into a gate file and its list.
//!
//! The rules are those of LibreQoS's documentation (versions 1.5 and 2.0). A node is a class with a
//! ceiling, and no reservation: circuits that compete have what they reserve, and divide the rest. A
//! virtual node limits nothing, so its nodes and circuits belong to the nearest node above that is
//! real. Flows and classes do not compete in one scheduler, so circuits of a node that also has nodes
//! in it share a class of their own there.
//!
//! LibreQoS's own queue management is CAKE with `triple-isolate`, which divides a circuit among its
//! hosts first. A circuit here is therefore fair among its hosts, and then among the conversations of
//! each, unless its list asks for FQ-CoDel.

mod classes;
mod devices;
mod mbps;
mod names;
mod network;
mod queues;
mod render;

use crate::csv_table::CsvTable;
use crate::error::{Complaint, FormatError, FormatErrors, MAX_REPORTED, Origin, Place};
use crate::file::read_text;
use crate::keys::gate::Within;
use crate::suggest::{brief, did_you_mean};
use crate::units::show_rate;
use classes::{Class, Tree};
use devices::Devices;
use network::Node;
use std::collections::BTreeMap;
use std::path::Path;
use tidegate_core::classifier::circuits::{self, CircuitTerms};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::Rate;

pub(crate) use devices::{CIRCUIT, LEAST, MOST, is_list};
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
    let (text, name) = load(devices, "list of devices", "CSV")?;
    let made = Translation::read(&text, &name, network, line.rates, None)?;
    Ok(Import {
        gate: render::gate(line, &made.classes, made.within),
        circuits: render::circuits(&made.devices.circuits, &made.classes, &made.places),
        circuit_count: made.devices.circuits.len(),
        class_count: made.classes.len(),
        losses: made.losses,
    })
}

fn load(path: &Path, what: &str, form: &str) -> Result<(String, String), FormatErrors> {
    let name = path.display().to_string();
    let failed = |complaint| FormatErrors::from(Origin::new(&name, "", &[]).error(Place::File, complaint));
    read_text(path, what, form, LARGEST).map_err(failed).map(|text| (text, name))
}

/// LibreQoS's files as a gate has them.
pub(crate) struct Translation {
    devices: Devices,
    classes: Vec<Class>,
    /// The class of each circuit.
    places: Vec<Option<usize>>,
    within: Within,
    /// Differences from the files.
    pub(crate) losses: Vec<FormatError>,
}

impl Translation {
    /// Reads the `text` of a list of devices, and the network that it names, for a line of these
    /// rates, up first, in bit/s. Without `within`, circuits are divided as most of the list asks.
    pub(crate) fn read(
        text: &str,
        file_name: &str,
        network: Option<&Path>,
        rates: [u64; 2],
        within: Option<Within>,
    ) -> Result<Translation, FormatErrors> {
        let nodes = match network {
            Some(path) => {
                let (text, name) = load(path, "network", "JSON")?;
                network::parse(&text, &name)?
            }
            None => Vec::new(),
        };
        let mut devices = Devices::parse(text, file_name)?;
        let within = within.unwrap_or_else(|| devices.within());
        let tree = Tree::new(&nodes);
        tree.check_depth(&devices)?;
        let parents = parents(&nodes, &devices)?;
        let (classes, places) = tree.with_circuits(&parents);
        let mut losses = devices.losses(within);
        losses.extend(lower(&mut devices, &classes, &places, rates));
        Ok(Translation { devices, classes, places, within, losses })
    }

    /// The classes as a gate file states them.
    pub(crate) fn classes(&self) -> String {
        render::classes(&self.classes)
    }

    /// The circuits, each with the first byte of its line. The class of the first node is `first`
    /// among those of the gate.
    pub(crate) fn circuits(&self, first: usize) -> impl Iterator<Item = (circuits::Circuit, usize)> {
        self.devices.circuits.iter().zip(&self.places).map(move |(circuit, place)| {
            let rate = |bits: u64| if bits == 0 { None } else { Rate::from_bits_per_second(bits) };
            let terms = CircuitTerms {
                class: place.map(|class| (first + class) as u16),
                reserve: circuit.least.map(rate),
                ceiling: circuit.most.map(rate),
            };
            let (name, addresses) = (circuit.name.clone(), circuit.addresses.clone());
            (circuits::Circuit { name, addresses, terms }, circuit.start)
        })
    }

    /// The list, for messages.
    pub(crate) fn into_table(self) -> CsvTable {
        self.devices.table
    }
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
    let of_line = classes.len();
    // The circuits in each class, and in the line.
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); of_line + 1];
    for (circuit, place) in places.iter().enumerate() {
        members[place.unwrap_or(of_line)].push(circuit);
    }
    // Classes stand behind those that they are in: the innermost come first.
    for holder in (0..of_line).rev().chain([of_line]) {
        let within = std::mem::take(&mut members[holder]);
        let class = classes.get(holder);
        let room = match class {
            Some(class) => class.ceilings,
            None => Some(line.map(|rate| rate / 100 * RESERVABLE)),
        };
        for (direction, room) in Direction::BOTH.into_iter().zip(room.into_iter().flatten()) {
            let at = direction as usize;
            let sum: u64 = within.iter().map(|circuit| devices.circuits[*circuit].least[at]).sum();
            if sum <= room {
                continue;
            }
            for circuit in &within {
                let least = &mut devices.circuits[*circuit].least[at];
                *least = (u128::from(*least) * u128::from(room) / u128::from(sum)) as u64;
            }
            let name = class.map_or("the line".to_owned(), |class| format!("`{}`", class.node));
            let message = format!(
                "the least rates of the circuits in {name} add up to {} {}, and there is room for {}",
                show_rate(sum),
                direction.name(),
                show_rate(room)
            );
            let help = format!("each is lowered to {:.1} % of itself", 100.0 * room as f64 / sum as f64);
            said.push(devices.error(Complaint::new(message).help(help)));
        }
        if let Some(class) = class {
            members[class.parent.unwrap_or(of_line)].extend(within);
        }
    }
    said
}

#[cfg(test)]
mod tests;
