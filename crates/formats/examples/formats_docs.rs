//! Prints one of the documents that come from the records: `schema`, `reference`,
//! `gate-reference`, `python` or `python-tables`. `write` writes those that are kept in the
//! repository; `check` lists those of them that are not current.

use std::path::Path;
use std::process::ExitCode;

/// The documents kept in the repository: the reference pages, and the types of the Python package.
fn kept() -> [(&'static str, String); 4] {
    [
        ("docs/scenario.md", tidegate_formats::reference()),
        ("docs/gate-file.md", tidegate_formats::gate_reference()),
        ("python/tidegate/policies.py", tidegate_formats::python_types()),
        ("python/tidegate/result_tables.py", tidegate_formats::python_tables()),
    ]
}

/// Goes through the kept documents; returns true if all of them are current.
fn compare(stale: impl Fn(&str, &Path, &str)) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut current = true;
    for (name, text) in kept() {
        let path = root.join(name);
        if std::fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            stale(name, &path, &text);
            current = false;
        }
    }
    current
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("schema") => println!("{:#}", tidegate_formats::schema()),
        Some("reference") => print!("{}", tidegate_formats::reference()),
        Some("gate-reference") => print!("{}", tidegate_formats::gate_reference()),
        Some("python") => print!("{}", tidegate_formats::python_types()),
        Some("python-tables") => print!("{}", tidegate_formats::python_tables()),
        Some("write") => {
            compare(|name, path, text| match std::fs::write(path, text) {
                Ok(()) => eprintln!("{name} is written from the records"),
                Err(error) => eprintln!("{name}: {error}"),
            });
            return if compare(|_, _, _| ()) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
        Some("check") => {
            if !compare(|name, _, _| {
                eprintln!("{name} is not what the records say: `make generated` writes it")
            }) {
                return ExitCode::FAILURE;
            }
        }
        _ => {
            eprintln!("usage: formats_docs schema|reference|gate-reference|python|python-tables|write|check");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
