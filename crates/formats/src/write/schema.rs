//! The scenario format as a JSON Schema.

use super::catalogue::Catalogue;
use crate::dscp;
use crate::keys::{gate, scenario};
use crate::record::{Field, OneOf, Section, Shape};
use crate::units::{PACKETS, RATES, SIZES, TIMES, Unit};
use serde_json::{Map, Value, json};
use tidegate_core::params::Kind;

/// A JSON Schema (2020-12) of scenario files: for editors, and for programs that write scenarios.
/// It covers every key, type, unit and range; only the reader checks that the parts of a scenario
/// fit each other.
pub fn schema() -> Value {
    schema_of(scenario())
}

/// The JSON Schema of gate files.
pub fn gate_schema() -> Value {
    schema_of(gate())
}

fn schema_of(file: &'static Section) -> Value {
    let catalogue = Catalogue::new(file);
    let mut definitions = Map::new();
    let mut root = Map::new();
    for section in catalogue.sections {
        if section.name == file.name {
            root = object(section, None);
        } else {
            definitions.insert(section.name.to_owned(), Value::Object(object(section, None)));
        }
    }
    for one_of in catalogue.choices {
        for option in &one_of.options {
            let schema = object(option, Some(one_of));
            definitions.insert(option_name(one_of, option), Value::Object(schema));
        }
        definitions.insert(choice_name(one_of), choice(one_of));
    }
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(root)
}

fn option_name(one_of: &OneOf, option: &Section) -> String {
    format!("{}-{}", choice_name(one_of), option.name)
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A table's schema; a kind of a choice also takes `kind`.
fn object(section: &Section, of: Option<&OneOf>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(one_of) = of {
        properties.insert("kind".to_owned(), json!({ "const": section.name, "description": section.help }));
        if one_of.default_kind != Some(section.name) {
            required.push("kind");
        }
    }
    for field in &section.fields {
        properties.insert(field.name.to_owned(), property(field));
        if field.required {
            required.push(field.name);
        }
    }
    let help = match section.source {
        Some(source) => format!("{} Source: {source}.", section.help),
        None => section.help.to_owned(),
    };
    let mut schema = Map::new();
    schema.insert("title".to_owned(), json!(section.title));
    schema.insert("description".to_owned(), json!(help));
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// The name of a choice among the definitions.
fn choice_name(one_of: &OneOf) -> String {
    one_of.what.replace(' ', "-")
}

fn choice(one_of: &OneOf) -> Value {
    let needs_nothing = |option: &&Section| option.fields.iter().all(|field| !field.required);
    let bare: Vec<_> = one_of.options.iter().filter(needs_nothing).map(|option| option.name).collect();
    let mut alternatives: Vec<_> =
        one_of.options.iter().map(|option| reference(&option_name(one_of, option))).collect();
    if !bare.is_empty() {
        alternatives.insert(0, json!({ "enum": bare }));
    }
    json!({ "oneOf": alternatives })
}

fn property(field: &Field) -> Value {
    let mut schema = match shape(&field.shape) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    };
    schema.insert("description".to_owned(), json!(field.help));
    if let Some(default) = &field.default {
        schema.insert("default".to_owned(), default_value(&field.shape, default));
    }
    Value::Object(schema)
}

fn default_value(shape: &Shape, text: &str) -> Value {
    match shape {
        Shape::Value(Kind::Integer(..) | Kind::Number(..) | Kind::Dscp)
        | Shape::ValueOrOneOf(Kind::Number(..), _)
        | Shape::Flag
        | Shape::Table(_) => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        _ => json!(text),
    }
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Value(kind) => value(*kind),
        Shape::OneOrMore(kind) => {
            json!({ "oneOf": [value(*kind), { "type": "array", "items": value(*kind), "minItems": 1 }] })
        }
        Shape::Ports => {
            json!({ "oneOf": [ports(), { "type": "array", "items": ports(), "minItems": 1 }] })
        }
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Name => name(),
        Shape::OneOrMoreNames => {
            json!({ "oneOf": [name(), { "type": "array", "items": name(), "minItems": 1 }] })
        }
        Shape::Names => json!({ "type": "array", "items": name() }),
        Shape::File => json!({ "type": "string", "minLength": 1 }),
        Shape::Table(section) => match section.policy_key() {
            Some(_) => json!({ "anyOf": [expression(), reference(section.name)] }),
            None => reference(section.name),
        },
        Shape::Tables(section) => json!({ "type": "array", "items": reference(section.name) }),
        Shape::OneOf(one_of) => reference(&choice_name(one_of)),
        Shape::ValueOrOneOf(kind, one_of) => {
            json!({ "anyOf": [value(*kind), reference(&choice_name(one_of))] })
        }
        Shape::Policy(parts) => {
            let kinds = parts.fields.iter().map(|part| self::shape(&part.shape));
            json!({ "anyOf": std::iter::once(expression()).chain(kinds).collect::<Vec<_>>() })
        }
    }
}

/// A policy in one line.
fn expression() -> Value {
    const PART: &str = "[A-Za-z0-9_-]+(\\+\\+)? *(\\([^()]*\\))?";
    json!({ "type": "string", "pattern": format!("^ *{PART} *(\\+ *{PART} *)?$") })
}

/// A port, or a range of them.
fn ports() -> Value {
    let number = json!({ "type": "integer", "minimum": 0, "maximum": 65_535 });
    json!({ "oneOf": [number, { "type": "string", "pattern": "^[0-9]+-[0-9]+$" }] })
}

fn name() -> Value {
    json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
}

fn value(kind: Kind) -> Value {
    let quantity = |units: &[&Unit]| {
        let names: Vec<_> = units.iter().map(|unit| unit.name).collect();
        json!({ "type": "string", "pattern": format!("^[0-9]+(\\.[0-9]+)?({})$", names.join("|")) })
    };
    match kind {
        Kind::Rate => quantity(&RATES.iter().collect::<Vec<_>>()),
        Kind::Time => quantity(&TIMES.iter().collect::<Vec<_>>()),
        Kind::Size => quantity(&SIZES.iter().collect::<Vec<_>>()),
        Kind::Limit => quantity(&[PACKETS].iter().chain(SIZES).collect::<Vec<_>>()),
        Kind::Integer(low, high) => json!({ "type": "integer", "minimum": low, "maximum": high }),
        Kind::Number(low, high) => json!({ "type": "number", "minimum": low, "maximum": high }),
        Kind::Dscp => {
            let names: Vec<_> = dscp::NAMES.iter().map(|(name, _)| name).collect();
            json!({ "oneOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "enum": names }] })
        }
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Policy(_) | Kind::Text => json!({ "type": "string" }),
    }
}
