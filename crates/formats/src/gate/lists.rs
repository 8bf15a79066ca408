//! The lists of circuits that flows name: a list of tidegate's own, or LibreQoS's files, whose
//! network has the classes of its circuits.

use crate::error::{Complaint, FormatError, FormatErrors, Origin, Place, Report};
use crate::file;
use crate::keys;
use crate::keys::gate::{Flow, GateClass, Within};
use crate::libreqos::{self, Translation};
use crate::read;
use crate::record::Shape;
use crate::section::{Keys, Placed};
use crate::tree::{self, Content, Node};
use std::ops::Range;
use std::path::Path;

/// The largest list, in bytes: room for half a million circuits.
const LARGEST: usize = 64 << 20;

/// The list of a flow.
pub(super) enum List {
    /// A list with a line for each circuit.
    Plain { text: String, file_name: String },
    /// A list with a line for each device.
    LibreQos {
        translation: Box<Translation>,
        /// The indices of the classes of its network.
        nodes: Range<usize>,
    },
}

/// The lists of a file's flows.
pub(super) struct Lists {
    /// In the order of the flows; `None` for a flow without one.
    pub(super) lists: Vec<Option<List>>,
    /// The classes of networks, which stand behind those of the file.
    pub(super) classes: Vec<Placed<GateClass>>,
    /// Differences from LibreQoS's files, where these are accepted.
    pub(super) losses: Vec<FormatError>,
}

impl List {
    /// The classes of the list's network.
    pub(super) fn nodes(&self) -> Range<usize> {
        match self {
            List::Plain { .. } => 0..0,
            List::LibreQos { nodes, .. } => nodes.clone(),
        }
    }

    /// The conversations in its circuits, where the flow does not state them.
    pub(super) fn within(&self) -> Within {
        match self {
            List::Plain { .. } => Within::FiveTuple,
            List::LibreQos { .. } => Within::TripleIsolate,
        }
    }
}

/// Reads the lists for a line of these `rates`, up first, in bit/s; the file itself has `own`
/// classes. `None` once a mistake was reported: what else names a class of a network would seem
/// mistaken, too.
pub(super) fn read(
    flows: &[Placed<Flow>],
    own: usize,
    rates: [u64; 2],
    base_dir: &Path,
    report: &mut Report,
) -> Option<Lists> {
    let mut all = Lists { lists: Vec::new(), classes: Vec::new(), losses: Vec::new() };
    let mut sound = true;
    for flow in flows {
        let list = match flow.circuits.as_ref() {
            Some(path) => all.list(flow, &base_dir.join(path), own, rates, base_dir, report).map(Some),
            None => {
                refuse_without_list(flow, report);
                Some(None)
            }
        };
        sound &= list.is_some();
        all.lists.push(list.flatten());
    }
    sound.then_some(all)
}

fn refuse_without_list(flow: &Flow, report: &mut Report) {
    let keys = [flow.network.written(), flow.accept_losses.written()];
    for (key, place) in keys.into_iter().flatten() {
        let complaint = Complaint::new(format!("`{key}` has no effect without `circuits`"))
            .help("name the ShapedDevices.csv that belongs to it: circuits = \"ShapedDevices.csv\"");
        report.add(place, complaint);
    }
}

impl Lists {
    /// The list of a flow; `None` once a mistake was reported.
    fn list(
        &mut self,
        flow: &Flow,
        path: &Path,
        own: usize,
        rates: [u64; 2],
        base_dir: &Path,
        report: &mut Report,
    ) -> Option<List> {
        let file_name = path.display().to_string();
        let text = match file::read_text(path, "list of circuits", "CSV", LARGEST) {
            Ok(text) => text,
            Err(complaint) => {
                let error = Origin::new(&file_name, "", &[]).error(Place::File, complaint);
                report.say_elsewhere(error.into());
                return None;
            }
        };
        if flow.network.is_none() && !libreqos::is_list(&text) {
            if let Some((key, place)) = flow.accept_losses.written() {
                let complaint =
                    Complaint::new(format!("`{key}` has no effect: this is no list of LibreQoS's"));
                report.add(place, complaint.help("leave it out"));
            }
            return Some(List::Plain { text, file_name });
        }
        let within = flow.within.unwrap_or(Within::TripleIsolate);
        let network = flow.network.as_ref().map(|path| base_dir.join(path));
        let read = Translation::read(&text, &file_name, network.as_deref(), rates, Some(within));
        let mut translation = match read {
            Ok(translation) => translation,
            Err(errors) => {
                report.say_elsewhere(errors);
                return None;
            }
        };
        let losses = std::mem::take(&mut translation.losses);
        if !*flow.accept_losses && !losses.is_empty() {
            let things = if losses.len() == 1 {
                "1 thing is".to_owned()
            } else {
                format!("{} things are", losses.len())
            };
            let complaint = Complaint::new(format!("{things} not as in LibreQoS's files"))
                .help("correct them there, or write accept_losses = true");
            report.add(flow.circuits.place, complaint);
            report.say_elsewhere(FormatErrors { errors: losses, truncated: false });
            return None;
        }
        self.losses.extend(losses);
        let start = own + self.classes.len();
        self.classes.extend(classes(&translation, flow.network.place, report));
        Some(List::LibreQos { translation: Box::new(translation), nodes: start..own + self.classes.len() })
    }
}

/// The classes of a network as if the file stated them, all at the `place` that names it.
fn classes(translation: &Translation, place: Place, report: &mut Report) -> Vec<Placed<GateClass>> {
    let field = keys::gate().field("class");
    let Some(Shape::Tables(section)) = field.map(|field| &field.shape) else { return Vec::new() };
    // The text is of our own making.
    let Ok(root) = tree::parse(&translation.classes()) else { return Vec::new() };
    let tables = root.get("class").map(|entry| &entry.value.content);
    let Some(Content::List(tables)) = tables else { return Vec::new() };
    let read = |table: &Node| {
        let values = read::read(section, &placed(table, place), report);
        let value = Keys::read(&values)?;
        Some(Placed { key: "class", value, place, given: true })
    };
    tables.iter().filter_map(read).collect()
}

/// A copy of a node, all at one place.
fn placed(node: &Node, place: Place) -> Node {
    let content = match &node.content {
        Content::Table(entries) => {
            let entries = entries.iter().map(|entry| tree::KeyValue {
                key: entry.key.clone(),
                key_place: place,
                value: placed(&entry.value, place),
            });
            Content::Table(entries.collect())
        }
        Content::List(nodes) => Content::List(nodes.iter().map(|node| placed(node, place)).collect()),
        other => other.clone(),
    };
    Node { place, content }
}
