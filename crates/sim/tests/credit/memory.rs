//! VCs without credit in the memory of a switch with credit: VCs with credit lose nothing, whatever
//! the others send.

use crate::{cases, check_receivers, network, run};
use std::fmt::Write;
use tidegate_core::rng::Rng;
use tidegate_sim::packet_log::PacketEvent;

/// A switch in the middle, with this memory, into which links with and without credit lead, and a
/// link out of it.
fn scenario(rng: &mut Rng) -> (String, u64) {
    let mut text = String::from("version = 1\nduration = \"500ms\"\n");
    let (with, without) = (1 + rng.below(3), 1 + rng.below(4));
    let buffer = 20 + rng.below(20);
    let credit = match rng.below(3) {
        0 => format!("n2 = 2, buffer = {buffer}"),
        1 => format!("allocation = \"receiver\", pool = {buffer}"),
        _ => format!("allocation = \"sender\", pool = {buffer}"),
    };
    // Each link with credit has one or two VCs.
    let vcs: Vec<u64> = (0..with).map(|_| 1 + rng.below(2)).collect();
    let is_static = credit.starts_with("n2");
    let memory: u64 = vcs.iter().map(|vcs| if is_static { vcs * buffer } else { buffer }).sum();
    let local = rng.below(2);
    let share = 1 + rng.below(12);
    let total = memory + (without + local) * share + rng.below(without + local);
    writeln!(text, "[[node]]\nname = \"m\"\nbuffer = \"{total}p\"").unwrap();
    let scheduler = ["round-robin", "fifo", "drr"][rng.below(3) as usize];
    let out = 1 + rng.below(4);
    writeln!(text, "[[node]]\nname = \"out\"\n[[link]]\nfrom = \"m\"\nto = \"out\"\nrate = \"{out}mbit\"\nscheduler = \"{scheduler}\"").unwrap();
    for (host, vcs) in vcs.iter().enumerate() {
        writeln!(
            text,
            "[[node]]\nname = \"c{host}\"\n[[link]]\nfrom = \"c{host}\"\nto = \"m\"\nrate = \"10mbit\"\ndelay = \"{}us\"\n\
             scheduler = \"round-robin\"\ncredit = {{ cell = \"250B\", {credit} }}\n[[flow]]\nname = \"controlled{host}\"\n\
             count = {vcs}\nfrom = \"c{host}\"\nto = \"out\"\nsize = \"250B\"\nsource = \"greedy\"",
            rng.below(500)
        )
        .unwrap();
    }
    for host in 0..without {
        let source = match rng.below(3) {
            0 => "\"greedy\"".to_owned(),
            1 => "{ kind = \"on-off\", rate = \"3mbit\", peak = \"10mbit\", burst = 50 }".to_owned(),
            _ => format!("{{ kind = \"poisson\", rate = \"{}kbit\" }}", 100 + rng.below(8000)),
        };
        writeln!(
            text,
            "[[node]]\nname = \"u{host}\"\n[[link]]\nfrom = \"u{host}\"\nto = \"m\"\nrate = \"10mbit\"\n[[flow]]\n\
             name = \"uncontrolled{host}\"\nfrom = \"u{host}\"\nto = \"out\"\nsize = [\"50B\", \"1500B\"]\nsource = {source}"
        )
        .unwrap();
    }
    for flow in 0..local {
        writeln!(
            text,
            "[[flow]]\nname = \"uncontrolled-local{flow}\"\nfrom = \"m\"\nto = \"out\"\nsize = \"100B\"\n\
             source = {{ kind = \"cbr\", rate = \"9mbit\" }}"
        )
        .unwrap();
    }
    (text, share)
}

#[test]
fn vcs_with_credit_lose_nothing_whatever_the_others_send() {
    let (mut dropped, mut beside) = (0, 0);
    for seed in 0..cases() {
        let (text, share) = scenario(&mut Rng::named(seed, "shared memory"));
        let network = network(&text);
        let world = run(&network, seed);
        let what = format!("seed {seed}:\n{text}");
        check_receivers(&world, &what);
        // Packets of each flow at m, as the log has them.
        let into = |link: u32| network.links[link as usize].to == 0;
        let mut at_m = vec![0_u64; network.flows.len()];
        for entry in world.log() {
            match entry.what {
                PacketEvent::Arrived { packet, .. } if network.links[entry.link as usize].from == 0 => {
                    let flow = packet.flow as usize;
                    at_m[flow] += 1;
                    let free = network.flows[flow].name.starts_with("uncontrolled");
                    assert!(!free || at_m[flow] <= share + 1, "{what}");
                }
                PacketEvent::Departed(packet) if network.links[entry.link as usize].from == 0 => {
                    at_m[packet.flow as usize] -= 1;
                }
                PacketEvent::Dropped(packet, _) => {
                    let flow = &network.flows[packet.flow as usize];
                    assert!(flow.name.starts_with("uncontrolled"), "{}, {what}", flow.name);
                    assert!(into(entry.link) || at_m[packet.flow as usize] >= share, "{what}");
                    dropped += 1;
                    beside += u64::from(at_m[packet.flow as usize] >= share);
                }
                _ => {}
            }
        }
    }
    // A packet is discarded only where its VC has used its share.
    assert!(dropped > 100 * cases() && beside == dropped, "{beside} of {dropped}");
}
