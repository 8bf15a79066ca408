//! The words for the colours of packets.

use crate::section::words;
use tidegate_core::packet::Colour;

words! {
    Colour {
        Green = "green",
        Yellow = "yellow",
        Red = "red",
    }
}
