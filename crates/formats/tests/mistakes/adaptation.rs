//! Flows that cannot be sent as ATM cells are refused at `adaptation`.

use crate::check;
use crate::common::parse;

pub fn scenario(link: &str, traffic: &str) -> String {
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
];

#[test]
fn a_host_prepares_packets_that_it_cuts() {
    let traffic = "[[connection]]\nname = \"f\"\nto = \"b\"\ntransport = \"tcp\"\npreparation = \"1ms\"\n";
    check(
        &scenario("", traffic),
        &[],
        "a.toml:9:15: a host prepares packets that it cuts into cells, and these are not cut",
        Some("add `adaptation = \"aal5\"`"),
    );
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

/// Buffers apply to the cells or packets that links carry.
#[test]
fn links_carry_cells() {
    let traffic = "[[flow]]\nname = \"f\"\nadaptation = \"aal5\"\nto = \"b\"\nsource = { kind = \"cbr\", rate = \"1mbit\" }\n";
    let scenario = parse(&scenario("", traffic), &[]).unwrap();
    assert_eq!(scenario.groups[0].link_sizes(), [53]);
    assert_eq!(scenario.groups[0].sizes, [500]);
}
