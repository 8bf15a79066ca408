//! Gate files and scenarios, with overrides: read, or refused with reasons; and what is read can be run, or is
//! refused with a reason.
//!
//! The first byte says which of them, then comes the text; what follows a line `--set` is overrides, one a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use tidegate_fuzz::Bytes;
use tidegate_gate::fuzzing::{Gate, Wanted};
use tidegate_spec::{GateFile, Scenario, SpecErrors};

/// More of anything only takes longer.
const MOST: usize = 500;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let is_gate = bytes.byte() & 1 == 0;
    let Ok(text) = std::str::from_utf8(bytes.0) else { return };
    let (text, sets) = text.split_once("\n--set\n").unwrap_or((text, ""));
    let sets: Vec<_> = sets.lines().filter_map(|line| line.split_once('=')).collect();
    let sets: Vec<_> = sets.into_iter().map(|(path, value)| (path.to_owned(), value.to_owned())).collect();
    if is_gate { gate(text, &sets) } else { scenario(text, &sets) }
});

fn refused(errors: &SpecErrors) {
    let text = errors.to_string();
    assert!(!errors.errors.is_empty() && !text.contains("mistake in tidegate"), "{text}");
}

/// A file with its overrides is the file that was written with them in it.
fn gate(text: &str, sets: &[(String, String)]) {
    let file = match GateFile::parse(text, "fuzz.toml", sets) {
        Ok(file) => file,
        Err(errors) => return refused(&errors),
    };
    match GateFile::parse(file.to_toml(), "fuzz.toml", &[]) {
        Ok(again) => assert!(again.changes_to(&file).is_empty()),
        Err(errors) => panic!("a file that was read is refused:\n{errors}"),
    }
    if file.flows.len() > MOST {
        return;
    }
    let wanted = Wanted::of(&file);
    if let Ok(mut gate) = Gate::new(&wanted, 64) {
        gate.reload(&wanted).expect("what started can be gone on with");
        gate.check();
    }
}

fn scenario(text: &str, sets: &[(String, String)]) {
    // What other files hold is not what is tried here, and some of them have no end.
    if text.contains("file") {
        return;
    }
    match Scenario::parse(text, "fuzz.toml", Path::new(""), sets) {
        Ok(scenario) => {
            if let Err(errors) = Scenario::parse(scenario.to_toml(), "fuzz.toml", Path::new(""), &[]) {
                panic!("a scenario that was read is refused:\n{errors}");
            }
            if scenario.flow_count() <= MOST && scenario.links.len() <= MOST {
                // Refused or not.
                let _ = tidegate_sim::build::build(&scenario);
            }
        }
        Err(errors) => refused(&errors),
    }
}
