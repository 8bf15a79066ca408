//! GraphML (Brandes, Eiglsperger, Herman, Himsolt and Marshall 2001), without hyperedges, ports and
//! nested graphs.

use super::stated::{Attributes, Stated};
use roxmltree::{Document, Node};
use std::collections::BTreeMap;

/// Reads the first graph of a file.
pub(super) fn parse(text: &str) -> Result<Stated, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        return Err(format!("its root is `{}`, not `graphml`", root.tag_name().name()));
    }
    let graph = children(root, "graph").next().ok_or("it has no graph")?;
    // A key has an identifier for `data`, and a name.
    let mut names = BTreeMap::new();
    let mut defaults: BTreeMap<&str, Attributes> = BTreeMap::new();
    for key in children(root, "key") {
        let (Some(id), Some(name)) = (key.attribute("id"), key.attribute("attr.name")) else { continue };
        names.insert(id, name);
        if let Some(text) = children(key, "default").next().and_then(|default| default.text()) {
            let kind = defaults.entry(key.attribute("for").unwrap_or("all")).or_default();
            kind.insert(name.to_owned(), text.to_owned());
        }
    }
    let attributes = |of: Node<'_, '_>, kind: &str| {
        let mut found = Attributes::new();
        for kind in ["all", kind] {
            found.extend(defaults.get(kind).cloned().unwrap_or_default());
        }
        for data in children(of, "data") {
            let name = data.attribute("key").and_then(|key| names.get(key));
            if let (Some(name), Some(text)) = (name, data.text()) {
                found.insert((*name).to_owned(), text.to_owned());
            }
        }
        found
    };
    let needed = |of: Node<'_, '_>, name: &str| {
        let line = document.text_pos_at(of.range().start).row;
        let missing = || format!("line {line}: `{}` has no `{name}`", of.tag_name().name());
        of.attribute(name).map(str::to_owned).ok_or_else(missing)
    };
    let mut stated =
        Stated { is_directed: graph.attribute("edgedefault") == Some("directed"), ..Stated::default() };
    for node in children(graph, "node") {
        stated.nodes.push((needed(node, "id")?, attributes(node, "node")));
    }
    for edge in children(graph, "edge") {
        let ends = (needed(edge, "source")?, needed(edge, "target")?);
        stated.edges.push((ends.0, ends.1, attributes(edge, "edge")));
    }
    Ok(stated)
}

fn children<'a, 'input>(of: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    of.children().filter(move |child| child.tag_name().name() == name)
}
