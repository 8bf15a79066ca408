//! The gate file of a configuration, and the one by which the simulator stands in for `tc`.

use super::model::{Level, Model};
use super::plan::{Class, Flow, Framing, Side};
use super::policies::{self, HOSTS_IN_LINUX, PORT, USUAL};
use crate::units::{show_rate, show_size};
use std::fmt::Write;
use tidegate_core::classifier::rules::Direction;
use toml_edit::Value;

/// The line in front of which the gate is to stand.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Interface towards the hosts that the line serves.
    pub inside: &'a str,
    /// Interface towards the rest of the world.
    pub outside: &'a str,
    /// Its rate in each direction, up first, in bit/s; `None` to take that of the configuration.
    pub rates: [Option<u64>; 2],
}

/// The terms that both directions of a gate share.
pub(super) struct Whole {
    pub(super) rates: [u64; 2],
    pub(super) framing: Framing,
    pub(super) buffer: Option<String>,
    /// False where a queue has its own policy, beside which the port's CoDel would be a second one.
    pub(super) codel_at_port: bool,
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// The head of a file.
fn head(comment: &str, line: &Line<'_>, whole: &Whole) -> String {
    let [up, down] = whole.rates.map(show_rate);
    let mut file = format!("{comment}version = 1\n\n[gate]\n");
    let _ = writeln!(file, "inside = {}\noutside = {}", quoted(line.inside), quoted(line.outside));
    let _ = writeln!(file, "up = \"{up}\"\ndown = \"{down}\"");
    let Framing { overhead, mpu, atm } = whole.framing;
    if overhead != 0 {
        let _ = writeln!(file, "overhead = {overhead}");
    }
    if mpu != 0 {
        let _ = writeln!(file, "mpu = {mpu}");
    }
    if atm {
        file.push_str("atm = true\n");
    }
    if let Some(buffer) = &whole.buffer {
        let _ = write!(file, "\n[switch]\nbuffer = \"{buffer}\"\n");
    }
    file
}

/// The gate file.
pub(super) fn gate(line: &Line<'_>, sides: &[Option<Side>; 2], whole: &Whole) -> String {
    let comment = "# Made from tc's output by `import`. Classes have the handles that they have there, behind their direction.\n";
    let mut file = head(comment, line, whole);
    if !whole.codel_at_port {
        let _ = write!(file, "\n[port]\npolicy = \"{PORT}\"\n");
    }
    for (side, direction) in sides.iter().zip(Direction::BOTH) {
        let Some(side) = side else {
            file.push_str(&other_way(direction));
            continue;
        };
        for class in &side.classes {
            let policy = match &class.queue {
                Some(queue) => match (&queue.policy, whole.codel_at_port) {
                    (None, true) => None,
                    (None, false) => Some(format!("policy = \"{USUAL}\"\n")),
                    (Some(policy), _) => Some(format!("policy = \"{policy}\"\n")),
                },
                None => None,
            };
            let parent = class.parent.map(|parent| side.classes[parent].name.as_str());
            file.push_str(&one_class(class, parent, &policy.unwrap_or_default(), direction));
        }
        side.flows.iter().for_each(|flow| file.push_str(&one_flow(flow, side, direction)));
    }
    file
}

/// The gate file by which the simulator stands in for what was there.
pub(super) fn before(
    line: &Line<'_>,
    sides: &[Option<Side>; 2],
    whole: &Whole,
    models: [&Model; 2],
) -> String {
    let comment = "# Stands in for tc's configuration in the simulator, by `import`: for predictions, not for a line.\n\
                   # HTB's classes of one `prio` are in a fair queue by their rates; otherwise the most urgent goes first.\n";
    let mut file = head(comment, line, whole);
    let port = if whole.codel_at_port { HOSTS_IN_LINUX } else { PORT };
    let _ = write!(file, "\n[port]\npolicy = \"{port}\"\n");
    for ((side, model), direction) in sides.iter().zip(models).zip(Direction::BOTH) {
        let Some(side) = side else {
            file.push_str(&other_way(direction));
            continue;
        };
        let way = direction.name();
        let root = model.root.as_ref().map(|_| format!("{way}-root"));
        let name_of = |parent: Option<usize>| parent.map(|at| side.classes[at].name.clone()).or(root.clone());
        if let (Some(name), Some(policy)) = (&root, &model.root) {
            let _ = write!(file, "\n[[class]]\nname = \"{name}\"\npolicy = \"{policy}\"\n");
        }
        let level_name = |level: &Level| match level.parent {
            Some(_) => level.name.clone(),
            None => format!("{way}-{}", level.name),
        };
        for level in &model.levels {
            let _ = write!(file, "\n[[class]]\nname = \"{}\"\n", level_name(level));
            if let Some(parent) = name_of(level.parent) {
                let _ = writeln!(file, "parent = \"{parent}\"");
            }
            let ceiling = show_rate(level.ceiling);
            let _ = writeln!(
                file,
                "policy = \"{}\"\npriority = {}\n{way} = {{ ceiling = \"{ceiling}\" }}",
                level.policy, level.prio
            );
        }
        for (class, member) in side.classes.iter().zip(&model.members) {
            let policy = match &class.queue {
                Some(queue) => queue.in_linux.as_ref().map(|policy| format!("policy = \"{policy}\"\n")),
                None => member.policy.as_ref().map(|policy| format!("policy = \"{policy}\"\n")),
            };
            let parent = match member.level {
                Some(level) => Some(level_name(&model.levels[level])),
                None => name_of(class.parent),
            };
            let terms = format!("{}priority = {}\n", policy.unwrap_or_default(), class.prio);
            let class = Class { ceiling: member.ceiling, queue: None, ..class.clone() };
            file.push_str(&one_class(&class, parent.as_deref(), &terms, direction));
        }
        side.flows.iter().for_each(|flow| file.push_str(&one_flow(flow, side, direction)));
    }
    file
}

fn one_class(class: &Class, parent: Option<&str>, terms: &str, direction: Direction) -> String {
    let mut text = format!("\n[[class]]    # {}\nname = {}\n", class.handle, quoted(&class.name));
    if let Some(parent) = parent {
        let _ = writeln!(text, "parent = {}", quoted(parent));
    }
    text.push_str(terms);
    let rate = |key: &str, rate: Option<u64>| rate.map(|rate| format!("{key} = \"{}\"", show_rate(rate)));
    let terms: Vec<String> =
        [rate("reserve", class.reserve), rate("ceiling", class.ceiling)].into_iter().flatten().collect();
    if let (Some(_), Some(burst)) = (class.ceiling, class.ceiling_burst) {
        let _ = writeln!(text, "ceiling_burst = \"{}\"", show_size(burst));
    }
    if !terms.is_empty() {
        let _ = writeln!(text, "{} = {{ {} }}", direction.name(), terms.join(", "));
    }
    text
}

fn one_flow(flow: &Flow, side: &Side, direction: Direction) -> String {
    let mut text = String::from("\n[[flow]]");
    if !flow.comment.is_empty() {
        let _ = write!(text, "    # {}", flow.comment.replace(char::is_control, " "));
    }
    let _ = write!(text, "\nname = {}\nmatch = {}\n", quoted(&flow.name), flow.criteria.in_toml(direction));
    if let Some(class) = flow.class {
        let _ = writeln!(text, "class = {}", quoted(&side.classes[class].name));
    }
    text.push_str(&flow.queue.among.keys());
    if let Some(reserve) = flow.reserve {
        let _ = writeln!(text, "reserve = \"{}\"", show_rate(reserve));
    }
    if flow.queue.wash {
        text.push_str("set_dscp = 0\n");
    }
    text
}

/// The direction of which no configuration was given.
fn other_way(direction: Direction) -> String {
    let (name, policy) = (direction.name(), policies::fq_codel(&[]));
    format!(
        "\n[[class]]    # no configuration was given\nname = \"{name}\"\npolicy = \"{policy}\"\n\n\
         [[flow]]\nname = \"{name}\"\nmatch = {{ direction = \"{name}\" }}\nclass = \"{name}\"\neach = \"5-tuple\"\n"
    )
}
