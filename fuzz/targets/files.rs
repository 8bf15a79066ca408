//! Gate files, scenarios and lists of circuits: read, or refused with reasons. A file that was read
//! can be run, or is
//! refused with a reason.
//!
//! The first byte selects one of them (0, 1, 2), then comes the text. Lines after a line `--set` in
//! a gate file or a
//! scenario are overrides, one a line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use tidegate_formats::{FormatErrors, GateFile, Scenario};
use tidegate_fuzz::Bytes;
use tidegate_gate::fuzzing::{Gate, GatePlan};

/// Larger inputs only take longer.
const MOST: usize = 500;

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let kind = bytes.byte() % 3;
    if kind == 2 {
        return circuits(bytes.0);
    }
    let Ok(text) = std::str::from_utf8(bytes.0) else { return };
    let (text, sets) = text.split_once("\n--set\n").unwrap_or((text, ""));
    let sets: Vec<_> = sets.lines().filter_map(|line| line.split_once('=')).collect();
    let sets: Vec<_> = sets.into_iter().map(|(path, value)| (path.to_owned(), value.to_owned())).collect();
    if kind == 0 { gate(text, &sets) } else { scenario(text, &sets) }
});

/// A gate file that names a list of circuits, which is written anew each time.
static WITH_CIRCUITS: LazyLock<(PathBuf, String)> = LazyLock::new(|| {
    let list = std::env::temp_dir().join(format!("tidegate-fuzz-{}.csv", std::process::id()));
    let text = format!(
        "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"8mbit\", down = \"80mbit\" }}\n\
         class = [{{ name = \"north\", scheduler = \"virtual-clock\", reserve = \"4mbit\" }}]\n\
         [[flow]]\nname = \"subscribers\"\ncircuits = \"{}\"\n",
        list.display()
    );
    (list, text)
});

fn circuits(list: &[u8]) {
    let (path, text) = &*WITH_CIRCUITS;
    std::fs::write(path, list).expect("room for a small file");
    gate(text, &[]);
    let _ = std::fs::remove_file(path);
}

fn refused(errors: &FormatErrors) {
    let text = errors.to_string();
    assert!(!errors.errors.is_empty() && !text.contains("mistake in tidegate"), "{text}");
}

/// A file with its overrides equals the file written with them in it.
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
    let wanted = GatePlan::of(&file);
    if let Ok(mut gate) = Gate::new(&wanted, 64) {
        gate.reload(&wanted).expect("what started can be gone on with");
        gate.check();
    }
}

fn scenario(text: &str, sets: &[(String, String)]) {
    // The content of other files is not tested here, and some of them have no end.
    if text.contains("file") {
        return;
    }
    match Scenario::parse(text, "fuzz.toml", Path::new(""), sets) {
        Ok(scenario) => {
            if let Err(errors) = Scenario::parse(scenario.to_toml(), "fuzz.toml", Path::new(""), &[]) {
                panic!("a scenario that was read is refused:\n{errors}");
            }
            if scenario.flow_count() <= MOST && scenario.links.len() <= MOST {
                // Either result is accepted.
                let _ = tidegate_sim::assemble::assemble(&scenario);
            }
        }
        Err(errors) => refused(&errors),
    }
}
