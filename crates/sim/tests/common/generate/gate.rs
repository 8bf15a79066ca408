//! A gate's file: flows for the packets that the scenario's bring.

use super::policies::{classes, contract, ports};
use super::{Manner, pick};
use tidegate_core::rng::Rng;

pub(super) fn file(rng: &mut Rng, manner: Manner) -> String {
    let mut text =
        "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"2mbit\" }\n"
            .to_owned();
    text.push_str(&ports(rng, manner, "port"));
    let (classes, names) = classes(rng, manner);
    text.push_str(&classes);
    for (ix, matching) in ["dscp = 46", "protocol = \"udp\""].into_iter().enumerate() {
        let mut keys = vec![format!("name = \"g{ix}\"\nmatch = {{ {matching} }}")];
        contract(rng, manner, &mut keys);
        if !names.is_empty() && rng.chance(0.5) {
            keys.push(format!("class = \"{}\"", pick(rng, &[&names[0]])));
        }
        if rng.chance(0.3) {
            keys.push("each = \"5-tuple\"".to_owned());
        }
        text.push_str(&format!("[[flow]]\n{}\n", keys.join("\n")));
    }
    text
}
