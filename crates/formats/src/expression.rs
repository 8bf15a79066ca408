//! A policy in one line: `fq-codel`, `red`, `virtual-clock + red`, `fq-codel(target=10ms)`.

use crate::error::Complaint;
use crate::policy_names;
use crate::scalar;
use crate::suggest::brief;
use crate::tree;
use tidegate_core::dropper::DropperKind;
use tidegate_core::params::{NamedPolicy, PolicyRecord, Role};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_core::{composite, scheduler};
use toml_edit::{InlineTable, Value};

/// The policies that an expression may name.
pub(crate) fn records() -> impl Iterator<Item = &'static PolicyRecord> + Clone {
    let composites = composite::RECORDS.iter();
    composites.chain(SchedulerKind::records()).chain(DropperKind::records())
}

/// A policy's parts, each as the key of a port would state it.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The scheduler, or a policy with a dropper of its own.
    pub scheduler: Value,
    /// The dropper; `None` for none beside the scheduler's own.
    pub dropper: Option<Value>,
}

/// The key of a port under which a policy of this kind stands.
pub(crate) fn key_of(kind: &str) -> Result<&'static str, Complaint> {
    Ok(if known(kind)?.role == Role::Dropper { "dropper" } else { "scheduler" })
}

/// The parts that a value under `policy` states; `None` if it is not a policy.
pub(crate) fn parts_of(value: &Value) -> Option<Parts> {
    match value {
        Value::String(text) => parse(text.value()).ok(),
        _ => combine(vec![(find(kind_of(value)?)?, value.clone().decorated("", ""))]).ok(),
    }
}

/// Returns true if a policy has a parameter.
pub(crate) fn has_param(kind: &str, param: &str) -> bool {
    find(kind).is_some_and(|record| record.params.iter().any(|one| one.name == param))
}

/// The form of an expression, for a message.
pub(crate) const EXAMPLES: &str =
    "write it as in policy = \"fq-codel\", \"red\" (FIFO with it) or \"virtual-clock + red\"";

/// Reads an expression: at most one scheduler and at most one dropper, joined by `+`.
pub(crate) fn parse(text: &str) -> Result<Parts, Complaint> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let (name, behind) = name(rest);
        if name.is_empty() {
            return Err(malformed(text));
        }
        let record = known(name)?;
        let (params, behind) = params(behind.trim_start()).ok_or_else(|| malformed(text))?;
        check_required(record, &params)?;
        parts.push((record, value_of(name, params)));
        rest = behind.trim_start();
        match rest.strip_prefix('+') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() => return combine(parts),
            None => return Err(malformed(text)),
        }
    }
}

fn malformed(text: &str) -> Complaint {
    let message = match text.trim().is_empty() {
        true => "`policy` is empty".to_owned(),
        false => format!("`{}` is not a policy in one line", brief(text)),
    };
    Complaint::new(message).help(EXAMPLES)
}

/// The name at the beginning, which may end in `++`, and the text behind it.
fn name(text: &str) -> (&str, &str) {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let mut end = text.bytes().take_while(|byte| is_letter(*byte)).count();
    if end > 0 && text[end..].starts_with("++") {
        end += 2;
    }
    text.split_at(end)
}

/// The parameters in parentheses, if there are any, and the text behind them. `None` if they are
/// not in this form.
fn params(text: &str) -> Option<(Vec<(&str, Value)>, &str)> {
    let Some(inside) = text.strip_prefix('(') else { return Some((Vec::new(), text)) };
    let (inside, behind) = inside.split_once(')')?;
    let stated = inside.split(',').filter(|part| !part.trim().is_empty()).map(|part| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim();
        let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_key && !value.trim().is_empty()).then(|| (key, tree::value_of_text(value)))
    });
    Some((stated.collect::<Option<_>>()?, behind))
}

fn find(name: &str) -> Option<&'static PolicyRecord> {
    records().find(|record| record.name == name)
}

fn known(name: &str) -> Result<&'static PolicyRecord, Complaint> {
    find(name).ok_or_else(|| {
        let mut complaint = Complaint::new(format!("there is no policy `{}`", brief(name)));
        complaint.help = policy_names::help("policy", name, records().map(|record| record.name));
        complaint
    })
}

/// Checks that no parameter is missing which a policy needs.
fn check_required(record: &PolicyRecord, given: &[(&str, Value)]) -> Result<(), Complaint> {
    let missing = |param: &&tidegate_core::params::Param| {
        param.required && given.iter().all(|(name, _)| *name != param.name)
    };
    let Some(first) = record.params.iter().find(missing) else { return Ok(()) };
    let needed = record.params.iter().filter(|param| param.required);
    let needed: Vec<String> = needed
        .map(|param| {
            format!("{}={}", param.name, scalar::example(param.kind).unwrap_or("…").trim_matches('"'))
        })
        .collect();
    Err(Complaint::new(format!("`{}` needs `{}`", record.name, first.name)).help(format!(
        "write it as in {}({})",
        record.name,
        needed.join(", ")
    )))
}

fn kind_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(name) => Some(name.value()),
        _ => value.as_inline_table()?.get("kind")?.as_str(),
    }
}

/// A policy as its key states it: its name alone, or a table.
fn value_of(name: &str, params: Vec<(&str, Value)>) -> Value {
    if params.is_empty() {
        return Value::from(name);
    }
    let mut table = InlineTable::new();
    table.insert("kind", Value::from(name));
    for (key, value) in params {
        table.insert(key, value);
    }
    Value::InlineTable(table)
}

/// One policy of several: one scheduler at most, and one dropper.
fn combine(parts: Vec<(&'static PolicyRecord, Value)>) -> Result<Parts, Complaint> {
    let (mut orders, mut drops) = (None, None);
    for (record, value) in parts {
        let is_dropper = record.role == Role::Dropper;
        let (place, what) = if is_dropper { (&mut drops, "droppers") } else { (&mut orders, "schedulers") };
        if let Some((other, _)) = place.replace((record, value)) {
            let message = format!("`{}` and `{}` are both {what}", other.name, record.name);
            return Err(Complaint::new(message).help("a policy has one scheduler and one dropper"));
        }
    }
    if let (Some((whole, _)), Some((dropper, _))) = (&orders, &drops)
        && let Role::Composite(consists) = whole.role
    {
        let message = format!("`{}` is `{consists}`, and takes no other dropper", whole.name);
        return Err(Complaint::new(message).help(format!("write {} + {}", consists.scheduler, dropper.name)));
    }
    let scheduler = orders.map_or_else(|| Value::from(scheduler::DEFAULT.name), |(_, value)| value);
    Ok(Parts { scheduler, dropper: drops.map(|(_, value)| value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(value: &Value) -> Value {
        value.clone().decorated("", "")
    }

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(Parts { scheduler, dropper }) => {
                let dropper = dropper.map_or(String::new(), |dropper| format!(" / {}", plain(&dropper)));
                format!("{}{dropper}", plain(&scheduler))
            }
            Err(complaint) => complaint.to_string(),
        }
    }

    #[test]
    fn an_expression_names_a_scheduler_a_dropper_or_both() {
        let scope = "\"drr++\" / { kind = \"codel\", scope = \"flow\" }";
        for (text, parts) in [
            ("fifo", "\"fifo\""),
            ("red", "\"fifo\" / \"red\""),
            ("virtual-clock+red", "\"virtual-clock\" / \"red\""),
            ("red + virtual-clock", "\"virtual-clock\" / \"red\""),
            ("drr++", "\"drr++\""),
            ("drr+++codel( scope = flow )", scope),
            (" drr++ + codel(scope=flow) ", scope),
            (
                "fq-codel(target=10ms, quantum=300B)",
                "{ kind = \"fq-codel\", target = \"10ms\", quantum = \"300B\" }",
            ),
            ("red(max_p=.5)", "\"fifo\" / { kind = \"red\", max_p = 0.5 }"),
            ("fifo()", "\"fifo\""),
        ] {
            assert_eq!(shown(text), parts, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_composite_policy_means_what_its_record_says() {
        let composites = records().filter_map(|record| match record.role {
            Role::Composite(consists) => Some(consists),
            _ => None,
        });
        for consists in composites.chain([composite::FAIR_DEFAULT]) {
            let parts = parse(&consists.to_string()).unwrap();
            assert_eq!(parts.scheduler.as_str(), Some(consists.scheduler));
            assert_eq!(parts.dropper.as_ref().and_then(kind_of), Some(consists.dropper));
        }
    }

    #[test]
    fn what_is_no_policy_is_answered_with_what_to_write() {
        for (text, said) in [
            ("", "`policy` is empty"),
            ("fifo +", "`fifo +` is not a policy in one line"),
            ("fifo red", "`fifo red` is not"),
            ("red(", "`red(` is not"),
            ("red(5p)", "`red(5p)` is not"),
            ("fifo + drr", "`fifo` and `drr` are both schedulers"),
            ("red + codel", "`red` and `codel` are both droppers"),
            (
                "fq-codel + red",
                "`fq-codel` is `drr++ + codel(scope=flow)`, and takes no other dropper (write drr++ + red)",
            ),
            ("drop-tail", "`drop-tail` needs `limit` (write it as in drop-tail(limit=100p))"),
            ("fifoo", "there is no policy `fifoo` (did you mean `fifo`?)"),
            ("htb", "there is no policy `htb` (`htb` is a word of tc: write a [[class]] with `reserve`"),
            (
                "DropTail",
                "there is no policy `DropTail` (`DropTail` is a word of ns-2, ns-3 and mahimahi: write policy = \"fifo\"",
            ),
            ("pfifo_fast", "there is no policy `pfifo_fast` (`pfifo_fast` is a word of tc"),
            ("srtcm", "there is no policy `srtcm` (`srtcm` is a meter: write meter = \"srtcm\")"),
        ] {
            let shown = shown(text);
            assert!(shown.starts_with(said), "{text}: {shown}");
        }
    }
}
