//! Commands to a running gate: `down`, `status`, `reload`.

use super::arguments::{Asked, Explain, Running, Status};
use super::top;
use crate::control::client::Client;
use crate::control::socket;
use crate::error::GateError;
use crate::explain;
use crate::failover;
use serde_json::Value;
use tidegate_formats::GateOutline;

/// Connects to a gate by its file, even one with errors, or by its name if there is no such file.
pub(super) fn connect(running: &Running) -> Result<Client, GateError> {
    let path = match running.gate.to_str() {
        Some(name) if !running.gate.exists() && !name.contains(['/', '.']) => socket::path_by_name(name),
        _ => socket::path_for(&GateOutline::load(&running.gate)?),
    };
    Client::connect(path)
}

pub(super) fn status(status: &Status) -> Result<String, GateError> {
    let (request, table): (_, fn(&Value) -> String) = match status.circuits {
        true => ("circuits", top::circuits),
        false => ("status", top::table),
    };
    let answer = connect(&status.running)?.ask(request)?;
    Ok(if status.json { format!("{answer:#}\n") } else { table(&answer) })
}

pub(super) fn explain(asked: &Explain) -> Result<String, GateError> {
    let name = asked.name.as_deref();
    let answers = connect(&asked.running)?.explain(name)?;
    Ok(if asked.json { format!("{answers:#}\n") } else { explain::text(&answers, name) })
}

pub(super) fn reload(asked: &Asked) -> Result<String, GateError> {
    let answer = connect(&asked.running)?.ask("reload")?;
    if asked.json {
        return Ok(format!("{answer:#}\n"));
    }
    let changes = answer["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if changes.is_empty() {
        return Ok("nothing has changed\n".to_owned());
    }
    Ok(changes.iter().filter_map(|change| change.as_str()).map(|change| format!("{change}\n")).collect())
}

pub(super) fn down(asked: &Asked) -> Result<String, GateError> {
    let text = take_down(&asked.running)?;
    Ok(match asked.json {
        true => format!("{:#}\n", serde_json::json!({ "down": true, "message": text.trim_end() })),
        false => text,
    })
}

fn take_down(running: &Running) -> Result<String, GateError> {
    let mut interfaces = match running.gate.exists() {
        true => GateOutline::load(&running.gate).ok().and_then(|file| file.inside.zip(file.outside)),
        false => None,
    };
    let stopped = connect(running).and_then(|mut client| {
        // If the gate was started without a file, or its file no longer names the interfaces, the
        // gate itself reports them.
        interfaces = interfaces.take().or_else(|| interfaces_of(&client.ask("status").ok()?));
        client.stop()
    });
    match stopped {
        // A gate that was killed has left its bridge.
        Err(GateError::NotRunning(_)) if running.gate.exists() => {}
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    let (inside, outside) = interfaces.ok_or_else(|| GateError::NoInterfaces(running.gate.clone()))?;
    Ok(match failover::remove(&inside, &outside)? {
        Some(bridge) => {
            format!("bridge {bridge} is removed: no frame passes between {inside} and {outside}\n")
        }
        None if stopped.is_ok() => {
            format!("the gate is stopped, and none has made a bridge of {inside} and {outside} here\n")
        }
        None => format!("no gate runs, and none has made a bridge of {inside} and {outside} here\n"),
    })
}

/// The interfaces inside and outside of a gate's report.
fn interfaces_of(status: &Value) -> Option<(String, String)> {
    let up = &status["directions"]["up"];
    Some((up["from"].as_str()?.to_owned(), up["to"].as_str()?.to_owned()))
}
