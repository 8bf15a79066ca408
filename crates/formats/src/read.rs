//! Reads a tree by the records: every key known, every value of its kind and in its range.

use crate::error::{Complaint, Place, Report};
use crate::expression;
use crate::policy_names;
use crate::record::{Field, OneOf, Section, Shape};
use crate::renamed;
use crate::scalar;
use crate::suggest::{brief, did_you_mean};
use crate::tree::{self, Content, KeyValue, Node};
use crate::unknown_key::unknown_key;
use crate::values::{Held, Read, Values};

/// Reads the table `node` as `section`; mistakes go to `report`, and the values that they spoil are
/// left out.
pub(crate) fn read(section: &'static Section, node: &Node, report: &mut Report) -> Values {
    Reader { whole: section, report }.section(
        section,
        node,
        &format!("this {}", section.title.to_lowercase()),
        false,
    )
}

/// The name of a table in a message.
fn label(what: &str, kind: Option<&str>, node: &Node) -> String {
    match kind.or_else(|| node.text("name")) {
        Some(name) => format!("{what} `{}`", brief(name)),
        None => format!("this {what}"),
    }
}

struct Reader<'r> {
    /// The section that is read, with all in it.
    whole: &'static Section,
    report: &'r mut Report,
}

impl Reader<'_> {
    fn section(&mut self, section: &'static Section, node: &Node, label: &str, of_kind: bool) -> Values {
        let mut values = Values { section, place: node.place, held: Vec::new() };
        // A table with a policy may be written as the policy alone.
        let short = section.policy_key().filter(|_| matches!(node.content, Content::Text(_)));
        let long = short.map(|(key, _)| {
            let entry = KeyValue { key: key.name.to_owned(), key_place: node.place, value: node.clone() };
            Node { place: node.place, content: Content::Table(vec![entry]) }
        });
        let node = long.as_ref().unwrap_or(node);
        let Content::Table(entries) = &node.content else {
            let message = format!("{label} is a table of keys, not {}", node.content.describe());
            self.report.add(node.place, Complaint::new(message));
            return values;
        };
        self.unknown_keys(section, entries, label, of_kind);
        self.stated_twice(section, node);
        for field in &section.fields {
            if let Some(held) = self.field(field, node, label) {
                values.held.push(held);
            }
        }
        // A section has many more keys than a table states, and a file may have thousands of tables.
        values.held.shrink_to_fit();
        values
    }

    fn unknown_keys(&mut self, section: &'static Section, entries: &[KeyValue], label: &str, of_kind: bool) {
        for entry in entries {
            if section.field(&entry.key).is_some()
                || (of_kind && entry.key == "kind")
                || self.report.is_full()
            {
                continue;
            }
            let (tables, value) = ((self.whole, section), Some(&entry.value.content));
            let complaint = unknown_key(tables, label, &entry.key, value);
            self.report.add(entry.key_place, complaint);
        }
    }

    /// Reports a key that repeats the meaning of a policy beside it.
    fn stated_twice(&mut self, section: &'static Section, node: &Node) {
        let Some((key, parts)) = section.policy_key().filter(|(key, _)| node.get(key.name).is_some()) else {
            return;
        };
        if let Some(entry) = parts.fields.iter().find_map(|part| node.get(part.name)) {
            let message = format!("`{}` has the {} already", key.name, entry.key);
            let help = format!("leave out one of them: `{}` is a scheduler, a dropper or both", key.name);
            self.report.add(entry.key_place, Complaint::new(message).help(help));
        }
    }

    fn field(&mut self, field: &'static Field, node: &Node, label: &str) -> Option<Held> {
        if let Some(entry) = node.get(field.name) {
            let read = self.shape(field, &entry.value)?;
            return Some(Held { name: field.name, place: entry.value.place, given: true, read });
        }
        if field.required {
            let complaint = Complaint::new(format!("{label} needs `{}`", field.name)).help(needed(field));
            self.report.add(node.place, complaint);
            return None;
        }
        let read = self.shape(field, &default_node(field.default.as_deref()?, &field.shape, node.place))?;
        Some(Held { name: field.name, place: node.place, given: false, read })
    }

    fn shape(&mut self, field: &'static Field, node: &Node) -> Option<Read> {
        match &field.shape {
            Shape::Value(kind) => {
                let value = match renamed::value(field.name, &node.content) {
                    Some(complaint) => Err(complaint),
                    None => scalar::read(*kind, field.name, &node.content),
                };
                self.checked(node.place, value).map(Read::Value)
            }
            Shape::OneOrMore(kind) => {
                let several = self.several(field, node)?;
                let mut values = Vec::with_capacity(several.len());
                for one in several {
                    values.push(self.checked(one.place, scalar::read(*kind, field.name, &one.content))?);
                }
                Some(Read::Several(values))
            }
            Shape::Ports => {
                let mut ports = Vec::new();
                for one in self.several(field, node)? {
                    ports.push(self.checked(one.place, scalar::ports(field.name, &one.content))?);
                }
                Some(Read::Ports(ports))
            }
            Shape::Flag => match node.content {
                Content::Flag(flag) => Some(Read::Flag(flag)),
                _ => self.wrong(field, node, "true or false"),
            },
            Shape::Name => self.name(field, node).map(Read::Text),
            Shape::Names => {
                let Content::List(nodes) = &node.content else {
                    return self.wrong(field, node, "a list of names");
                };
                let names: Vec<_> =
                    nodes.iter().map(|one| Some((one.place, self.name(field, one)?))).collect();
                names.into_iter().collect::<Option<_>>().map(Read::Texts)
            }
            Shape::OneOrMoreNames => {
                let several = match &node.content {
                    Content::List(nodes) => nodes.as_slice(),
                    Content::Text(_) => std::slice::from_ref(node),
                    _ => return self.wrong(field, node, "a name, or a list of names"),
                };
                if several.is_empty() {
                    self.report.add(node.place, Complaint::new(format!("`{}` is empty", field.name)));
                    return None;
                }
                let names: Vec<_> =
                    several.iter().map(|one| Some((one.place, self.name(field, one)?))).collect();
                names.into_iter().collect::<Option<_>>().map(Read::Texts)
            }
            Shape::File => match &node.content {
                Content::Text(path) if !path.is_empty() => Some(Read::Text(path.clone())),
                _ => self.wrong(field, node, "the path of a file"),
            },
            Shape::Table(section) => {
                let label = format!("`{}`", section.name);
                Some(Read::Table(self.section(section, node, &label, false)))
            }
            Shape::Tables(section) => self.tables(field, section, node),
            Shape::OneOf(one_of) => self.one_of(field, one_of, node).map(Read::Table),
            Shape::ValueOrOneOf(kind, one_of) => {
                let is_kind = match &node.content {
                    Content::Table(_) => true,
                    Content::Text(name) => one_of.option(name).is_some(),
                    _ => false,
                };
                if is_kind {
                    return self.one_of(field, one_of, node).map(Read::Table);
                }
                self.checked(node.place, scalar::read(*kind, field.name, &node.content)).map(Read::Value)
            }
            Shape::Policy(parts) => self.policy(parts, node).map(Read::Table),
        }
    }

    /// One value, or those of a list that is not empty.
    fn several<'n>(&mut self, field: &Field, node: &'n Node) -> Option<&'n [Node]> {
        let several = match &node.content {
            Content::List(nodes) => nodes.as_slice(),
            _ => std::slice::from_ref(node),
        };
        if several.is_empty() {
            self.report.add(node.place, Complaint::new(format!("`{}` is empty", field.name)));
            return None;
        }
        Some(several)
    }

    fn tables(&mut self, field: &'static Field, section: &'static Section, node: &Node) -> Option<Read> {
        let Content::List(nodes) = &node.content else {
            let complaint = Complaint::new(format!("`{}` is a list of tables", field.name))
                .help(format!("write [[{}]] with double brackets", field.name));
            self.report.add(node.place, complaint);
            return None;
        };
        let mut tables = Vec::with_capacity(nodes.len());
        for one in nodes {
            if self.report.is_full() {
                break;
            }
            tables.push(self.section(section, one, &label(section.name, None, one), false));
        }
        Some(Read::Tables(tables))
    }

    /// A policy in one line, or as a table with its kind: the keys of its parts.
    fn policy(&mut self, section: &'static Section, node: &Node) -> Option<Values> {
        let entry = |key: &str, value: Node| KeyValue { key: key.to_owned(), key_place: node.place, value };
        let entries = match (&node.content, node.text("kind")) {
            (Content::Text(text), _) => {
                let parts = self.checked(node.place, expression::parse(text))?;
                let part = |key, value| entry(key, tree::from_value(value, node.place));
                let dropper = parts.dropper.as_ref().map(|dropper| part("dropper", dropper));
                std::iter::once(part("scheduler", &parts.scheduler)).chain(dropper).collect()
            }
            (Content::Table(_), Some(kind)) => {
                let place = node.get("kind").map_or(node.place, |kind| kind.value.place);
                let key = self.checked(place, expression::key_of(kind))?;
                vec![entry(key, node.clone())]
            }
            _ => {
                let complaint =
                    Complaint::new("`policy` takes a policy in one line, or a table with its `kind`");
                self.report.add(node.place, complaint.help(expression::EXAMPLES));
                return None;
            }
        };
        let parts = Node { place: node.place, content: Content::Table(entries) };
        Some(self.section(section, &parts, "this policy", false))
    }

    /// A kind by its name alone, or a table that names its kind.
    fn one_of(&mut self, field: &'static Field, one_of: &'static OneOf, node: &Node) -> Option<Values> {
        let what = one_of.what;
        let (kind, place, bare) = match &node.content {
            Content::Text(kind) => (kind.as_str(), node.place, true),
            Content::Table(_) => match (node.get("kind"), one_of.default_kind) {
                (Some(KeyValue { value: Node { content: Content::Text(kind), place }, .. }), _) => {
                    (kind.as_str(), *place, false)
                }
                (Some(entry), _) => {
                    let message =
                        format!("`kind` is the name of a {what}, not {}", entry.value.content.describe());
                    self.report.add(entry.value.place, Complaint::new(message));
                    return None;
                }
                (None, Some(kind)) => (kind, node.place, false),
                (None, None) => {
                    let mut complaint = Complaint::new(format!("this {what} needs `kind`"));
                    complaint.help = did_you_mean("", one_of.options.iter().map(|option| option.name));
                    self.report.add(node.place, complaint);
                    return None;
                }
            },
            _ => {
                return self.wrong(field, node, &format!("the name of a {what}, or a table with its `kind`"));
            }
        };
        let Some(option) = one_of.option(kind) else {
            let mut complaint = Complaint::new(format!("there is no {what} `{}`", brief(kind)));
            let names = one_of.options.iter().map(|option| option.name);
            complaint.help = match one_of.options.iter().any(|option| option.policy.is_some()) {
                true => policy_names::help(what, kind, names),
                false => did_you_mean(kind, names),
            };
            self.report.add(place, complaint);
            return None;
        };
        let label = label(what, Some(kind), node);
        if !bare {
            return Some(self.section(option, node, &label, true));
        }
        if let Some(missing) = option.fields.iter().find(|field| field.required) {
            let complaint = Complaint::new(format!("{label} needs `{}`", missing.name)).help(format!(
                "write {{ kind = \"{kind}\", {} = … }}: {}",
                missing.name,
                needed(missing)
            ));
            self.report.add(node.place, complaint);
            return None;
        }
        let defaults = Node { place: node.place, content: Content::Table(Vec::new()) };
        Some(self.section(option, &defaults, &label, true))
    }

    fn name(&mut self, field: &'static Field, node: &Node) -> Option<String> {
        let Content::Text(name) = &node.content else { return self.wrong(field, node, "a name") };
        if is_name(name) {
            return Some(name.clone());
        }
        let complaint = Complaint::new(format!("`{}`: `{}` is not a valid name", field.name, brief(name)))
            .help("a name is made of 1 to 64 letters A–Z and a–z, digits, `-` and `_`");
        self.report.add(node.place, complaint);
        None
    }

    fn checked<T>(&mut self, place: Place, outcome: Result<T, Complaint>) -> Option<T> {
        outcome.map_err(|complaint| self.report.add(place, complaint)).ok()
    }

    fn wrong<T>(&mut self, field: &Field, node: &Node, expected: &str) -> Option<T> {
        let message = format!("`{}` takes {expected}, not {}", field.name, node.content.describe());
        self.report.add(node.place, Complaint::new(message));
        None
    }
}

/// Purpose of a required key, and its form.
fn needed(field: &Field) -> String {
    match &field.shape {
        Shape::Value(kind) | Shape::OneOrMore(kind) | Shape::ValueOrOneOf(kind, _) => {
            match scalar::example(*kind) {
                Some(example) => format!("{}, as in {} = {example}", field.help, field.name),
                None => field.help.to_owned(),
            }
        }
        _ => field.help.to_owned(),
    }
}

/// Returns true if a name is plain: names go into file names, labels and `--set` paths.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// A record's default as if it had been written.
fn default_node(text: &str, shape: &Shape, place: Place) -> Node {
    let content = match shape {
        Shape::Value(kind) | Shape::OneOrMore(kind) | Shape::ValueOrOneOf(kind, _) => {
            scalar::content_of_default(*kind, text)
        }
        Shape::Flag => Content::Flag(text == "true"),
        Shape::Table(_) => Content::Table(Vec::new()),
        Shape::Names | Shape::Tables(_) | Shape::Ports => Content::List(Vec::new()),
        Shape::Name | Shape::OneOrMoreNames | Shape::File | Shape::OneOf(_) | Shape::Policy(_) => {
            Content::Text(text.to_owned())
        }
    };
    Node { place, content }
}
