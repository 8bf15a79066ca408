//! The scenario format as a page for a person.

use super::catalogue::Catalogue;
use crate::columns::{Column, ColumnType, TABLES};
use crate::keys::{gate, scenario};
use crate::record::{Field, OneOf, Section, Shape};
use crate::scalar;
use crate::units::{RATES, SIZES, TIMES, Unit};
use tidegate_core::composite;
use tidegate_core::params::{Kind, Role};

/// The reference page of scenario files and result tables, in Markdown.
pub fn reference() -> String {
    let mut page = String::from(HEAD);
    page.push_str(TABLES_AND_KINDS);
    page.push_str(&units());
    page.push_str(&policies());
    page.push_str(&sections(scenario()));
    page.push_str(OVERRIDES);
    page.push_str(&tables());
    page
}

/// The reference page of gate files, in Markdown.
pub fn gate_reference() -> String {
    let mut page = String::from(GATE_HEAD);
    page.push_str(TABLES_AND_KINDS);
    page.push_str(&units());
    page.push_str(&policies());
    page.push_str(&sections(gate()));
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn sections(file: &'static Section) -> String {
    let catalogue = Catalogue::new(file);
    let mut text = String::new();
    for section in catalogue.sections {
        let heading =
            if section.name == file.name { "The file".to_owned() } else { format!("`{}`", section.name) };
        let source = section.source.filter(|_| file.name == gate().name);
        let source = source.map(|source| format!("Source: {source}.\n\n")).unwrap_or_default();
        text.push_str(&format!("## {heading}\n\n{}\n\n{}{source}", section.help, keys(section)));
    }
    for one_of in catalogue.choices {
        text.push_str(&choice(one_of));
    }
    text
}

const HEAD: &str = "\
                    # Scenario reference

This page is generated from the records that the parser of scenarios uses.

A scenario is a TOML file. ";

const GATE_HEAD: &str = "\
                         # Gate file reference

This page is written from the records that the reader of gate files uses.

A gate file is a TOML file, with the words of a [scenario](scenario.md). ";

const TABLES_AND_KINDS: &str = "\
                                A table may be written in braces, `port = { scheduler = \"fifo\" }`, or under a
header, `[port]`; tables that can occur several times have double brackets, `[[flow]]`. Where a key chooses among
kinds, it takes a kind's name, `\"fifo\"`, or a table with `kind` and the keys of that kind,
`{ kind = \"drop-tail\", limit = \"100p\" }`. The default `{}` is an empty table, so its own defaults apply; without a default (—), the last column says what omitting the key means. Relative paths start at the file's own folder.

";

const OVERRIDES: &str = "\
                         ## Overrides

`--set KEY=VALUE` changes one value before the scenario is read: `--set duration=10s`,
`--set port.scheduler=fifo`, `--set flow.voice.source.rate=2mbit`. Name a node, a class or a flow by its name, and a link by its two ends: `--set link.s9-s1.rate=2mbit`. The value is TOML if it parses as such, and
plain text otherwise.

";

const POLICIES: &str = "\
                        ## Policies

A policy says which packet is sent next and which packets are dropped. A `policy` states it in one line, in place of
`scheduler` and `dropper`; `port = \"fq-codel\"` is short for `port = { policy = \"fq-codel\" }`.

| `policy` | meaning |
| --- | --- |
| `\"virtual-clock\"` | this scheduler, and no dropper |
| `\"codel\"` | FIFO with this dropper |
| `\"virtual-clock + red\"` | this scheduler with this dropper |
| `\"fq-codel(target=10ms, quantum=300B)\"` | parameters in parentheses: those that are not named have their defaults |
| `\"drr++ + codel(scope=flow)\"` | a dropper of each flow's queue |
| `{ kind = \"fq-codel\", target = \"10ms\" }` | one scheduler or dropper as a table |

The policy of a link stands in place of the scheduler and the dropper of `port`. A packet passes the dropper of its class
first, and then that of the port. Some names stand for a scheduler and a dropper. Such a name may be written as `policy` or as
`scheduler`, and a `dropper` beside it may only state the parameters of its own. [Names](names.md) has every
policy, with its names in other tools.

| name | | consists of |
| --- | --- | --- |
";

fn units() -> String {
    let list =
        |units: &[Unit]| units.iter().map(|unit| format!("`{}`", unit.name)).collect::<Vec<_>>().join(", ");
    format!(
        "## Units\n\nEvery quantity is text with its unit, without a space. Decimals are exact: `\"0.1mbit\"` is 100 000 \
         bit/s.\n\n| quantity | units | |\n| --- | --- | --- |\n\
         | rate | {} | in thousands; a whole number of bit/s, from 1bit to 10tbit |\n\
         | time | {} | to the nearest 10 ps |\n\
         | size | {} | `kB` is 1000 bytes, `KiB` is 1024 |\n\
         | limit | `p`, or a unit of a size | packets (`100p`) or bytes (`64kB`), the packet in service included |\n\n",
        list(RATES),
        list(TIMES),
        list(SIZES)
    )
}

/// The form of a policy in one line, and the names that stand for several.
fn policies() -> String {
    let mut text = String::from(POLICIES);
    for record in composite::RECORDS {
        if let Role::Composite(consists) = record.role {
            text.push_str(&format!("| `{}` | {} | `{consists}` |\n", record.name, record.title));
        }
    }
    text.push('\n');
    text
}

fn choice(one_of: &OneOf) -> String {
    let mut text = format!("## Kinds of {}\n\n", one_of.what);
    if let Some(kind) = one_of.default_kind {
        text.push_str(&format!("A table without `kind` is a `{kind}`.\n\n"));
    }
    for option in &one_of.options {
        text.push_str(&format!("### `{}`\n\n**{}.** {}\n\n", option.name, option.title, option.help));
        if !option.fields.is_empty() {
            text.push_str(&keys(option));
        }
        if let Some(Role::Composite(consists)) = option.policy.map(|policy| policy.role) {
            text.push_str(&format!("Consists of: `{consists}`.\n\n"));
        }
        if let Some(policy) = option.policy.filter(|policy| !policy.reads.is_empty()) {
            let keys: Vec<_> = policy.reads.iter().map(|key| format!("`{key}`")).collect();
            text.push_str(&format!("Reads from a contract: {}.\n\n", keys.join(", ")));
        }
        if let Some(source) = option.source {
            text.push_str(&format!("Source: {source}.\n\n"));
        }
    }
    text
}

fn keys(section: &Section) -> String {
    let mut text = String::from("| key | takes | default | |\n| --- | --- | --- | --- |\n");
    for field in &section.fields {
        let default = match &field.default {
            _ if field.required => "required".to_owned(),
            Some(default) => format!("`{default}`"),
            None => "—".to_owned(),
        };
        text.push_str(&format!(
            "| `{}` | {} | {default} | {} |\n",
            field.name,
            takes(field),
            cell(field.help)
        ));
    }
    text.push('\n');
    text
}

fn takes(field: &Field) -> String {
    match &field.shape {
        Shape::Value(kind) => value(*kind),
        Shape::OneOrMore(kind) => format!("{}, or a list", value(*kind)),
        Shape::Ports => "port from 0 to 65535, range as in `\"5000-5100\"`, or a list".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Name => "name".to_owned(),
        Shape::OneOrMoreNames => "name, or a list".to_owned(),
        Shape::Names => "list of names".to_owned(),
        Shape::File => "path".to_owned(),
        Shape::Table(section) => match section.policy_key() {
            Some(_) => format!("[policy](#policies), or table [`{0}`](#{0})", section.name),
            None => format!("table [`{0}`](#{0})", section.name),
        },
        Shape::Tables(section) => format!("tables [`[[{0}]]`](#{0})", section.name),
        Shape::OneOf(one_of) => kinds(one_of),
        Shape::ValueOrOneOf(kind, one_of) => {
            format!("{}, or {}", value(*kind), kinds(one_of))
        }
        Shape::Policy(_) => "[policy](#policies)".to_owned(),
    }
}

/// A link to the kinds of a choice.
fn kinds(one_of: &OneOf) -> String {
    format!("[{}](#kinds-of-{})", one_of.what, one_of.what.replace(' ', "-"))
}

fn value(kind: Kind) -> String {
    match kind {
        Kind::Rate => "rate".to_owned(),
        Kind::Time => "time".to_owned(),
        Kind::Size => "size".to_owned(),
        Kind::Limit => "limit".to_owned(),
        Kind::Word(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(" or ")
        }
        Kind::Integer(..) | Kind::Number(..) | Kind::Dscp | Kind::Policy(_) | Kind::Text => {
            scalar::describe(kind)
        }
    }
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn tables() -> String {
    let mut text = String::from("## Result tables\n\nOnly packets sent from `warmup` on are measured.\n\n");
    for table in TABLES {
        text.push_str(&format!("### Table `{}`\n\n{}\n\n", table.name, table.help));
        text.push_str("| column | type | unit | |\n| --- | --- | --- | --- |\n");
        for Column { name, column_type, unit, help, .. } in table.columns {
            let column_type = match column_type {
                ColumnType::Text => "text",
                ColumnType::Whole => "whole number",
                ColumnType::Number => "number",
            };
            text.push_str(&format!("| `{name}` | {column_type} | {unit} | {} |\n", cell(help)));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
