//! The page that shows the matrix.

use super::{Counterexample, PROPERTIES};
use std::collections::BTreeSet;
use std::path::Path;

/// Files of the properties, in the order of the columns.
const FILES: [&str; PROPERTIES.len()] = [
    "work_conserving",
    "order",
    "throughput",
    "isolation",
    "delay",
    "fairness",
    "punishment",
    "acceleration",
    "held",
    "absent",
];

/// Checks that the page has the cells: name of the discipline, claim, and a counterexample. Writes
/// it if that is asked for.
pub fn check(cells: &[(&str, &str, Option<Counterexample>)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut wanted = page.clone();
    for (part, text) in
        [("properties", properties()), ("matrix", matrix(cells)), ("counterexamples", examples(cells))]
    {
        let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->"));
        let (before, rest) = wanted.split_once(&begin).unwrap_or_else(|| panic!("no {part} in the page"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no end of {part} in the page"));
        wanted = format!("{before}{begin}{text}{end}{after}");
    }
    if std::env::var_os("CONFORMANCE").is_some_and(|what| what == "write") {
        std::fs::write(&path, &wanted).unwrap();
    } else if std::env::var_os("TIDEGATE_VERIFY").is_none() {
        // A long run may find other counterexamples first.
        assert!(page == wanted, "docs/conformance.md is out of date: CONFORMANCE=write brings it up to date");
    }
}

fn link(nth: usize, words: &str) -> String {
    format!("[{words}](../crates/core/tests/conformance/{}.rs)", FILES[nth])
}

fn properties() -> String {
    let rows = PROPERTIES
        .iter()
        .enumerate()
        .map(|(nth, one)| format!("| {} | {} |\n", link(nth, one.name), one.says));
    format!("| property | |\n| --- | --- |\n{}", rows.collect::<String>())
}

fn matrix(cells: &[(&str, &str, Option<Counterexample>)]) -> String {
    let names: Vec<&str> = PROPERTIES.iter().map(|one| one.name).collect();
    let mut text = format!("| discipline | {} |\n|{}\n", names.join(" | "), " --- |".repeat(names.len() + 1));
    for row in cells.chunks(PROPERTIES.len()) {
        text += &format!("| `{}` |", row[0].0);
        for (nth, (_, claim, _)) in row.iter().enumerate() {
            let cell = match *claim {
                "+" => link(nth, "yes"),
                "-" => link(nth, "no"),
                _ => "not claimed".to_owned(),
            };
            text += &format!(" {cell} |");
        }
        text += "\n";
    }
    text
}

/// The first counterexample of each `no`; those with the same words in one row.
fn examples(cells: &[(&str, &str, Option<Counterexample>)]) -> String {
    let mut text =
        "| property | discipline | workload | what happens |\n| --- | --- | --- | --- |\n".to_owned();
    for (nth, property) in PROPERTIES.iter().enumerate() {
        let of_property: Vec<_> = cells.iter().skip(nth).step_by(PROPERTIES.len()).collect();
        let refuted = of_property
            .iter()
            .filter(|cell| cell.1 == "-")
            .filter_map(|cell| Some((cell.0, cell.2.as_ref()?)));
        let refuted: Vec<(&str, &Counterexample)> = refuted.collect();
        let different: BTreeSet<&Counterexample> = refuted.iter().map(|(_, example)| *example).collect();
        for example in different {
            let names: Vec<String> = refuted
                .iter()
                .filter(|(_, other)| *other == example)
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            text +=
                &format!("| {} | {} | {} | {} |\n", property.name, names.join(", "), example.0, example.1);
        }
    }
    text
}
