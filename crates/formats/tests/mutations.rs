//! Any change of a scenario's text leaves either a scenario or a list of mistakes.

mod common;

use common::{FULL, parse};
use proptest::prelude::*;
use proptest::sample::Index;

const PIECES: &[&str] = &[
    "",
    "\"",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    "1",
    "-1",
    "nan",
    "1e400",
    "\"0s\"",
    "\"1h\"",
    "true",
    "[[flow]]\n",
    "[flow]\n",
    "[flow.source]\n",
    "kind = \"capture\"\n",
    "count = 4000000\n",
    "\"h1\"",
    "\"s1\"",
    "\"s9\"",
    "\u{e9}",
    "\u{0}",
    "#",
    ".",
    "\"tbit\"",
    "\"99999999999999999999tbit\"",
    "class = \"inner\"\n",
    "parent = \"inner\"\n",
    "route = [\"s1\"]\n",
    "[[connection]]\n",
    "transport = \"window\"\n",
    "to = [\"h2\", \"h3\"]\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_text_is_read_or_refused(
        edits in prop::collection::vec((any::<Index>(), 0usize..12, any::<Index>()), 1..6),
        path in "(flow|flow\\.voice|link\\.s9-s1|port|topology)(\\.[a-z]{1,8}){0,3}",
        value in "[0-9a-z\"{}=\\[\\], ]{0,12}",
    ) {
        let mut text: Vec<char> = FULL.chars().collect();
        for (at, removed, piece) in edits {
            let at = at.index(text.len());
            let end = (at + removed).min(text.len());
            text.splice(at..end, piece.get(PIECES).chars());
        }
        let text: String = text.into_iter().collect();
        for sets in [&[][..], &[(path.as_str(), value.as_str())][..]] {
            match parse(&text, sets) {
                Ok(scenario) => prop_assert!(scenario.flows().take(10).all(|flow| !flow.name.is_empty())),
                Err(errors) => prop_assert!(!errors.errors.is_empty() && !errors.to_string().contains("mistake in tidegate")),
            }
        }
    }

    #[test]
    fn swapped_lines_are_read_or_refused(a in any::<Index>(), b in any::<Index>(), cut in any::<Index>()) {
        let mut lines: Vec<&str> = FULL.lines().collect();
        let (a, b, cut) = (a.index(lines.len()), b.index(lines.len()), cut.index(lines.len()));
        lines.swap(a, b);
        lines.remove(cut);
        if let Err(errors) = parse(&lines.join("\n"), &[]) {
            prop_assert!(!errors.to_string().contains("mistake in tidegate"), "{}", errors);
        }
    }
}
