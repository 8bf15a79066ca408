//! Overrides of a port's policy, or of a part of it, however the file states it.
//!
//! A port is a policy, a table with a `policy`, or a table with the policy's parts. Before an
//! override of one of them is made, the table is brought into the form that it changes: in the tree
//! and in the text alike.

use super::entries::entry_named;
use crate::error::Complaint;
use crate::expression;
use crate::record::{Section, Shape};
use crate::tree::{self, Content, KeyValue, Node};
use toml_edit::{DocumentMut, InlineTable, Item, TableLike, Value};

/// The path to follow in place of `path`, once the tables of both are in the form that it needs.
pub(super) fn prepare(
    section: &Section,
    path: &str,
    value: &Value,
    root: &mut Node,
    document: &mut DocumentMut,
) -> Result<String, Complaint> {
    let parts: Vec<&str> = path.split('.').collect();
    let inner = section.field(parts[0]).and_then(|field| match &field.shape {
        Shape::Table(inner) => Some((1, inner)),
        Shape::Tables(inner) => Some((2, inner)),
        _ => None,
    });
    let policy = inner.and_then(|(depth, inner)| Some((depth, inner.policy_key()?)));
    let Some((depth, (policy, keys))) = policy.filter(|(depth, _)| parts.len() >= *depth) else {
        return Ok(path.to_owned());
    };
    let (head, rest) = parts.split_at(depth);
    // `port` itself may be written as its policy.
    let rest = match (rest, value) {
        ([], Value::String(_)) if depth == 1 => &[policy.name],
        _ => rest,
    };
    let Some(first) = rest.first() else { return Ok(path.to_owned()) };
    let Some(mut table) = EditedTable::find(head, root, document, policy.name)? else {
        return Ok([head, rest].concat().join("."));
    };
    let is_part = keys.fields.iter().any(|key| key.name == *first);
    match rest {
        [only] if *only == policy.name => keys.fields.iter().for_each(|key| table.remove(key.name)),
        [only, param, ..] if *only == policy.name => {
            table.spell_out(policy.name);
            let has = |key: &&str| table.kind(key).is_some_and(|kind| expression::has_param(&kind, param));
            let key = ["scheduler", "dropper"].into_iter().find(has).unwrap_or("scheduler");
            return Ok([head, &[key], &rest[1..]].concat().join("."));
        }
        _ if is_part => table.spell_out(policy.name),
        _ => {}
    }
    Ok([head, rest].concat().join("."))
}

/// A table in the tree and in the text.
struct EditedTable<'t> {
    node: &'t mut Vec<KeyValue>,
    text: &'t mut dyn TableLike,
}

impl<'t> EditedTable<'t> {
    /// The table at the head of a path, if it is there; one that is written as its policy alone
    /// becomes a table.
    fn find(
        head: &[&str],
        root: &'t mut Node,
        document: &'t mut DocumentMut,
        policy: &str,
    ) -> Result<Option<EditedTable<'t>>, Complaint> {
        let Content::Table(entries) = &mut root.content else { return Ok(None) };
        let below = entries.iter_mut().find(|entry| entry.key == head[0]).map(|entry| &mut entry.value);
        if let [key, name] = head {
            let (index, _) = entry_named(key, name, below.as_deref())?;
            let node = below.and_then(|list| match &mut list.content {
                Content::List(nodes) => nodes.get_mut(index),
                _ => None,
            });
            let text = match document.get_mut(key) {
                Some(Item::ArrayOfTables(tables)) => {
                    tables.get_mut(index).map(|one| one as &mut dyn TableLike)
                }
                Some(Item::Value(Value::Array(values))) => {
                    let one = values.get_mut(index).and_then(Value::as_inline_table_mut);
                    one.map(|one| one as &mut dyn TableLike)
                }
                _ => None,
            };
            return Ok(node.zip(text).and_then(|(node, text)| EditedTable::of(node, text)));
        }
        let (Some(node), Some(item)) = (below, document.get_mut(head[0])) else { return Ok(None) };
        if let (Content::Text(_), Item::Value(value)) = (&node.content, &mut *item) {
            let entry = KeyValue { key: policy.to_owned(), key_place: node.place, value: node.clone() };
            node.content = Content::Table(vec![entry]);
            let mut table = InlineTable::new();
            table.insert(policy, value.clone().decorated("", ""));
            let mut table = Value::InlineTable(table);
            *table.decor_mut() = value.decor().clone();
            *value = table;
        }
        let text = item.as_table_like_mut();
        Ok(text.and_then(|text| EditedTable::of(node, text)))
    }

    fn of(node: &'t mut Node, text: &'t mut dyn TableLike) -> Option<EditedTable<'t>> {
        match &mut node.content {
            Content::Table(entries) => Some(EditedTable { node: entries, text }),
            _ => None,
        }
    }

    fn remove(&mut self, key: &str) {
        self.node.retain(|entry| entry.key != key);
        self.text.remove(key);
    }

    /// Replaces a policy by its parts. A value that is not a policy stays, and is reported when it
    /// is read.
    fn spell_out(&mut self, policy: &str) {
        let stated = self.text.get(policy).cloned().and_then(|item| item.into_value().ok());
        let place = self.node.iter().find(|entry| entry.key == policy).map(|entry| entry.value.place);
        let Some((parts, place)) = stated.and_then(|value| expression::parts_of(&value)).zip(place) else {
            return;
        };
        self.remove(policy);
        for (key, value) in [("scheduler", Some(parts.scheduler)), ("dropper", parts.dropper)] {
            let Some(value) = value else { continue };
            let node = tree::from_value(&value, place);
            self.node.push(KeyValue { key: key.to_owned(), key_place: place, value: node });
            self.text.insert(key, Item::Value(value));
        }
    }

    /// The kind that is stated under a key.
    fn kind(&self, key: &str) -> Option<String> {
        let value = &self.node.iter().find(|entry| entry.key == *key)?.value;
        match &value.content {
            Content::Text(kind) => Some(kind.clone()),
            _ => value.text("kind").map(str::to_owned),
        }
    }
}
