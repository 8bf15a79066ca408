//! The gate file of a translation, and its list of circuits.

use super::classes::Class;
use super::devices::Circuit;
use crate::keys::gate::Within;
use crate::units::show_rate;
use std::fmt::Write;
use toml_edit::Value;

/// The line in front of which the gate is to stand.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Interface towards the circuits.
    pub inside: &'a str,
    /// Interface towards the rest of the world.
    pub outside: &'a str,
    /// Its rate in each direction, up first, in bit/s.
    pub rates: [u64; 2],
}

/// The gate file. Circuits have a flow each, and whatever belongs to none has the last one.
pub(super) fn gate(line: &Line<'_>, classes: &[Class], within: Within) -> String {
    let [up, down] = line.rates.map(show_rate);
    let within = match within {
        Within::HostFiveTuple => "host, 5-tuple",
        Within::TripleIsolate => "triple-isolate",
        Within::FiveTuple => "5-tuple",
        Within::None => "none",
    };
    let head = format!(
        "# Made from LibreQoS's files by `import`. A class is a node of the network, and its ceilings are what it\n\
         # carries. Circuits reserve their least rates.\n\
         version = 1\n\n\
         [gate]\n\
         inside = {}\n\
         outside = {}\n\
         up = \"{up}\"\n\
         down = \"{down}\"\n",
        text(line.inside),
        text(line.outside),
    );
    let classes = self::classes(classes);
    head + &classes
        + &format!(
            "\n[[flow]]\nname = \"circuits\"\ncircuits = \"circuits.csv\"\nwithin = \"{within}\"\n\n\
             [[flow]]\nname = \"others\"\n"
        )
}

/// The classes, each a `[[class]]`.
pub(super) fn classes(classes: &[Class]) -> String {
    let mut file = String::new();
    for class in classes {
        let _ = write!(file, "\n[[class]]\nname = {}", text(&class.name));
        // The class of a node's circuits is named after the node, and is not the node.
        if class.ceilings.is_some() && class.name != class.node {
            let _ = write!(file, "    # {}", class.node.replace(char::is_control, " "));
        }
        file.push('\n');
        if let Some(parent) = class.parent {
            let _ = writeln!(file, "parent = {}", text(&classes[parent].name));
        }
        if let Some([up, down]) = class.ceilings.map(|ceilings| ceilings.map(show_rate)) {
            let _ = writeln!(file, "up = {{ ceiling = \"{up}\" }}\ndown = {{ ceiling = \"{down}\" }}");
        }
    }
    file
}

fn text(text: &str) -> String {
    Value::from(text).to_string()
}

/// The list, in the order of the devices.
pub(super) fn circuits(circuits: &[Circuit], classes: &[Class], places: &[Option<usize>]) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let header = ["name", "class", "addresses", "up_reserve", "up_ceiling", "down_reserve", "down_ceiling"];
    let rate = |bits: u64| if bits == 0 { String::new() } else { show_rate(bits) };
    let rows = circuits.iter().zip(places).map(|(circuit, place)| {
        let addresses: Vec<String> = circuit.addresses.iter().map(ToString::to_string).collect();
        [
            circuit.name.clone(),
            place.map_or(String::new(), |class| classes[class].name.clone()),
            addresses.join(" "),
            rate(circuit.least[0]),
            rate(circuit.most[0]),
            rate(circuit.least[1]),
            rate(circuit.most[1]),
        ]
    });
    let all = std::iter::once(header.map(str::to_owned)).chain(rows);
    for row in all {
        // Nothing fails in memory.
        let _ = csv.write_record(row);
    }
    String::from_utf8(csv.into_inner().unwrap_or_default()).unwrap_or_default()
}
