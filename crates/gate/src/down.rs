//! Stops a gate for good, with what it leaves behind when it stops.

use crate::control::client::Client;
use crate::error::GateError;
use crate::handover::{HandoverError, remove};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;
use tidegate_spec::GateFile;

/// How often it is looked whether a gate that was asked to stop has, and how many times.
const STEP: Duration = Duration::from_millis(20);
const STEPS: u32 = 500;

/// Stops the gate that listens at `socket`, if one does, and removes the bridge that it, or one before it
/// with this file, has made. Gives what there is to say about that.
///
/// # Errors
/// When there is neither a gate nor a bridge, or one of them does not go.
pub(crate) fn down(socket: PathBuf, file: Option<&GateFile>) -> Result<String, GateError> {
    let (sides, stopped) = match Client::connect(socket) {
        Ok(mut client) => {
            let up = &client.ask("status")?["directions"]["up"];
            let side = |key: &str| up[key].as_str().map(str::to_owned).ok_or(GateError::Silent);
            let sides = [side("from")?, side("to")?];
            client.ask("stop")?;
            (sides, Ok(()))
        }
        Err(error) => match file {
            Some(file) if matches!(error, GateError::NotRunning(_)) => {
                ([file.inside.clone(), file.outside.clone()], Err(error))
            }
            _ => return Err(error),
        },
    };
    let [inside, outside] = [sides[0].as_str(), &sides[1]];
    let mut removed = remove([inside, outside]);
    for _ in 0..STEPS {
        // It holds its interfaces until it has told what it did.
        if stopped.is_err() || !matches!(removed, Err(HandoverError::Busy(_))) {
            break;
        }
        sleep(STEP);
        removed = remove([inside, outside]);
    }
    match removed? {
        Some(bridge) => {
            Ok(format!("bridge {bridge} is removed: nothing passes between {inside} and {outside}\n"))
        }
        None => {
            let none = format!("there is no bridge of a gate's between {inside} and {outside} here");
            stopped.map(|()| format!("the gate is stopped; {none}\n"))
        }
    }
}
