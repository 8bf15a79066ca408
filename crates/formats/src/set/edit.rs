//! One edit, made in the tree and in the text.

use crate::tree::{Content, KeyValue, Node};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// One step down from a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Into the table under a key, which is created if absent. A kind that is stated by its name
    /// alone, or by default, becomes a table with that `kind`.
    Into { key: String, kind: Option<String> },
    /// Into an entry of a list of tables.
    Entry { key: String, index: usize },
}

/// Place of a value: down the steps, then under the key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edit {
    pub(super) steps: Vec<Step>,
    pub(super) key: String,
}

/// Puts `value` into the tree. `None` when a step of the path is not a table.
pub(super) fn in_tree(root: &mut Node, edit: &Edit, value: Node) -> Option<()> {
    let place = value.place;
    let mut table = table_of(root)?;
    for step in &edit.steps {
        table = match step {
            Step::Into { key, kind } => {
                let below = slot(table, key, Node { place, content: Content::Table(Vec::new()) });
                let is_new = matches!(&below.content, Content::Table(entries) if entries.is_empty());
                let is_bare = matches!(below.content, Content::Text(_));
                if is_bare || (is_new && kind.is_some()) {
                    let kind = Node { place: below.place, content: Content::Text(kind.clone()?) };
                    let entry = KeyValue { key: "kind".to_owned(), key_place: place, value: kind };
                    below.content = Content::Table(vec![entry]);
                }
                table_of(below)?
            }
            Step::Entry { key, index } => {
                let entry = table.iter_mut().find(|entry| entry.key == *key)?;
                let Content::List(nodes) = &mut entry.value.content else { return None };
                table_of(nodes.get_mut(*index)?)?
            }
        };
    }
    let below = slot(table, &edit.key, value.clone());
    *below = value;
    Some(())
}

fn table_of(node: &mut Node) -> Option<&mut Vec<KeyValue>> {
    match &mut node.content {
        Content::Table(entries) => Some(entries),
        _ => None,
    }
}

/// The value under a key; `otherwise` is inserted if there was none.
fn slot<'t>(table: &'t mut Vec<KeyValue>, key: &str, otherwise: Node) -> &'t mut Node {
    let index = table.iter().position(|entry| entry.key == key).unwrap_or(table.len());
    if index == table.len() {
        table.push(KeyValue { key: key.to_owned(), key_place: otherwise.place, value: otherwise });
    }
    &mut table[index].value
}

/// Puts `value` into the text; comments and order stay. `None` when a step of the path is not a
/// table.
pub(super) fn in_text(document: &mut DocumentMut, edit: &Edit, mut value: Value) -> Option<()> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, step) in edit.steps.iter().enumerate() {
        table = match step {
            Step::Into { key, kind } => into(table, key, kind.as_deref(), depth == 0)?,
            Step::Entry { key, index } => match table.get_mut(key)? {
                Item::ArrayOfTables(tables) => tables.get_mut(*index)?,
                Item::Value(Value::Array(values)) => values.get_mut(*index)?.as_inline_table_mut()?,
                _ => return None,
            },
        };
    }
    // The text around the old value, such as a comment behind it, stays.
    if let Some(Item::Value(old)) = table.get(&edit.key) {
        *value.decor_mut() = old.decor().clone();
    }
    table.insert(&edit.key, Item::Value(value));
    Some(())
}

fn into<'t>(
    table: &'t mut dyn TableLike,
    key: &str,
    kind: Option<&str>,
    at_root: bool,
) -> Option<&'t mut dyn TableLike> {
    let is_new = table.get(key).is_none();
    let bare = matches!(table.get(key), Some(Item::Value(Value::String(_))));
    if is_new && at_root && kind.is_none() {
        table.insert(key, Item::Table(Table::new()));
    } else if is_new || bare {
        let mut made = InlineTable::new();
        if let Some(kind) = kind {
            made.insert("kind", Value::from(kind));
        }
        let mut made = Value::InlineTable(made);
        if let Some(Item::Value(old)) = table.get(key) {
            *made.decor_mut() = old.decor().clone();
        }
        table.insert(key, Item::Value(made));
    }
    table.get_mut(key)?.as_table_like_mut()
}
