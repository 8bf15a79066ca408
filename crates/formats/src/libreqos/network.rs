//! `network.json`: the tree of sites and access points, and what each carries.

use super::mbps::Mbps;
use crate::error::{FormatErrors, Origin};
use crate::json;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::collections::BTreeSet;
use std::fmt;
use tidegate_core::classifier::rules::Direction;

/// The keys with the bandwidth of each direction, up first.
const BANDWIDTHS: [&str; 2] = ["uploadBandwidthMbps", "downloadBandwidthMbps"];

const HELP: &str =
    "a node is \"Site_1\": {\"downloadBandwidthMbps\": 500, \"uploadBandwidthMbps\": 100, \"children\": {…}}";

/// A site or an access point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) name: String,
    /// The node that it is part of, which stands before it.
    pub(super) parent: Option<usize>,
    /// True for a node that only groups others, and limits nothing.
    pub(super) is_virtual: bool,
    /// Bandwidth in each direction, up first, in bit/s; 0 for a virtual one.
    pub(super) carries: [u64; 2],
}

/// Reads a `network.json`: its nodes, each behind the one that it is part of.
pub(super) fn parse(text: &str, file_name: &str) -> Result<Vec<Node>, FormatErrors> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::default();
    let mut from = serde_json::Deserializer::from_str(bare);
    let read = Children { reader: &mut reader, above: None }.deserialize(&mut from).and_then(|()| from.end());
    read.map(|()| reader.nodes)
        .map_err(|error| json::mistake(&Origin::new(file_name, bare, &[]), bare, &error, HELP).into())
}

#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    names: BTreeSet<String>,
}

/// The nodes in one, or all that are in none.
struct Children<'a> {
    reader: &'a mut Reader,
    above: Option<usize>,
}

impl<'de> DeserializeSeed<'de> for Children<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Children<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nodes by their names")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let Children { reader, above } = self;
        while let Some(name) = map.next_key::<String>()? {
            if !reader.names.insert(name.clone()) {
                return Err(M::Error::custom(format!("there is already a node `{name}`")));
            }
            reader.nodes.push(Node { name, parent: above, is_virtual: false, carries: [0; 2] });
            let node = reader.nodes.len() - 1;
            map.next_value_seed(OneNode { reader: &mut *reader, node })?;
        }
        Ok(())
    }
}

/// The keys of a node.
struct OneNode<'a> {
    reader: &'a mut Reader,
    node: usize,
}

impl<'de> DeserializeSeed<'de> for OneNode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneNode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        let OneNode { reader, node } = self;
        let mut carries = [None; 2];
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key::<String>()? {
            let rate = BANDWIDTHS.iter().position(|name| *name == key);
            match (key.as_str(), rate) {
                (_, Some(direction)) => carries[direction] = Some(map.next_value::<Mbps>()?.0),
                ("virtual", _) => reader.nodes[node].is_virtual = map.next_value()?,
                ("children", _) => {
                    map.next_value_seed(Children { reader: &mut *reader, above: Some(node) })?
                }
                // A type, a place on a map, numbers of other systems: nothing that shapes.
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
            if !seen.insert(key.clone()) {
                return Err(M::Error::custom(format!(
                    "node `{}` has `{key}` twice",
                    reader.nodes[node].name
                )));
            }
        }
        let own = &mut reader.nodes[node];
        if own.is_virtual {
            return Ok(());
        }
        for direction in Direction::BOTH.map(|direction| direction as usize) {
            own.carries[direction] = carries[direction].ok_or_else(|| {
                M::Error::custom(format!("node `{}` has no `{}`", own.name, BANDWIDTHS[direction]))
            })?;
        }
        Ok(())
    }
}
