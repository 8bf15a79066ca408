//! The form of the records: every key of a file with its values, its default and its help.
//!
//! The reader, `--set`, the JSON Schema, the reference page and the Python types all walk these
//! records, which come from the declarations in [`keys`](crate::keys); the policies of
//! `tidegate-core` enter through their own.

use crate::units::show_value;
use std::borrow::Cow;
use tidegate_core::params::{Kind, Param, PolicyRecord};
use tidegate_core::policies;

/// A table with declared keys: a section, a policy, a kind of source or of topology.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its key in a scenario file, or the value of `kind` that selects it.
    pub name: &'static str,
    /// Its name in prose.
    pub title: &'static str,
    /// One or two sentences for a person.
    pub help: &'static str,
    /// Paper or RFC and section, if it comes from one.
    pub source: Option<&'static str>,
    /// Its keys, in the order in which they are documented.
    pub fields: Vec<Field>,
    /// For a policy, the record that the section was made from.
    pub policy: Option<&'static PolicyRecord>,
    /// True for a source or a transport that adapts its sending to the network.
    pub responsive: bool,
}

/// One key of a section.
#[derive(Clone, Debug)]
pub struct Field {
    /// The key.
    pub name: &'static str,
    /// The values that it takes.
    pub shape: Shape,
    /// The default, spelled as in a scenario file (text without its quotes, `{}` for a table of
    /// defaults); `None` when leaving it out has a meaning of its own, which `help` states.
    pub default: Option<Cow<'static, str>>,
    /// True if it must be given.
    pub required: bool,
    /// One sentence for a person.
    pub help: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Debug)]
pub enum Shape {
    /// A quantity, a number or text.
    Value(Kind),
    /// One quantity, or a list of several.
    OneOrMore(Kind),
    /// Ports: a number, a range as text (`5000-5100`), or a list of these.
    Ports,
    /// `true` or `false`.
    Flag,
    /// A name: ASCII letters, digits, `-` and `_`.
    Name,
    /// A list of names.
    Names,
    /// One name, or a list of several.
    OneOrMoreNames,
    /// The path of a file, relative to the scenario file's folder.
    File,
    /// A table.
    Table(Section),
    /// A list of tables, written `[[key]]`.
    Tables(Section),
    /// One of several kinds: its name, or a table with `kind` and the keys of that kind.
    OneOf(OneOf),
    /// A quantity, or a table with `kind` and the keys of that kind.
    ValueOrOneOf(Kind, OneOf),
    /// A policy in one line, or a table with `kind`: in place of the keys of this section. A table
    /// that has such a key may be written as its value alone.
    Policy(Section),
}

/// Several kinds of which one is chosen by its name.
#[derive(Clone, Debug)]
pub struct OneOf {
    /// The thing chosen, in prose: `scheduler`.
    pub what: &'static str,
    /// The kind that a table without `kind` means; `None` when `kind` is required.
    pub default_kind: Option<&'static str>,
    /// The kinds, each named by [`Section::name`].
    pub options: Vec<Section>,
}

impl Section {
    /// A policy's parameters as a section.
    pub fn of_policy(record: &'static PolicyRecord) -> Section {
        Section {
            name: record.name,
            title: record.title,
            help: record.help,
            source: Some(record.source),
            fields: record.params.iter().map(Field::of_param).collect(),
            policy: Some(record),
            responsive: record.is_responsive(),
        }
    }

    /// The key that takes a whole policy, and the keys that it replaces.
    pub fn policy_key(&self) -> Option<(&Field, &Section)> {
        self.fields.iter().find_map(|field| match &field.shape {
            Shape::Policy(parts) => Some((field, parts)),
            _ => None,
        })
    }

    /// The key with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The tables within this one that have a key, in the order in which they are documented: a table
    /// by its own key, a kind by what is chosen and its name, as in source `cbr`.
    pub fn tables_with(&self, key: &str) -> Vec<String> {
        let mut tables: Vec<String> = Vec::new();
        let mut add = |name: String, table: &Section| {
            let own = table.field(key).map(|_| name);
            for found in own.into_iter().chain(table.tables_with(key)) {
                if !tables.contains(&found) {
                    tables.push(found);
                }
            }
        };
        for field in &self.fields {
            match &field.shape {
                Shape::Table(table) | Shape::Tables(table) | Shape::Policy(table) => {
                    add(format!("`{}`", field.name), table);
                }
                Shape::OneOf(kinds) | Shape::ValueOrOneOf(_, kinds) => {
                    kinds
                        .options
                        .iter()
                        .for_each(|kind| add(format!("{} `{}`", kinds.what, kind.name), kind));
                }
                _ => {}
            }
        }
        tables
    }
}

impl Field {
    /// A parameter as a key.
    pub fn of_param(param: &Param) -> Field {
        Field {
            name: param.name,
            shape: Shape::of_kind(param.kind),
            default: (param.default)().map(|value| Cow::Owned(show_value(&value))),
            required: param.required,
            help: param.help,
        }
    }
}

impl Shape {
    /// The values of a parameter.
    fn of_kind(kind: Kind) -> Shape {
        let Kind::Policy(role) = kind else { return Shape::Value(kind) };
        let records = policies::built_in().chain(policies::registered());
        let options = records.filter(|record| record.role.name() == role).map(Section::of_policy).collect();
        Shape::OneOf(OneOf { what: role, default_kind: None, options })
    }
}

impl OneOf {
    /// The kind with this name.
    pub fn option(&self, name: &str) -> Option<&Section> {
        self.options.iter().find(|option| option.name == name)
    }
}
