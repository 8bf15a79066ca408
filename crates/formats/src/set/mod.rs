//! Overrides from the command line: `--set flow.voice.source.rate=2mbit`.
//!
//! A path is resolved once, against the records and the existing tree. The edit it gives is then
//! made twice: in the tree that is read, and in the text that is kept.

mod edit;
mod entries;
mod policy;

use crate::error::{Complaint, Place, Report};
use crate::record::{Field, OneOf, Section, Shape};
use crate::suggest::brief;
use crate::tree::{self, Content, Node};
use crate::unknown_key::unknown_key;
use edit::{Edit, Step};
use entries::entry_named;
use toml_edit::DocumentMut;

/// Applies every override in turn to `root`, a file of the kind `section` that was read from
/// `text`; the text is returned with the same changes. Mistakes go to `report`.
pub(crate) fn apply(
    section: &Section,
    text: &str,
    root: &mut Node,
    sets: &[(String, String)],
    report: &mut Report,
) -> String {
    if sets.is_empty() {
        return text.to_owned();
    }
    let Ok(mut document) = text.parse::<DocumentMut>() else {
        report.add(Place::File, Complaint::new("not TOML"));
        return text.to_owned();
    };
    for (index, (path, value)) in sets.iter().enumerate() {
        let place = Place::Set(u32::try_from(index).unwrap_or(u32::MAX));
        let value = tree::value_of_text(value);
        let outcome = policy::prepare(section, path, &value, root, &mut document).and_then(|path| {
            let edit = resolve(section, &path, root)?;
            let clash = || Complaint::new(format!("`{}` cannot be set there", brief(&path)));
            edit::in_tree(root, &edit, tree::from_value(&value, place)).ok_or_else(clash)?;
            edit::in_text(&mut document, &edit, value).ok_or_else(clash)
        });
        if let Err(complaint) = outcome {
            report.add(place, complaint);
        }
    }
    document.to_string()
}

fn resolve(section: &Section, path: &str, root: &Node) -> Result<Edit, Complaint> {
    let mut resolver = Resolver { whole: section, path, steps: Vec::new() };
    let parts: Vec<&str> = path.split('.').collect();
    let key = resolver.in_section(section, Some(root), &parts)?;
    Ok(Edit { steps: resolver.steps, key })
}

struct Resolver<'p> {
    /// The record of the whole file.
    whole: &'p Section,
    path: &'p str,
    steps: Vec<Step>,
}

impl Resolver<'_> {
    /// The key that the path ends in, after adding the steps that lead to it.
    fn in_section(
        &mut self,
        section: &Section,
        node: Option<&Node>,
        parts: &[&str],
    ) -> Result<String, Complaint> {
        let (&first, rest) = parts.split_first().ok_or_else(|| self.unfinished())?;
        let field = section.field(first).ok_or_else(|| {
            let whose = match self.steps.is_empty() {
                true => format!("this {}", section.title.to_lowercase()),
                false => format!("`{}`", section.name),
            };
            unknown_key((self.whole, section), &whose, first, None)
        })?;
        self.in_field(field, node, rest)
    }

    fn in_field(&mut self, field: &Field, node: Option<&Node>, rest: &[&str]) -> Result<String, Complaint> {
        let below = node.and_then(|node| node.get(field.name)).map(|entry| &entry.value);
        let key = field.name.to_owned();
        match &field.shape {
            Shape::Tables(section) => {
                let (&name, rest) = rest.split_first().ok_or_else(|| self.unfinished())?;
                let (index, entry) = entry_named(field.name, name, below)?;
                self.steps.push(Step::Entry { key, index });
                self.in_section(section, Some(entry), rest)
            }
            Shape::Table(section) if !rest.is_empty() => {
                self.steps.push(Step::Into { key, kind: None });
                self.in_section(section, below, rest)
            }
            Shape::OneOf(one_of) | Shape::ValueOrOneOf(_, one_of) if !rest.is_empty() => {
                let kind = kind_of(field, below);
                self.steps.push(Step::Into { key, kind: kind.clone() });
                self.in_kind(one_of, kind.as_deref(), below, rest)
            }
            _ if rest.is_empty() => Ok(key),
            _ => Err(Complaint::new(format!("`{}` has no keys in it", field.name))),
        }
    }

    fn in_kind(
        &mut self,
        one_of: &OneOf,
        kind: Option<&str>,
        node: Option<&Node>,
        parts: &[&str],
    ) -> Result<String, Complaint> {
        if parts == ["kind"] {
            return Ok("kind".to_owned());
        }
        match kind.or(one_of.default_kind).and_then(|kind| one_of.option(kind)) {
            Some(option) => self.in_section(option, node, parts),
            None => {
                let complaint =
                    Complaint::new(format!("this scenario has no such {} to change", one_of.what));
                Err(complaint.help(format!("set all of it, as in {}", whole_example(one_of))))
            }
        }
    }

    fn unfinished(&self) -> Complaint {
        Complaint::new(format!("`{}` is a whole table: name one of its keys", brief(self.path)))
            .help("as in `flow.NAME.count`")
    }
}

/// A kind with its parameters as a value: an example of setting the key as a whole.
fn whole_example(one_of: &OneOf) -> String {
    let name = one_of.options.first().map_or("…", |option| option.name);
    format!("'{{ kind = \"{name}\", … }}'")
}

/// The kind that is stated, by name or in a table, or that holds by default.
fn kind_of(field: &Field, node: Option<&Node>) -> Option<String> {
    match node {
        None => field.default.as_deref().map(str::to_owned),
        Some(Node { content: Content::Text(kind), .. }) => Some(kind.clone()),
        Some(table) => table.text("kind").map(str::to_owned),
    }
}
