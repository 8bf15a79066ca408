//! Mistakes in a link's credit are reported at its key.

use crate::check;
use crate::common::parse;
use tidegate_formats::CreditSpec;

/// A link from a to b with these keys and credit with those, and a flow over it.
fn scenario(link: &str, credit: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\nnode = [ {{ name = \"a\" }}, {{ name = \"b\" }} ]\n\
         [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\ndelay = \"10ms\"\n{link}credit = {{ {credit} }}\n\
         [[flow]]\nname = \"f\"\ncount = 8\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\nsource = \"greedy\"\n"
    )
}

const DEADLOCK: &str = "a VC with 3 cells and N2 = 4 deadlocks: its sender has used all credit before 4 cells can be forwarded, and only then would the \
                        receiver send a credit record; Buf_Alloc must be at least N2";

/// Keys of credit, the value with the mistake, and the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("buffer = 3, n2 = 4", "3,", DEADLOCK),
    ("pool = 20", "20", "`pool` is for adaptive allocation, and `allocation` is static"),
    ("interval = \"1s\"", "\"1s\"", "`interval` is for adaptive allocation, and `allocation` is static"),
    (
        "allocation = \"sender\", buffer = 8",
        "8",
        "`buffer` is what static allocation gives each VC; adaptive allocation divides `pool`",
    ),
    (
        "allocation = \"sender\", divided = 0.5",
        "0.5",
        "`divided` is for the receiver's allocation: the sender divides all of the pool",
    ),
    ("allocation = \"receiver\", divided = 0.0", "0.0", "`divided` is 0: no VC would be given anything"),
    (
        "protocol = \"incremental\", check = \"1s\"",
        "\"1s\"",
        "`check` makes good what was lost by the running counts of `protocol = \"cup\"`, which incremental credits do not have",
    ),
    (
        "protocol = \"incremental\", repeats = 2",
        "2",
        "`repeats` is for the running counts of `protocol = \"cup\"`: incremental credits that come twice count twice",
    ),
    (
        "allocation = \"receiver\", pool = 7",
        "7",
        "a pool of 7 packets has less than a place for each of 8 VCs on link a->b",
    ),
    (
        "allocation = \"sender\", n2 = 3, pool = 20",
        "20",
        "a pool of 20 packets has less than N2 = 3 places for each of 8 VCs on link a->b",
    ),
    (
        "allocation = \"sender\", pool_per = \"output\"",
        "\"output\"",
        "pools of output ports are divided by the receiver, which alone sees the VCs of all links: `allocation = \"receiver\"`",
    ),
    (
        "allocation = \"receiver\", per = \"link\", pool_per = \"output\"",
        "\"output\"",
        "one VC for all flows of a link cannot leave by several output ports",
    ),
    (
        "allocation = \"receiver\", pool_per = \"output\", pool = 7",
        "7",
        "a pool of 7 packets has less than a place for each of 8 VCs for the VCs that end after link a->b",
    ),
    (
        // 20 ms of propagation, and the cell, the credit cell, another cell and a second credit
        // cell at 8 ms each.
        "allocation = \"receiver\", interval = \"51ms\"",
        "\"51ms\"",
        "`interval` is shorter than the 0.052000 s that a credit record may take to have its effect on link a->b",
    ),
];

#[test]
fn keys_do_not_contradict_each_other_and_fit_the_link() {
    for (credit, value, said) in MISTAKES {
        let text = scenario("", credit);
        let at = text.lines().nth(8).unwrap().rfind(value).unwrap() + 1;
        check(&text, &[], &format!("a.toml:9:{at}: {said}"), None);
    }
    for good in ["", "buffer = 4, n2 = 4", "allocation = \"receiver\", interval = \"52ms\"", "per = \"link\""]
    {
        parse(&scenario("", good), &[]).unwrap();
    }
}

#[test]
fn credit_cells_have_a_way_back_and_cells_come_in_order() {
    let mut one_way = scenario("duplex = false\n", "");
    check(
        &one_way,
        &[],
        "a.toml:10:10: link a->b has credit, and there is no link back for its credit cells",
        Some("make the link duplex, or add one in the other direction"),
    );
    one_way.push_str("[[link]]\nfrom = \"b\"\nto = \"a\"\nrate = \"1mbit\"\nduplex = false\n");
    parse(&one_way, &[]).unwrap();
    check(
        &scenario("reorder = 0.1\nreorder_delay = \"1ms\"\n", ""),
        &[],
        "a.toml:11:10: link a->b has credit and reorders packets, which would count as lost",
        Some("leave out `reorder`: the cells of a VC come in order"),
    );
}

#[test]
fn flows_that_are_set_up_have_credit_each() {
    let text = scenario("", "per = \"link\"");
    let line = text.lines().nth(8).unwrap();
    let at = line.find("\"link\"").unwrap() + 1;
    check(
        &text
            .replace("size =", "reserve = \"10kbit\"\nsize =")
            .replace("node = [", "admission = {}\nnode = ["),
        &[],
        &format!(
            "a.toml:10:{at}: flows that are set up by signalling have credit each, and not as one VC of their link"
        ),
        Some("leave out `per`, or `admission`"),
    );
}

#[test]
fn every_port_may_have_credit_and_a_link_of_its_own() {
    let text = "version = 1\nduration = \"1s\"\n\
                topology = { kind = \"dumbbell\", pairs = 1, rate = \"1mbit\", delay = \"1ms\" }\n\
                port = { credit = { buffer = 20 } }\nhost = { credit = {} }\n\
                [[flow]]\nname = \"f\"\nfrom = \"l1\"\nto = \"r1\"\nsize = \"1kB\"\nsource = \"greedy\"\n";
    let scenario = parse(text, &[]).unwrap();
    assert!(scenario.links.iter().all(|link| link.port.stage_terms.get::<CreditSpec>().is_some()));
    check(
        &text.replace("buffer = 20", "bufer = 20"),
        &[],
        "a.toml:4:21: `credit` has no key `bufer`",
        Some("did you mean `buffer`?"),
    );
}

/// Switches s1 to s4 in a row, whose first link has this credit, and the second one these keys; a
/// flow from end to end.
fn virtual_link(credit: &str, second: &str) -> String {
    let mut text = "version = 1\nduration = \"1s\"\n".to_owned();
    (1..=4).for_each(|node| text.push_str(&format!("[[node]]\nname = \"s{node}\"\n")));
    let mut link = |from: u32, to: u32, keys: &str| {
        let wire = "rate = \"1mbit\"\ndelay = \"10ms\"\nduplex = false";
        text.push_str(&format!("[[link]]\nfrom = \"s{from}\"\nto = \"s{to}\"\n{wire}\n{keys}\n"));
    };
    link(1, 2, &format!("credit = {{ {credit} }}"));
    link(2, 3, second);
    link(3, 4, "");
    (1..=3).for_each(|node| link(node + 1, node, ""));
    text + "[[flow]]\nname = \"f\"\nfrom = \"s1\"\nto = \"s4\"\nsize = \"1kB\"\nsource = \"greedy\"\n"
}

#[test]
fn a_virtual_link_has_a_receiver_that_all_its_flows_pass_in_order() {
    let credit = "a.toml:17:";
    for (keys, second, at, said, help) in [
        ("to = \"s5\"", "", "17", "there is no node `s5`", "did you mean `s1`? it is one of s1, s2, s3, s4"),
        (
            "to = \"s1\"",
            "",
            "17",
            "`f` does not pass node `s1` after link s1->s2",
            "every flow on a virtual link passes its receiver; make the two directions links of their own \
             (`duplex = false`) where only one has credit",
        ),
        ("to = \"s2\"", "", "17", "link s1->s2 itself ends at node `s2`", "leave out `to`"),
        (
            "to = \"s3\", per = \"link\"",
            "",
            "29",
            "link s1->s2 has one VC for all flows, and they do not keep their order over switches",
            "leave out `per`: on a virtual link each flow is a VC",
        ),
        (
            "to = \"s3\"",
            "credit = {}",
            "17",
            "link s2->s3 has credit, and is part of the virtual link from s1->s2",
            "let the virtual link end at `s2`",
        ),
        (
            "to = \"s3\"",
            "reorder = 0.1\nreorder_delay = \"1ms\"",
            "10",
            "link s2->s3 has credit and reorders packets, which would count as lost",
            "leave out `reorder`: the cells of a VC come in order",
        ),
    ] {
        check(&virtual_link(keys, second), &[], &format!("{credit}{at}: {said}"), Some(help));
    }
    parse(&virtual_link("to = \"s4\", queueing = \"5ms\"", ""), &[]).unwrap();
    check(
        &virtual_link("queueing = \"5ms\"", ""),
        &[],
        "a.toml:17:23: link s1->s2 has `queueing`, which is for virtual links",
        Some("state `to`, or leave out `queueing`"),
    );
}

/// Links from u0 and u1 to s with this credit, and a flow over each to `to`, behind s.
fn output_pools(credit: [&str; 2], to: &str) -> String {
    let mut text = "version = 1\nduration = \"1s\"\n".to_owned();
    ["u0", "u1", "s", "x", "y"]
        .iter()
        .for_each(|node| text.push_str(&format!("[[node]]\nname = \"{node}\"\n")));
    ["x", "y"].iter().for_each(|node| {
        text.push_str(&format!("[[link]]\nfrom = \"s\"\nto = \"{node}\"\nrate = \"1mbit\"\n"));
    });
    for (up, credit) in credit.iter().enumerate() {
        let keys = format!("allocation = \"receiver\", pool_per = \"output\"{credit}");
        text.push_str(&format!(
            "[[link]]\nfrom = \"u{up}\"\nto = \"s\"\nrate = \"1mbit\"\ncredit = {{ {keys} }}\n\
             [[flow]]\nname = \"f{up}\"\nfrom = \"u{up}\"\nto = {to}\nsize = \"1kB\"\nsource = \"greedy\"\n"
        ));
    }
    text
}

#[test]
fn links_that_share_a_pool_agree_on_it() {
    parse(&output_pools([", pool = 30", ", pool = 30, check = \"1s\""], "\"x\""), &[]).unwrap();
    for (keys, at, key) in [
        (", pool = 31", 65, "pool"),
        (", pool = 30, n2 = 2", 74, "n2"),
        (", pool = 30, interval = \"5s\"", 80, "interval"),
        (", pool = 30, divided = 0.4", 79, "divided"),
    ] {
        check(
            &output_pools([", pool = 30", keys], "\"x\""),
            &[],
            &format!(
                "a.toml:36:{at}: links u0->s and u1->s share pools at output ports, and state different `{key}`"
            ),
            None,
        );
    }
    check(
        &output_pools([", pool = 1", ", pool = 1"], "\"x\""),
        &[],
        "a.toml:25:65: a pool of 1 packets has less than a place for each of 2 VCs at the output port of link s->x",
        None,
    );
    check(
        &output_pools(["", ""], "[\"x\", \"y\"]"),
        &[],
        "a.toml:25:48: `f0` is a multicast flow, and link u0->s has pools of output ports",
        Some("leave out `pool_per`: its packets leave by several ports"),
    );
}

#[test]
fn a_shared_memory_has_room_for_the_pools_of_its_ports() {
    let text = |buffer: &str| {
        output_pools([", pool = 30", ", pool = 30"], "\"x\"")
            .replace("name = \"s\"\n", &format!("name = \"s\"\nbuffer = \"{buffer}\"\n"))
    };
    parse(&text("30p"), &[]).unwrap();
    check(
        &text("29p"),
        &[],
        "a.toml:7:1: `s` has memory for 29 packets and needs 30: 30 for VCs with credit, 0 for flows without credit",
        Some("set `buffer` to at least 30p"),
    );
}

#[test]
fn a_shared_memory_has_room_for_credit_and_the_others() {
    let text = |buffer: &str| {
        scenario("", "buffer = 12, n2 = 2")
            .replace("{ name = \"b\" } ]", &format!("{{ name = \"b\", buffer = {buffer} }} ]"))
            + "[[flow]]\nname = \"back\"\nfrom = \"b\"\nto = \"a\"\nroute = [\"b\", \"a\"]\nsize = \"1kB\"\nsource = \"greedy\"\n"
    };
    parse(&text("\"97p\""), &[]).unwrap();
    check(
        &text("\"96p\""),
        &[],
        "a.toml:3:26: `b` has memory for 96 packets and needs 97: 96 for VCs with credit, 1 for flows without credit",
        Some("set `buffer` to at least 97p"),
    );
    check(
        &text("\"1MB\""),
        &[],
        "a.toml:3:26: the `buffer` of `b` is in bytes, and credit counts packets there",
        Some("state it in packets, as in buffer = \"500p\""),
    );
}

/// Credit counts cells, and overhead would make them longer.
#[test]
fn a_link_with_credit_has_no_overhead() {
    let errors = parse(&scenario("overhead = 24\n", ""), &[]).unwrap_err().to_string();
    assert!(errors.contains("link a->b carries cells of credit and has overhead"), "{errors}");
}

/// Packets of a flow that take several paths have no VC.
#[test]
fn vcs_have_one_path() {
    let routing = "routing = { kind = \"ecmp\", per = \"packet\" }\n[[link]]";
    let second = "[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\ndelay = \"10ms\"\ncredit = {}\n";
    let text = scenario("", "").replacen("[[link]]", routing, 1) + second;
    let errors = parse(&text, &[]).unwrap_err().to_string();
    assert!(errors.contains("has terms of VCs"), "{errors}");
}
