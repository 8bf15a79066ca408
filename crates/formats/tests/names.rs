//! Only a policy's own file, files that offer it to a person, tests and docs name a policy. Other
//! code takes its properties from its record.

use std::path::{Path, PathBuf};
use tidegate_core::params::PolicyRecord;
use tidegate_core::policies::built_in;

/// Files that offer or study a policy by its name, and do not treat it apart.
const OFFERED: &[&str] = &[
    // A greedy source has a key with the name of a transport.
    "crates/formats/src/source.rs",
    "crates/formats/src/keys/source.rs",
    // Queueing disciplines of another system, and the policies that they are here.
    "crates/formats/src/tc/policies.rs",
    "crates/formats/src/tc/queue.rs",
    // A mode of CAKE has the name of a scheduler, and the word of a key for it.
    "crates/formats/src/tc/cake.rs",
    "crates/formats/src/libreqos/render.rs",
    "crates/formats/src/keys/gate.rs",
    // A protocol has the name of a transport.
    "crates/core/src/classifier.rs",
    "python/tidegate/replay/kinds.py",
    "python/tidegate/replay/names.py",
    // An average over time has the name of a transport, too.
    "crates/core/src/meter/estimator.rs",
    "crates/core/src/meter/clearing.rs",
    // A colour of packets has the name of a dropper.
    "crates/formats/src/colour.rs",
    "crates/bindings/src/policies/seen.rs",
    "python/tidegate/meter.py",
    // And so has a span of the history of drops.
    "crates/core/src/detector/drop_history.rs",
    // Written from the records.
    "python/tidegate/policies.py",
    // A former key had words for congestion controls.
    "crates/formats/src/renamed.rs",
    // An example of use, and the policies compared by default.
    "python/tidegate/__init__.py",
    "python/tidegate/congestion.py",
    "python/tidegate/cli/compare.py",
    "python/tidegate/cli/replay.py",
    "python/tidegate/replay/__init__.py",
    "python/tidegate/source.py",
    // The scheduler of plans; the program that checks them has its own theory of it.
    "python/tidegate/plan/curves.py",
    "python/tidegate/plan/checker.py",
    // The demonstration of two policies.
    "python/tidegate/demo/",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            found.push(path);
        }
    }
}

/// A Rust file without its unit tests, its comments and its conditions.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let text = match text.find("#[cfg(test)]\nmod ") {
        Some(tests) => &text[..tests],
        None => &text,
    };
    let is_code =
        |line: &&str| !["//", "#[cfg(feature"].iter().any(|start| line.trim_start().starts_with(start));
    text.lines().filter(is_code).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_policy_is_named_outside_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for folder in ["core", "formats", "sim", "gate", "bindings"] {
        sources(&root.join("crates").join(folder).join("src"), &mut files);
    }
    sources(&root.join("python"), &mut files);
    assert!(files.len() > 100, "{}", files.len());
    let records: Vec<&PolicyRecord> = built_in().collect();
    let mut named = Vec::new();
    for path in files {
        let shown = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        let is_test = shown.ends_with("tests.rs") || shown.contains("/tests/");
        if is_test || OFFERED.iter().any(|offered| shown.starts_with(offered)) {
            continue;
        }
        let code = code(&path);
        for record in &records {
            let is_own =
                code.contains("PolicyRecord {") && code.contains(&format!("name: \"{}\"", record.name));
            if !is_own && code.contains(&format!("\"{}\"", record.name)) {
                named.push(format!("{shown}: {}", record.name));
            }
        }
    }
    assert!(named.is_empty(), "policies are named in\n{}", named.join("\n"));
}
