//! Senders that ignore credit: they lose their own packets, and no other VC's.

use crate::outputs::{over_shares, receiver, rtt_and_bound};
use crate::{cases, network, run};
use tidegate_core::credit::params::Conduct;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_sim::packet_log::{Entry, PacketEvent};

/// Makes the sender of the first link with credit, and of all its VCs, ignore it.
fn ignoring(text: &str) -> String {
    text.replacen("allocation = \"receiver\"", "allocation = \"receiver\", sender = \"ignores\"", 1)
}

#[test]
fn a_sender_that_ignores_credit_loses_its_own_cells_and_nobody_elses() {
    let (mut losing, mut fair) = (0, 0);
    for seed in 0..cases() / 10 {
        let text = ignoring(&receiver(&mut Rng::named(seed, "misbehaving"), false));
        let network = network(&text);
        let world = run(&network, seed);
        let ignores = |flow: usize| network.flows[flow].route[0] == 0;
        let links = world.credit_links();
        assert_eq!(links[0].plan.sender, Conduct::Ignores);
        for (flow, record) in world.records().iter().enumerate() {
            assert!(record.dropped == 0 || ignores(flow), "seed {seed}, {flow}:\n{text}");
        }
        assert!(links[1..].iter().all(|link| link.dropped == 0), "seed {seed}:\n{text}");
        losing += u64::from(links[0].dropped > 0);
        assert!(world.stalls().iter().all(|stall| stall.link != 0));
        let over = over_shares(&network, &world);
        for output in world.credit_outputs() {
            assert!(output.queue_max <= u64::from(output.plan.adaptation.pool), "seed {seed}: {output:?}");
            if output.queue_max as f64 >= rtt_and_bound(&network, &output).1 {
                continue;
            }
            let port = output.port.unwrap() as usize;
            let passes = |flow: &usize| network.flows[*flow].route.contains(&port) && !ignores(*flow);
            let ends = |flow: usize| &network.nodes[network.links[network.flows[flow].route[2]].to].name;
            for flow in (0..over.len()).filter(passes).filter(|flow| ends(*flow).starts_with("fast")) {
                let name = &network.flows[flow].name;
                assert!(over[flow] > 0.9, "seed {seed}: {name} has {} of its share:\n{text}", over[flow]);
                fair += 1;
            }
        }
    }
    assert!(losing > cases() / 20 && fair > cases() / 20, "{losing} {fair}");
}

/// Two links into a port of 1 Mbit/s; the sender of the first one ignores credit, and the VC of the
/// second starts late.
const TWO: &str = "version = 1\nduration = \"8s\"\nport = { scheduler = \"round-robin\" }\n\
    node = [{ name = \"bad\" }, { name = \"good\" }, { name = \"rcv\" }, { name = \"out\" }]\n\
    link = [\n\
    { from = \"bad\", to = \"rcv\", rate = \"1mbit\", delay = \"20ms\", credit = { allocation = \"receiver\", \
    pool_per = \"output\", interval = \"200ms\", sender = \"ignores\" } },\n\
    { from = \"good\", to = \"rcv\", rate = \"1mbit\", delay = \"20ms\", credit = { allocation = \"receiver\", \
    pool_per = \"output\", interval = \"200ms\" } },\n\
    { from = \"rcv\", to = \"out\", rate = \"1mbit\" },\n\
    ]\n\
    flow = [\n\
    { name = \"bad\", from = \"bad\", to = \"out\", size = \"125B\", source = \"greedy\" },\n\
    { name = \"good\", from = \"good\", to = \"out\", size = \"125B\", source = \"greedy\", start = \"4s\" },\n\
    ]\n";

#[test]
fn it_is_policed_a_loop_delay_after_a_smaller_allocation() {
    let network = network(TWO);
    let world = run(&network, 1);
    let dropped = |entry: &&Entry| matches!(entry.what, PacketEvent::Dropped(..));
    let drops: Vec<Time> = world.log().iter().filter(dropped).map(|entry| entry.at).collect();
    // While its allocation stays the same, cells take the places of those that leave, every other
    // one. From when a smaller one is policed, each is dropped.
    let all =
        drops.windows(8).find(|drops| drops[7] <= drops[0] + Span::from_millis(7)).expect("it is given less");
    let interval = Span::from_millis(200).ticks();
    let command = Span::from_ticks(all[0].since(Time::ORIGIN).ticks() / interval * interval);
    // 20 ms each way, the cell, the credit cell, and a packet that has just started.
    let policed = all[0].since(Time::ORIGIN + command);
    assert!((Span::from_millis(43)..=Span::from_millis(45)).contains(&policed), "{command:?} {policed:?}");
    let good = &world.records()[1];
    assert_eq!(good.dropped, 0);
    assert!(good.received.0 > 1500, "{:?}", good.received);
}
