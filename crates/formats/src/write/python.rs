//! The scenario format as Python dataclasses.

use super::catalogue::Catalogue;
use crate::keys::scenario;
use crate::record::{Field, OneOf, Section, Shape};
use crate::scalar;
use tidegate_core::params::{Kind, Role, Stamps};

/// The source of a Python module with one frozen dataclass for each section and each kind.
/// `to_dict()` of any of them returns the content of a scenario file; keys that were left out stay
/// out.
pub fn python_types() -> String {
    let catalogue = Catalogue::new(scenario());
    let mut module = String::from(HEAD);
    // A class must precede an alias that names it; annotations are not evaluated.
    for one_of in &catalogue.choices {
        for option in &one_of.options {
            module.push_str(&class(option, Some(one_of)));
        }
        module.push_str(&alias(one_of));
    }
    for section in catalogue.sections.iter().rev() {
        module.push_str(&class(section, None));
    }
    module.push_str(&facts(&catalogue));
    module
}

/// Facts about policies and sources, for other Python modules.
fn facts(catalogue: &Catalogue) -> String {
    let kinds = || catalogue.choices.iter().flat_map(|one_of| &one_of.options);
    let responsive = kinds().filter(|kind| kind.responsive).map(|kind| kind.name);
    let schedulers =
        kinds().filter_map(|kind| kind.policy).filter(|policy| matches!(policy.role, Role::Scheduler { .. }));
    let ordered = schedulers.filter(|policy| policy.stamps != Stamps::Unordered).map(|policy| policy.name);
    format!(
        "DEFAULT_SCHEDULER = \"{}\"\n\"\"\"Scheduler of a port that names none.\"\"\"\n\n\
         ANSWERS = \"{}\"\n\"\"\"What follows a connection's name in that of its answers' flow.\"\"\"\n\n\
         ORDERED_STAMPS = {}\n\"\"\"Schedulers that serve packets in the order of their stamps, each a time or an order \
         of arrival.\"\"\"\n\n\
         RESPONSIVE = {}\n\"\"\"Kinds of source and of transport that send more or less according to what the network \
         does.\"\"\"\n",
        tidegate_core::scheduler::DEFAULT.name,
        crate::scenario::ANSWERS,
        tuple(&ordered.collect::<Vec<_>>()),
        tuple(&responsive.collect::<Vec<_>>()),
    )
}

/// A tuple of names as the formatter would write it.
fn tuple(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let short = format!("({}{})", quoted.join(", "), if names.len() == 1 { "," } else { "" });
    match short.len() < WIDTH - "ORDERED_STAMPS = ".len() {
        true => short,
        false => format!("(\n{})", quoted.iter().map(|name| format!("    {name},\n")).collect::<String>()),
    }
}

const HEAD: &str = r#""""The scenario format as dataclasses, written from the records: do not edit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import ClassVar, Literal

from tidegate import quantities


def _plain(
    value: object, quantity: type[quantities.Rate | quantities.Size | quantities.Time] | None
) -> object:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [_plain(one, quantity) for one in value]
    if quantity is not None and isinstance(value, Real):
        return quantity(value)
    return value


@dataclass(frozen=True, kw_only=True)
class Record:
    """A table of a scenario."""

    _kind: ClassVar[str | None] = None
    _quantities: ClassVar[dict[str, type[quantities.Rate | quantities.Size | quantities.Time]]] = {}
    """Keys that take a number in base units (bit/s, bytes, seconds) as well."""

    def to_dict(self) -> dict[str, object]:
        """Return what a scenario file would hold; keys that are None are left out."""
        table: dict[str, object] = {} if self._kind is None else {"kind": self._kind}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                table[field.name.removesuffix("_")] = _plain(value, self._quantities.get(field.name))
        return table


"#;

/// Line length of the Python package's formatter.
const WIDTH: usize = 110;

fn class(section: &Section, of: Option<&OneOf>) -> String {
    let mut text = format!("@dataclass(frozen=True, kw_only=True)\nclass {}(Record):\n", camel(section.name));
    text.push_str(&docstring(section));
    if of.is_some() {
        text.push_str(&format!("\n    _kind: ClassVar[str | None] = \"{}\"\n", section.name));
    }
    text.push_str(&quantities(section));
    if !section.fields.is_empty() {
        text.push('\n');
    }
    for field in &section.fields {
        text.push_str(&attribute(field));
    }
    text.push_str("\n\n");
    text
}

/// The class of a section's keys that take numbers in base units as well.
fn quantities(section: &Section) -> String {
    let named = section.fields.iter().filter_map(|field| {
        let quantity = quantity(field)?.0;
        Some(format!("\"{}\": {quantity}", python_name(field)))
    });
    let entries: Vec<String> = named.collect();
    if entries.is_empty() {
        return String::new();
    }
    let line = format!("    _quantities: ClassVar = {{{}}}\n", entries.join(", "));
    match line.len() <= WIDTH + 1 {
        true => format!("\n{line}"),
        false => {
            format!("\n    _quantities: ClassVar = {{\n        {},\n    }}\n", entries.join(",\n        "))
        }
    }
}

/// The class of a quantity in Python, and its base unit in prose; `None` for values without one, and
/// for limits, which are in packets or in bytes.
fn quantity(field: &Field) -> Option<(&'static str, &'static str)> {
    let (Shape::Value(kind) | Shape::OneOrMore(kind) | Shape::ValueOrOneOf(kind, _)) = &field.shape else {
        return None;
    };
    match kind {
        Kind::Rate => Some(("quantities.Rate", "bit/s")),
        Kind::Time => Some(("quantities.Time", "seconds")),
        Kind::Size => Some(("quantities.Size", "bytes")),
        _ => None,
    }
}

/// Python's own words that a key could be; `to_dict` removes the mark that is appended to them.
const KEYWORDS: &[&str] =
    &["as", "class", "for", "from", "global", "if", "in", "is", "lambda", "pass", "with", "yield"];

fn python_name(field: &Field) -> String {
    match KEYWORDS.contains(&field.name) {
        true => format!("{}_", field.name),
        false => field.name.to_owned(),
    }
}

fn attribute(field: &Field) -> String {
    let name = python_name(field);
    let annotation = annotation(&field.shape);
    match &field.default {
        Some(default) if field.required => format!("    {name}: {annotation} = {default}\n"),
        None if field.required => format!("    {name}: {annotation}\n"),
        _ => format!("    {name}: {annotation} | None = None\n"),
    }
}

fn annotation(shape: &Shape) -> String {
    match shape {
        Shape::Value(Kind::Word(words)) => literal(words),
        Shape::Value(Kind::Rate | Kind::Time) => "str | float".to_owned(),
        Shape::Value(Kind::Size) => "str | int".to_owned(),
        Shape::Value(Kind::Limit | Kind::Policy(_) | Kind::Text) => "str".to_owned(),
        Shape::Value(Kind::Integer(..)) => "int".to_owned(),
        Shape::Value(Kind::Dscp) => "int | str".to_owned(),
        Shape::Value(Kind::Number(..)) => "float".to_owned(),
        Shape::OneOrMore(kind) => one_or_more(&annotation(&Shape::Value(*kind))),
        Shape::OneOrMoreNames => one_or_more("str"),
        Shape::Ports => one_or_more("int | str"),
        Shape::Flag => "bool".to_owned(),
        Shape::Name | Shape::File => "str".to_owned(),
        Shape::Names => "list[str] | tuple[str, ...]".to_owned(),
        Shape::Table(section) => match section.policy_key() {
            Some(_) => format!("str | {}", camel(section.name)),
            None => camel(section.name),
        },
        Shape::Tables(section) => format!("list[{0}] | tuple[{0}, ...]", camel(section.name)),
        Shape::OneOf(one_of) => match names(one_of).is_empty() {
            true => alias_name(one_of),
            false => format!("{} | {}", names_alias(one_of), alias_name(one_of)),
        },
        Shape::ValueOrOneOf(kind, one_of) => {
            format!("{} | {}", annotation(&Shape::Value(*kind)), annotation(&Shape::OneOf(one_of.clone())))
        }
        Shape::Policy(parts) => {
            let kinds = parts.fields.iter().filter_map(|part| match &part.shape {
                Shape::OneOf(one_of) => Some(alias_name(one_of)),
                _ => None,
            });
            std::iter::once("str".to_owned()).chain(kinds).collect::<Vec<_>>().join(" | ")
        }
    }
}

fn one_or_more(of: &str) -> String {
    format!("{of} | list[{of}] | tuple[{of}, ...]")
}

fn literal(words: &[&str]) -> String {
    format!("Literal[{}]", words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", "))
}

/// The kinds of a choice that are stated by their name alone: those without a required key.
fn names(one_of: &OneOf) -> Vec<&'static str> {
    let bare = one_of.options.iter().filter(|option| option.fields.iter().all(|field| !field.required));
    bare.map(|option| option.name).collect()
}

fn names_alias(one_of: &OneOf) -> String {
    format!("{}Name", camel(one_of.what))
}

fn alias_name(one_of: &OneOf) -> String {
    format!("{}Kind", camel(one_of.what))
}

/// The union of a choice's kinds, and the names of those that need no parameters.
fn alias(one_of: &OneOf) -> String {
    let names = names(one_of);
    let named = match names.is_empty() {
        true => String::new(),
        false => format!("{}\n\n", literal_alias(&names_alias(one_of), &names)),
    };
    format!("{named}{}", union(one_of))
}

/// An alias of a literal as the formatter would write it: in one line, its words in one, or one
/// word a line.
pub(super) fn literal_alias(name: &str, words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    let (line, inside) = (format!("{name} = {}", literal(words)), format!("    {}", quoted.join(", ")));
    match (line.len() <= WIDTH, inside.len() <= WIDTH) {
        (true, _) => line,
        (false, true) => format!("{name} = Literal[\n{inside}\n]"),
        (false, false) => format!("{name} = Literal[\n    {},\n]", quoted.join(",\n    ")),
    }
}

fn union(one_of: &OneOf) -> String {
    let name = alias_name(one_of);
    let kinds: Vec<_> = one_of.options.iter().map(|option| camel(option.name)).collect();
    let line = kinds.join(" | ");
    match line.len() {
        length if name.len() + 3 + length <= WIDTH => format!("{name} = {line}\n\n\n"),
        length if 4 + length <= WIDTH => format!("{name} = (\n    {line}\n)\n\n\n"),
        _ => format!("{name} = (\n    {}\n)\n\n\n", kinds.join("\n    | ")),
    }
}

fn docstring(section: &Section) -> String {
    let mut lines = Vec::new();
    wrap(section.help, "    ", &mut lines);
    if !section.fields.is_empty() {
        lines.extend([String::new(), "    Attributes:".to_owned()]);
        for field in &section.fields {
            wrap(&describe(field), "        ", &mut lines);
        }
    }
    if let Some(source) = section.source {
        lines.push(String::new());
        wrap(&format!("Source: {source}."), "    ", &mut lines);
    }
    format!("    \"\"\"{}.\n\n{}\n    \"\"\"\n", section.title, escape(&lines.join("\n")))
}

/// Escapes the characters that would end or change a docstring.
pub(super) fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace("\"\"\"", "\\\"\\\"\\\"")
}

fn describe(field: &Field) -> String {
    let takes = match &field.shape {
        Shape::Value(Kind::Word(words)) => format!(" ({})", words.join(" or ")),
        Shape::Value(kind) | Shape::OneOrMore(kind) | Shape::ValueOrOneOf(kind, _) => {
            let number =
                quantity(field).map_or(String::new(), |(_, unit)| format!(", or a number of {unit}"));
            format!(" ({}{number})", scalar::describe(*kind))
        }
        _ => String::new(),
    };
    let default = match (&field.default, &field.shape) {
        (Some(_), Shape::Table(section)) => format!(" Default: {}().", camel(section.name)),
        (Some(default), _) => format!(" Default: {default}."),
        (None, _) => String::new(),
    };
    format!("{}: {}{takes}.{default}", python_name(field), field.help)
}

/// Adds `text` in lines of at most [`WIDTH`]; further lines of an attribute are indented.
pub(super) fn wrap(text: &str, indent: &str, lines: &mut Vec<String>) {
    let hanging = if indent.len() > 4 { format!("{indent}    ") } else { indent.to_owned() };
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let is_empty = line.trim().is_empty();
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, hanging.clone()));
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
}

/// `virtual-clock` as `VirtualClock`, and `drr++` as `DrrPlusPlus`.
pub(super) fn camel(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    name.replace('+', "-plus").split(['-', '_', ' ']).map(capital).collect()
}
