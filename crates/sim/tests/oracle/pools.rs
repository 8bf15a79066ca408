//! Floods over one pool, beside flows with buckets and flows without: which port gives way, packet
//! by packet.

use crate::case;
use crate::generate::{Drawn, pick};
use tidegate_core::rng::Rng;
use tidegate_sim::network::Network;

/// A switch with two to four ports. Its pool is larger or smaller than the memory set aside in it.
fn drawn(rng: &mut Rng) -> Drawn {
    let mut text = format!(
        "version = 1\nduration = \"150ms\"\ntopology = {{ kind = \"nodes\" }}\nport = {{ scheduler = \"{}\" }}\n\
         switch = {{ buffer = \"{}\" }}\n[[node]]\nname = \"s\"\n",
        pick(rng, &["fifo", "virtual-clock", "strict-priority"]),
        pick(rng, &["20p", "50p", "90p", "12kB", "40kB", "70kB"]),
    );
    let ports = 2 + rng.below(3);
    for port in 0..ports {
        let rate = pick(rng, &["1mbit", "3mbit"]);
        text.push_str(&format!("[[node]]\nname = \"n{port}\"\n[[link]]\nfrom = \"s\"\nto = \"n{port}\"\n"));
        text.push_str(&format!("rate = \"{rate}\"\nduplex = false\n"));
    }
    for flow in 0..2 * ports {
        let mut keys = Vec::new();
        if rng.chance(0.7) {
            keys.push(format!("reserve = \"{}\"", pick(rng, &["50kbit", "300kbit"])));
            match rng.below(4) {
                0 => {}
                1 => keys.push("interval = \"250ms\"".to_owned()),
                _ => keys.push(format!("workahead = \"{}\"", pick(rng, &["2kB", "6kB", "20kB"]))),
            }
        }
        keys.push(format!("size = {}", pick(rng, &["\"500B\"", "[\"100B\", \"1500B\"]", "\"1kB\""])));
        let rate = pick(rng, &["200kbit", "4mbit", "9mbit"]);
        let source = pick(rng, &["cbr", "poisson"]);
        keys.push(format!("source = {{ kind = \"{source}\", rate = \"{rate}\" }}"));
        let to = flow % ports;
        text.push_str(&format!(
            "[[flow]]\nname = \"f{flow}\"\nfrom = \"s\"\nto = \"n{to}\"\n{}\n",
            keys.join("\n")
        ));
    }
    Drawn { text, files: Vec::new() }
}

/// Variant of the network in which no switch knows the sizes of packets, so that all reservations
/// count by rate.
fn by_rates(network: &Network) -> Network {
    let mut network = network.clone();
    network.flows.iter_mut().flat_map(|flow| &mut flow.plans).for_each(|plan| plan.sizes = None);
    network
}

#[test]
fn the_port_gives_way_that_the_model_says() {
    let (mut checked, mut differing) = (case::Checked::default(), 0);
    for seed in 0..crate::scenarios() / 2 {
        let drawn = drawn(&mut Rng::named(seed, "pools"));
        match case::check(&drawn) {
            Ok(Some(one)) => checked.add(&one),
            Ok(None) => continue,
            Err(what) => panic!("seed {seed}: {what}\n{}", case::shrunk(&drawn).text),
        }
        let network = case::network(&drawn, "pools").unwrap();
        let [known, unknown] = [&network, &by_rates(&network)].map(|network| case::logged(network).unwrap());
        differing += u64::from(known.fingerprint() != unknown.fingerprint());
    }
    let enough = crate::scenarios() / 3;
    assert!(checked.scenarios > enough && checked.model.pushed_out > 50 * enough, "{checked:?}");
    assert!(differing > enough / 2, "buckets made a difference {differing} times");
}
