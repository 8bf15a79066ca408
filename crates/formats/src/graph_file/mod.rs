//! Files of graphs, in GraphML or in GML, with the attributes of the Internet Topology Zoo.

mod gml;
mod graphml;
mod stated;

use crate::error::{Complaint, Report, in_words};
use crate::section::Placed;
use stated::{Attributes, Stated};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tidegate_core::units::{Rate, Span};

/// The most nodes, and the most edges.
const MOST: usize = 100_000;
/// The largest file, in bytes.
const LARGEST: u64 = 64 << 20;
/// The longest name made of a label, which leaves room for a number and for the ending of a host.
const LONGEST_NAME: usize = 48;
/// Mean radius of the Earth (IUGG), in km.
const EARTH: f64 = 6371.0088;
/// Propagation delay of a kilometre of optical fibre, in s (ITU-T G.114, Table A.1).
const FIBRE: f64 = 5e-6;

/// A graph.
#[derive(Debug, PartialEq)]
pub(crate) struct Graph {
    pub(crate) is_directed: bool,
    pub(crate) nodes: Vec<GraphNode>,
    pub(crate) edges: Vec<GraphEdge>,
}

/// A node.
#[derive(Debug, PartialEq)]
pub(crate) struct GraphNode {
    /// Its name, unique in the graph.
    pub(crate) name: String,
    /// Its latitude and longitude, in degrees.
    place: Option<(f64, f64)>,
}

/// An edge, from one node to another.
#[derive(Debug, PartialEq)]
pub(crate) struct GraphEdge {
    /// Index of a node.
    pub(crate) from: usize,
    /// Index of another node.
    pub(crate) to: usize,
    /// Speed in bit/s.
    pub(crate) speed: Option<u64>,
}

impl GraphNode {
    /// Delay of a fibre to another node along the great circle; `None` where a place is not known.
    pub(crate) fn delay_to(&self, other: &GraphNode) -> Option<Span> {
        let ((here, from), (there, to)) = self.place.zip(other.place)?;
        let [here, from, there, to] = [here, from, there, to].map(f64::to_radians);
        let half = |angle: f64| (angle / 2.0).sin().powi(2);
        let chord = half(there - here) + here.cos() * there.cos() * half(to - from);
        let kilometres = 2.0 * EARTH * chord.sqrt().min(1.0).asin();
        Some(Span::from_secs_f64(kilometres * FIBRE))
    }
}

/// Reads the graph that a topology names; a relative path starts at `base_dir`. `None` after
/// something was reported.
pub(crate) fn read(named: &Placed<PathBuf>, base_dir: &Path, report: &mut Report) -> Option<Graph> {
    let path = base_dir.join(&**named);
    let graph = text_of(&path)
        .map_err(|problem| {
            Complaint::new(format!("cannot read {}: {problem}", path.display()))
                .help("a relative path starts at the folder of this file")
        })
        .and_then(|text| {
            let (format, stated) = match path.extension() {
                Some(ending) if ending.eq_ignore_ascii_case("gml") => ("GML", gml::parse(&text)),
                _ => ("GraphML", graphml::parse(&text)),
            };
            stated.and_then(graph).map_err(|problem| {
                Complaint::new(format!("{} is not a graph in {format}: {problem}", path.display()))
            })
        });
    graph.map_err(|complaint| report.add(named.place, complaint)).ok()
}

fn text_of(path: &Path) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| in_words(&error))?;
    if !metadata.is_file() {
        // Opening a pipe would block until a writer appears.
        return Err("it is not a regular file".to_owned());
    }
    if metadata.len() > LARGEST {
        return Err(format!("it has more than {} MiB", LARGEST >> 20));
    }
    let bytes = std::fs::read(path).map_err(|error| in_words(&error))?;
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

/// Names the nodes, and finds the ends of the edges.
fn graph(stated: Stated) -> Result<Graph, String> {
    if stated.nodes.is_empty() {
        return Err("it has no node".to_owned());
    }
    if stated.nodes.len() > MOST || stated.edges.len() > MOST {
        return Err(format!("it has more than {MOST} nodes or edges"));
    }
    let mut taken = BTreeSet::new();
    let mut by_id = BTreeMap::new();
    let mut nodes = Vec::new();
    for (id, attributes) in stated.nodes {
        let name = free_name(&id, attributes.get("label"), &mut taken);
        let place = place(&name, &attributes)?;
        if by_id.insert(id.clone(), nodes.len()).is_some() {
            return Err(format!("two nodes have the id `{id}`"));
        }
        nodes.push(GraphNode { name, place });
    }
    let end = |id: &String| by_id.get(id).copied().ok_or_else(|| format!("an edge ends at no node: `{id}`"));
    let mut edges = Vec::new();
    for (from, to, attributes) in &stated.edges {
        let (from, to) = (end(from)?, end(to)?);
        if from != to {
            let speed = speed(attributes).map_err(|problem| {
                format!("the edge from {} to {}: {problem}", nodes[from].name, nodes[to].name)
            })?;
            edges.push(GraphEdge { from, to, speed });
        }
    }
    Ok(Graph { is_directed: stated.is_directed, nodes, edges })
}

/// A name for a node: its label as far as a name may have it, or `n` and its id, with a number
/// behind one that is taken.
fn free_name(id: &str, label: Option<&String>, taken: &mut BTreeSet<String>) -> String {
    let plain = |text: &str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
        joined.chars().take(LONGEST_NAME).collect::<String>()
    };
    let label = label.map(|label| plain(label)).filter(|name| !name.is_empty() && name != "None");
    let name = label.unwrap_or_else(|| format!("n{}", plain(id)));
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or(name);
    taken.insert(free.clone());
    free
}

fn place(name: &str, attributes: &Attributes) -> Result<Option<(f64, f64)>, String> {
    let degrees = |key: &str, most: f64| match attributes.get(key) {
        None => Ok(None),
        Some(text) => match text.trim().parse::<f64>() {
            Ok(degrees) if degrees.abs() <= most => Ok(Some(degrees)),
            _ => Err(format!("`{key}` of {name} is not a number of degrees up to {most}: `{text}`")),
        },
    };
    Ok(degrees("Latitude", 90.0)?.zip(degrees("Longitude", 360.0)?))
}

/// The speed of an edge; `None` where none is stated, and for zero, which stands for not known.
fn speed(attributes: &Attributes) -> Result<Option<u64>, String> {
    let Some(text) = attributes.get("LinkSpeedRaw") else { return Ok(None) };
    let speed = text.trim().parse::<f64>().ok().filter(|speed| (0.0..=u64::MAX as f64).contains(speed));
    let bits = speed.map(|speed| speed.round() as u64);
    match bits {
        Some(0) => Ok(None),
        Some(bits) if Rate::from_bits_per_second(bits).is_some() => Ok(Some(bits)),
        _ => Err(format!("`LinkSpeedRaw` is not a rate in bit/s: `{text}`")),
    }
}

#[cfg(test)]
mod tests;
