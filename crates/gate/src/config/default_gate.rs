//! Default gate for a line of which only the interfaces and the rate are stated: fair by host, with
//! little delay for calls.

use serde_json::Value;
use tidegate_formats::units::show_rate;

/// A host reserves the rate divided by this, several times the rate set aside for packets that no
/// flow matches.
const SHARE: u64 = 10;

/// A gate file for a line of this rate, in bit/s, in each direction.
///
/// Every host has an equal claim. Its traffic that is marked as a call or a conference (RFC 4594:
/// EF, admitted voice, class selector 5 and AF4) has as much again, separately: it does not wait
/// for other traffic of the same host. Traffic that is not IP gets the share of packets that no
/// flow matches.
pub(crate) fn text(inside: &str, outside: &str, rate: u64) -> String {
    // A JSON string is a TOML string.
    let [name, outside] = [inside, outside].map(|name| Value::from(name).to_string());
    let (rate, share) = (show_rate(rate), show_rate((rate / SHARE).max(1)));
    format!(
        r#"version = 1
name = {name}
gate = {{ inside = {name}, outside = {outside}, up = "{rate}", down = "{rate}", overhead = 24, mpu = 84 }}

[[flow]]
name = "calls"
match = {{ inside = ["0.0.0.0/0", "::/0"], dscp = ["ef", "va", "cs5", "af41", "af42", "af43"] }}
each = "host"
reserve = "{share}"

[[flow]]
name = "hosts"
match = {{ inside = ["0.0.0.0/0", "::/0"] }}
each = "host"
within = "5-tuple"
reserve = "{share}"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_formats::GateFile;

    #[test]
    fn every_line_has_a_gate() {
        for rate in [1_000, 9_999, 10_000, 50_000_000, 123_456_789, 800_000_000_000] {
            let file = GateFile::parse(&text("lan0", "wan0.7", rate), "(command line)", &[]).unwrap();
            assert_eq!(
                (file.name.as_str(), file.inside.as_str(), file.outside.as_str()),
                ("lan0", "lan0", "wan0.7")
            );
            assert_eq!(file.rates.map(|rate| rate.bits_per_second().round() as u64), [rate; 2]);
        }
        assert!(GateFile::parse(&text("a\"b", "c", 1_000), "(command line)", &[]).is_ok());
    }
}
