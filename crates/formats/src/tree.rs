//! A parsed TOML text as a plain tree in which every value has its place.

use crate::error::{Complaint, Place};
use std::collections::BTreeSet;
use std::ops::Range;
use toml_edit::{Document, Item, TableLike, Value};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub place: Place,
    pub content: Content,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    /// A TOML date or time, which no key takes.
    Date,
    List(Vec<Node>),
    Table(Vec<KeyValue>),
}

/// A key with its value; keys of a table are unique and in the order in which they were written.
#[derive(Clone, Debug)]
pub(crate) struct KeyValue {
    pub key: String,
    pub key_place: Place,
    pub value: Node,
}

impl Content {
    /// The type of the content, in words for a message.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Content::Text(_) => "text",
            Content::Integer(_) => "a whole number",
            Content::Number(_) => "a number with a point",
            Content::Flag(_) => "true or false",
            Content::Date => "a date",
            Content::List(_) => "a list",
            Content::Table(_) => "a table",
        }
    }
}

impl Node {
    /// The entry of a table with this key.
    pub(crate) fn get(&self, key: &str) -> Option<&KeyValue> {
        match &self.content {
            Content::Table(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The text under a table's key, if it is text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.value.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// A TOML document as JSON, for those who read scenarios by other means; dates are null.
///
/// # Errors
/// When the text is not TOML; the message has no place.
pub fn toml_as_json(text: &str) -> Result<serde_json::Value, Complaint> {
    parse(text).map(|root| json(&root)).map_err(|(_, complaint)| complaint)
}

/// Every text that is a value in a tree, once and in order.
pub(crate) fn texts(root: Node) -> Vec<String> {
    let mut known = BTreeSet::new();
    let mut texts = Vec::new();
    let mut left = vec![root];
    while let Some(node) = left.pop() {
        match node.content {
            Content::Text(text) => {
                if known.insert(text.clone()) {
                    texts.push(text);
                }
            }
            Content::List(values) => left.extend(values.into_iter().rev()),
            Content::Table(entries) => left.extend(entries.into_iter().rev().map(|entry| entry.value)),
            Content::Integer(_) | Content::Number(_) | Content::Flag(_) | Content::Date => {}
        }
    }
    texts
}

fn json(node: &Node) -> serde_json::Value {
    match &node.content {
        Content::Text(text) => text.as_str().into(),
        Content::Integer(number) => (*number).into(),
        Content::Number(number) => (*number).into(),
        Content::Flag(flag) => (*flag).into(),
        Content::Date => serde_json::Value::Null,
        Content::List(values) => values.iter().map(json).collect(),
        Content::Table(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect()
        }
    }
}

/// Parses a TOML document into its root table.
pub(crate) fn parse(text: &str) -> Result<Node, (Place, Complaint)> {
    let document = Document::parse(text).map_err(|error| {
        let place = error.span().map_or(Place::File, place_of);
        let message = error.message().trim().replace('\n', ", ");
        let complaint = Complaint::new(format!("not TOML: {message}"));
        match message.contains("duplicate key") {
            true => {
                (place, complaint.help("a table that occurs several times has double brackets: [[flow]]"))
            }
            false => (place, complaint),
        }
    })?;
    Ok(Node { place: Place::File, content: Content::Table(entries(document.as_table(), None)) })
}

/// TOML if it parses as such, a number that TOML would write with more digits (`.5`, `5.`), else
/// plain text without the blanks around it. No key takes a date, so a value in the form of a date
/// is text.
pub(crate) fn value_of_text(text: &str) -> Value {
    let text = text.trim();
    let is_plain = text.contains(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    match (text.parse::<Value>(), text.parse::<f64>()) {
        (Ok(Value::Datetime(_)), _) => Value::from(text),
        (Ok(value), _) => value,
        (Err(_), Ok(number)) if is_plain => Value::from(number),
        (Err(_), _) => Value::from(text),
    }
}

/// A value given on the command line; every part of it has the place `place`.
pub(crate) fn from_value(value: &Value, place: Place) -> Node {
    Node { place, content: content_of(value, Some(place)) }
}

fn place_of(span: Range<usize>) -> Place {
    // Files are at most 8 MiB long.
    let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Place::Text { start: narrow(span.start), end: narrow(span.end) }
}

fn entries(table: &dyn TableLike, fixed: Option<Place>) -> Vec<KeyValue> {
    let mut all = Vec::with_capacity(table.len());
    for (name, item) in table.iter() {
        let written = table.key(name).and_then(|key| key.span()).map(place_of);
        let key_place = fixed.or(written).unwrap_or(Place::File);
        if let Some(value) = node_of(item, key_place, fixed) {
            all.push(KeyValue { key: name.to_owned(), key_place, value });
        }
    }
    all
}

fn node_of(item: &Item, key_place: Place, fixed: Option<Place>) -> Option<Node> {
    let place = fixed.or_else(|| item.span().map(place_of)).unwrap_or(key_place);
    let content = match item {
        Item::None => return None,
        Item::Value(value) => content_of(value, fixed),
        Item::Table(table) => Content::Table(entries(table, fixed)),
        Item::ArrayOfTables(tables) => Content::List(
            tables
                .iter()
                .map(|table| Node {
                    place: table.span().map_or(key_place, place_of),
                    content: Content::Table(entries(table, fixed)),
                })
                .collect(),
        ),
    };
    Some(Node { place, content })
}

fn content_of(value: &Value, fixed: Option<Place>) -> Content {
    match value {
        Value::String(text) => Content::Text(text.value().clone()),
        Value::Integer(number) => Content::Integer(*number.value()),
        Value::Float(number) => Content::Number(*number.value()),
        Value::Boolean(flag) => Content::Flag(*flag.value()),
        Value::Datetime(_) => Content::Date,
        Value::Array(values) => Content::List(
            values
                .iter()
                .map(|value| Node {
                    place: fixed.or_else(|| value.span().map(place_of)).unwrap_or(Place::File),
                    content: content_of(value, fixed),
                })
                .collect(),
        ),
        Value::InlineTable(table) => Content::Table(entries(table, fixed)),
    }
}
