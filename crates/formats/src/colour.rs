//! The words for the colours of packets.

use tidegate_core::packet::Colour;

/// The words, in profile first.
pub(crate) const WORDS: &[&str] = &["green", "yellow", "red"];

/// The colour that a word names.
pub(crate) fn named(word: &str) -> Option<Colour> {
    let colours = [Colour::Green, Colour::Yellow, Colour::Red];
    WORDS.iter().zip(colours).find(|(known, _)| **known == word).map(|(_, colour)| colour)
}
