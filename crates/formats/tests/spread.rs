//! Equal-cost multipath for each packet: the terms that need one path.

mod common;

use common::parse;

fn refused(text: &str, words: &str) {
    let found = parse(text, &[]).err().map(|errors| errors.to_string());
    assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
}

/// Two nodes with two links that have these keys, and a flow with these.
fn two_links(link: &str, flow: &str) -> String {
    let links = format!("[[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"10mbit\"\n{link}").repeat(2);
    format!(
        "version = 1\nduration = \"1s\"\nrouting = {{ kind = \"ecmp\", per = \"packet\" }}\n[[node]]\nname = \"a\"\n\
         [[node]]\nname = \"b\"\n{links}[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}"
    )
}

const CBR: &str = "size = \"48B\"\nsource = { kind = \"cbr\", rate = \"1mbit\" }\n";

#[test]
fn terms_that_hold_on_one_path_are_refused_on_several() {
    let several = "packets of `f` take several paths, and ";
    let refused = |link: &str, flow: &str, reason: &str| {
        refused(&two_links(link, &format!("{CBR}{flow}")), &format!("{several}{reason}"));
    };
    refused("", "reserve = \"2mbit\"\n", "its reservation is for one");
    let envelope = "envelope = { kind = \"token-bucket\", rate = \"1mbit\", burst = \"1kB\" }\n";
    refused("", envelope, "its envelope is in front of the first port of one");
    refused("", "adaptation = \"aal5\"\n", "ATM cells of one packet stay in order on one VC");
    assert!(parse(&two_links("", CBR), &[]).is_ok());
}

#[test]
fn flows_with_one_path_keep_their_terms() {
    // A stated route is one path, and so is that between neighbours.
    let text = two_links("", &format!("route = [\"a\", \"b\"]\n{CBR}reserve = \"2mbit\"\n"));
    let scenario = parse(&text, &[]).unwrap();
    assert!(scenario.groups[0].paths.is_none());
}

#[test]
fn paths_are_at_most_256() {
    let flow = format!("[[flow]]\nname = \"f\"\nfrom = \"h1\"\nto = \"h3\"\n{CBR}");
    let fabric = |spines: u32| {
        format!(
            "version = 1\nduration = \"1s\"\nrouting = {{ kind = \"ecmp\", per = \"packet\" }}\n\
             topology = {{ kind = \"leaf-spine\", leaves = 2, spines = {spines}, hosts = 2, rate = \"1gbit\" }}\n{flow}"
        )
    };
    let scenario = parse(&fabric(256), &[]).unwrap();
    assert_eq!(scenario.groups[0].paths.as_ref().unwrap().shares.len(), 256);
    refused(&fabric(257), "from h1 to h3 there are more than 256 shortest paths");
}

/// The load of a link is the part of the flow that takes it.
#[test]
fn a_link_is_offered_its_part() {
    let flow = "size = \"1000B\"\nsource = { kind = \"poisson\", rate = \"18mbit\" }\n";
    let warned = |text: &str| parse(text, &[]).unwrap().warnings().len();
    assert_eq!(warned(&two_links("", flow)), 0);
    assert_eq!(warned(&two_links("", &flow.replace("18", "22"))), 1);
}
