//! Flows that cannot be sent as ATM cells are refused at `adaptation`.

use crate::check;
use crate::common::parse;

fn scenario(link: &str, traffic: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\nnode = [ {{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }} ]\n\
         link = [ {{ from = \"a\", to = \"b\", rate = \"10mbit\"{link} }}, {{ from = \"a\", to = \"c\", rate = \"10mbit\" }} ]\n\
         {traffic}from = \"a\"\nsize = \"500B\"\n"
    )
}

/// Keys of the link, the flow or connection, the place of `adaptation` in the file, and the
/// message.
const MISTAKES: &[(&str, &str, &str, &str, &str)] = &[
    (
        "",
        "[[flow]]\nname = \"f\"\nadaptation = \"aal5\"\nto = \"b\"\nsource = \"greedy\"\n",
        "7:14",
        "a greedy source counts what it has in its first queue, and would count cells",
        "leave out `adaptation`, and let `size` be that of a cell",
    ),
    (
        "",
        "[[flow]]\nname = \"f\"\nadaptation = \"aal5\"\nto = [\"b\", \"c\"]\nsource = { kind = \"cbr\", rate = \"1mbit\" }\n",
        "7:14",
        "a packet to several nodes is put together at none of them",
        "name one node in `to`",
    ),
    (
        ", reorder = 0.1, reorder_delay = \"1ms\"",
        "[[flow]]\nname = \"f\"\nadaptation = \"aal5\"\nto = \"b\"\nsource = { kind = \"cbr\", rate = \"1mbit\" }\n",
        "7:14",
        "cells come in order, and link a->b on the way reorders packets",
        "leave out its `reorder`",
    ),
    (
        "",
        "[[connection]]\nname = \"f\"\nadaptation = \"aal5\"\nto = \"b\"\ntransport = \"abr\"\n",
        "7:14",
        "`abr` sends cells, which are not cut again",
        "leave out `adaptation`, and let `size` be that of a cell",
    ),
];

/// Keys of a connection, the place of the mistake in the file, and the message.
const VCS: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "preparation = \"1ms\"",
        "9:15",
        "a host prepares packets that it cuts into cells, and these are not cut",
        Some("add `adaptation = \"aal5\"`"),
    ),
    (
        "vc = {}",
        "9:6",
        "a VC carries ATM cells, and the packets are not cut into cells",
        Some("add `adaptation = \"aal5\"`"),
    ),
    (
        "adaptation = \"aal5\"\nvc = { frame = \"1500B\" }",
        "10:8",
        "`vc` has no key `frame`",
        Some("it is one of pcr, mcr, icr, rif, rdf, cdf, nrm, crm, adtf, tcr"),
    ),
    (
        "adaptation = \"aal5\"\nvc = { icr = \"20mbit\" }",
        "10:14",
        "`icr` is above the rate of the first link (10000000bit/s)",
        None,
    ),
    (
        "adaptation = \"aal5\"\nvc = { mcr = \"2mbit\", icr = \"1mbit\" }",
        "10:14",
        "`mcr` is above `icr`",
        None,
    ),
];

#[test]
fn a_vc_carries_cells_that_are_cut() {
    for (keys, at, said, help) in VCS {
        let traffic = format!("[[connection]]\nname = \"f\"\nto = \"b\"\ntransport = \"tcp\"\n{keys}\n");
        check(&scenario("", &traffic), &[], &format!("a.toml:{at}: {said}"), *help);
    }
}

#[test]
fn what_cannot_go_as_cells_is_refused() {
    for (link, traffic, at, said, help) in MISTAKES {
        check(&scenario(link, traffic), &[], &format!("a.toml:{at}: {said}"), Some(help));
        if let Err(errors) = parse(&scenario("", &traffic.replace("aal5", "none")), &[]) {
            panic!("{errors}");
        }
    }
}

/// Buffers and credit apply to the cells or packets that links carry.
#[test]
fn links_carry_cells() {
    let traffic = "[[flow]]\nname = \"f\"\nadaptation = \"aal5\"\nto = \"b\"\nsource = { kind = \"cbr\", rate = \"1mbit\" }\n";
    let scenario = parse(&scenario("", traffic), &[]).unwrap();
    assert_eq!(scenario.groups[0].link_sizes(), [53]);
    assert_eq!(scenario.groups[0].sizes, [500]);
}
