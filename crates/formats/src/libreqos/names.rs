//! Names of classes for nodes of any name.

use std::collections::BTreeSet;

/// The longest name of a class.
const LONGEST: usize = 64;

/// The names that were given so far.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// Returns a name for a node, which no other has: letters, digits, `-` and `_` stay, and whatever
    /// is between them becomes `-`.
    pub(super) fn valid(&mut self, node: &str) -> String {
        let kept = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let words: Vec<&str> = node.split(|c| !kept(c)).filter(|word| !word.is_empty()).collect();
        let mut plain = words.join("-");
        if plain.is_empty() {
            plain = "node".to_owned();
        }
        let numbered = |number: usize| {
            let ending = if number == 1 { String::new() } else { format!("-{number}") };
            format!("{}{ending}", &plain[..plain.len().min(LONGEST - ending.len())])
        };
        let free = (1..).map(numbered).find(|name| !self.0.contains(name)).unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_each_is_given_once() {
        let mut names = Names::default();
        let given =
            ["AP_A", "Tower 1 – North", "Tower 1 / North", "東", "", "AP_A"].map(|node| names.valid(node));
        assert_eq!(given, ["AP_A", "Tower-1-North", "Tower-1-North-2", "node", "node-2", "AP_A-2"]);
        let long = "x".repeat(100);
        assert_eq!([names.valid(&long).len(), names.valid(&long).len()], [64, 64]);
    }
}
