//! The differences between two gate files, key by key.

use super::{DirectionTerms, GateFile, GateFlow};
use std::collections::BTreeMap;
use std::fmt;
use tidegate_core::classifier::circuits::CircuitTerms;
use toml_edit::{DocumentMut, Item, TableLike, Value};

/// A key that was set, changed or left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// Its path as for `--set`: `flow.voice.reserve`.
    pub path: String,
    /// The old value, as written; `None` when it was not set.
    pub before: Option<String>,
    /// The new value; `None` when it is no longer set.
    pub after: Option<String>,
}

impl fmt::Display for KeyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KeyChange { path, before, after } = self;
        match (before, after) {
            (Some(before), Some(after)) => write!(f, "{path}: {before} -> {after}"),
            (None, Some(after)) => write!(f, "{path}: {after}, was not set"),
            (Some(before), None) => write!(f, "{path}: no longer set, was {before}"),
            (None, None) => f.write_str(path),
        }
    }
}

impl GateFile {
    /// The other files that this one names, as written: lists of circuits, networks, and traces.
    pub fn files(&self) -> Vec<String> {
        GateFile::files_of(&self.effective)
    }

    /// The files that the text of a gate file names; none where it has mistakes.
    pub fn files_of(text: &str) -> Vec<String> {
        let names_a_file =
            |path: &str| matches!(path.rsplit('.').next(), Some("circuits" | "network" | "trace"));
        flat(text).into_iter().filter(|(path, _)| names_a_file(path)).map(|(_, file)| file).collect()
    }

    /// The keys that differ in the other file, in the order of the paths, and then the differences
    /// between networks and lists of circuits. Comments and defaults that are left out do not count.
    pub fn changes_to(&self, other: &GateFile) -> Vec<KeyChange> {
        let (before, after) = (flat(&self.effective), flat(&other.effective));
        let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        let value = |map: &BTreeMap<String, String>, path: &String| map.get(path).cloned();
        let written = paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(|path| {
            KeyChange { path: path.clone(), before: value(&before, path), after: value(&after, path) }
        });
        written.chain(self.changes_of_networks(other)).chain(self.changes_of_circuits(other)).collect()
    }

    /// Differences, as counts, between the networks of flows with the same name.
    fn changes_of_networks(&self, other: &GateFile) -> Vec<KeyChange> {
        let pairs = self.flows.iter().filter_map(|flow| {
            let after = other.flows.iter().find(|after| after.name == flow.name)?;
            Some((&flow.name, self.nodes_of(flow), other.nodes_of(after)))
        });
        let differing = pairs.filter(|(_, before, after)| before != after);
        differing
            .map(|(name, before, after)| {
                let stays = before.iter().filter_map(|(node, terms)| Some((terms, after.get(node)?)));
                let (stays, others) =
                    stays.fold((0, 0), |(all, others), (was, is)| (all + 1, others + usize::from(was != is)));
                let (gone, new) = (before.len() - stays, after.len() - stays);
                KeyChange {
                    path: format!("flow.{name}.network"),
                    before: Some(format!("{} classes", before.len())),
                    after: Some(format!(
                        "{} classes: {new} new, {gone} gone, {others} with changed terms",
                        after.len()
                    )),
                }
            })
            .collect()
    }

    /// The classes of a flow's network by name: the class that each is part of, and its terms.
    fn nodes_of(&self, flow: &GateFlow) -> BTreeMap<&str, (Option<&str>, [DirectionTerms; 2])> {
        let nodes = self.classes.get(flow.nodes.clone()).unwrap_or_default();
        nodes
            .iter()
            .map(|node| (node.class.name.as_str(), (self.class_name(node.class.parent), node.terms)))
            .collect()
    }

    fn class_name(&self, class: Option<usize>) -> Option<&str> {
        class.map(|class| self.classes[class].class.name.as_str())
    }

    /// The terms of a circuit, with the name of its class.
    fn named_terms(&self, terms: CircuitTerms) -> (Option<&str>, CircuitTerms) {
        (self.class_name(terms.class.map(usize::from)), CircuitTerms { class: None, ..terms })
    }

    /// Differences, as counts, between the lists of circuits of flows with the same name.
    fn changes_of_circuits(&self, other: &GateFile) -> Vec<KeyChange> {
        let pairs = self.flows.iter().filter_map(|flow| {
            let after = other.flows.iter().find(|after| after.name == flow.name)?;
            Some((&flow.name, flow.circuits.as_ref()?, after.circuits.as_ref()?))
        });
        let differing = pairs.filter(|(_, before, after)| before != after);
        differing
            .filter_map(|(name, before, after)| {
                let stays: Vec<(u32, u32)> =
                    (0..).zip(before.renumbered(after)).filter_map(|(old, new)| Some((old, new?))).collect();
                let differ = |(old, new): &&(u32, u32)| {
                    self.named_terms(before.terms(*old)) != other.named_terms(after.terms(*new))
                };
                let changed = stays.iter().filter(differ).count();
                let (gone, new) = (before.len() - stays.len(), after.len() - stays.len());
                let mut told =
                    format!("{} circuits: {new} new, {gone} gone, {changed} with changed terms", after.len());
                let renumbered = gone + new > 0 || stays.iter().any(|(old, new)| old != new);
                if !renumbered && !before.same_addresses(after) {
                    told += ", other addresses";
                } else if !renumbered && changed == 0 {
                    // Their classes have other numbers, and are the same ones.
                    return None;
                }
                Some(KeyChange {
                    path: format!("flow.{name}.circuits"),
                    before: Some(format!("{} circuits", before.len())),
                    after: Some(told),
                })
            })
            .collect()
    }
}

/// Every value of a file by its path; entries of a list go by their names, and their order is a
/// value too.
fn flat(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    if let Ok(document) = text.parse::<DocumentMut>() {
        table(document.as_table(), "", &mut values);
    }
    values
}

fn table(table: &dyn TableLike, above: &str, values: &mut BTreeMap<String, String>) {
    for (key, item) in table.iter() {
        let path = if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
        if let Some(inner) = item.as_table_like() {
            self::table(inner, &path, values);
        } else if let Some(tables) = tables(item) {
            let mut order = Vec::new();
            for (ix, entry) in tables.into_iter().enumerate() {
                let name =
                    entry.get("name").and_then(Item::as_str).map_or_else(|| ix.to_string(), str::to_owned);
                self::table(entry, &format!("{path}.{name}"), values);
                order.push(name);
            }
            values.insert(path, order.join(", "));
        } else if let Some(value) = item.as_value() {
            values.insert(path, shown(value));
        }
    }
}

/// The entries of `[[key]]`, or of a list of inline tables.
fn tables(item: &Item) -> Option<Vec<&dyn TableLike>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Some(tables.iter().map(|table| table as &dyn TableLike).collect());
    }
    let entries = item.as_array()?;
    entries.iter().map(|entry| entry.as_inline_table().map(|table| table as &dyn TableLike)).collect()
}

/// A value without the space and the quotes around it.
fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.clone().decorated("", "").to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> GateFile {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"9mbit\", down = \"9mbit\" }}\n{text}"
        );
        GateFile::parse(&text, "x.toml", &[]).unwrap()
    }

    #[test]
    fn every_difference_is_told_once() {
        let before = file(
            "[switch]\nbuffer = '100p'\n[[flow]]\nname = 'a'\nreserve = '1mbit' # as agreed\n\
             match = { port = 5 }\n[[flow]]\nname = 'b'\n",
        );
        let after =
            file("[[flow]]\nname = 'c'\nmatch = { port = 7 }\n[[flow]]\nname = 'a'\nreserve = '2mbit'\n");
        let told: Vec<String> = before.changes_to(&after).iter().map(KeyChange::to_string).collect();
        assert_eq!(
            told,
            [
                "flow: a, b -> c, a",
                "flow.a.match.port: no longer set, was 5",
                "flow.a.reserve: 1mbit -> 2mbit",
                "flow.b.name: no longer set, was b",
                "flow.c.match.port: 7, was not set",
                "flow.c.name: c, was not set",
                "switch.buffer: no longer set, was 100p",
            ]
        );
        assert_eq!(before.changes_to(&before), []);
        let commented = file(
            "switch = { buffer = \"100p\" }\nflow = [{ name = \"a\", reserve = \"1mbit\", match = { port = 5 } }, \
             { name = \"b\" }]",
        );
        assert_eq!(before.changes_to(&commented), []);
    }
}
