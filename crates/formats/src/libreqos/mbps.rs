//! Rates in Mbit/s, with or without decimals.

use crate::error::Complaint;
use crate::suggest::brief;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::fmt;

const BITS: f64 = 1e6;
/// The highest rate, 1 Tbit/s, in Mbit/s.
const HIGHEST: f64 = 1e6;
/// The lowest rate, 1 kbit/s, in Mbit/s.
const LOWEST: f64 = 1e-3;
const RANGE: &str = "a rate in Mbit/s, from 0.001 to 1000000";

/// A rate in bit/s that was given in Mbit/s.
pub(super) struct Mbps(pub(super) u64);

impl Mbps {
    fn new(mbps: f64) -> Option<Mbps> {
        (LOWEST..=HIGHEST).contains(&mbps).then(|| Mbps((mbps * BITS).round() as u64))
    }

    /// Reads a field of a table.
    pub(super) fn read(text: &str) -> Result<Mbps, Complaint> {
        let rate = text.parse().ok().and_then(Mbps::new);
        rate.ok_or_else(|| Complaint::new(format!("`{}` is not {RANGE}", brief(text))))
    }
}

impl<'de> Deserialize<'de> for Mbps {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Mbps, D::Error> {
        from.deserialize_any(Number)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = Mbps;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(RANGE)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Mbps, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Mbps, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Mbps, E> {
        Mbps::new(number).ok_or_else(|| E::custom(format!("{number} is not {RANGE}")))
    }
}
