//! Scenarios beyond what a computer can hold or resolve are refused; unusual settings get a
//! warning.

mod common;

use common::parse;

const HEAD: &str = r#"version = 1
duration = "10s"
topology = { kind = "chain", switches = 3, rate = "10mbit" }
"#;

/// A flow across the chain, with more keys.
fn flow(name: &str, keys: &str) -> String {
    let ends = r#"from = "s1", to = "s3", size = "1000B""#;
    format!("[[flow]]\nname = \"{name}\"\n{}\n{keys}\n", ends.replace(", ", "\n"))
}

fn cbr(name: &str, rate: &str, keys: &str) -> String {
    flow(name, &format!("source = {{ kind = \"cbr\", rate = \"{rate}\" }}\n{keys}"))
}

fn warnings(head: &str, flows: &[String]) -> Vec<String> {
    let scenario = parse(&format!("{HEAD}{head}{}", flows.concat()), &[]).unwrap();
    scenario.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn flows_that_memory_cannot_hold_are_refused_by_their_number_and_their_links() {
    let accepts =
        |count: u32| parse(&format!("{HEAD}{}", cbr("a", "1bit", &format!("count = {count}"))), &[]);
    // 800 bytes each, and 400 for each of two links.
    assert!(accepts(2_500_000).is_ok());
    let errors = accepts(2_500_001).unwrap_err().to_string();
    assert!(errors.contains("2500001 flows, which pass 5000002 links in all: some 4.0 GB"), "{errors}");
}

#[test]
fn as_many_classes_as_a_port_cannot_have_are_refused() {
    let class = |nth: usize| format!("[[class]]\nname = \"c{nth}\"\nscheduler = \"fifo\"\n");
    let classes: String = (0..70_000).map(class).collect();
    let errors = parse(&format!("{HEAD}{classes}"), &[]).unwrap_err().to_string();
    assert!(errors.starts_with("a.toml:196606:1: there are more than 65534 classes"), "{errors}");
}

#[test]
fn an_overload_without_a_limit_is_warned_of() {
    let (slow, fast) = (cbr("a", "6mbit", ""), cbr("b", "5mbit", ""));
    let both = [slow.clone(), fast.clone()];
    let found = warnings("", &both);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("a.toml:4:1: link s1->s2 carries 10mbit, and is offered 11mbit"),
        "{found:?}"
    );
    // Not beside each other, with a limit, or with a dropper.
    let later = cbr("b", "5mbit", "start = \"5s\"");
    assert!(warnings("", &[cbr("a", "6mbit", "stop = \"5s\""), later.clone()]).is_empty());
    assert!(warnings("", &[cbr("a", "6mbit", "stop = \"6s\""), later])[0].contains("from 5s on"));
    assert!(warnings("switch = { buffer = \"100p\" }\n", &both).is_empty());
    let dropper = "port = { dropper = { kind = \"drop-tail\", limit = \"100p\" } }\n";
    assert!(warnings(dropper, &both).is_empty());
    assert!(warnings("", &[slow, cbr("b", "4mbit", "")]).is_empty());
}

#[test]
fn a_ceiling_that_may_own_the_memory_is_warned_of() {
    let capped = [cbr("a", "1mbit", "ceiling = \"100kbit\"")];
    let shares = "switch = { buffer = \"100p\" }\n";
    let longest = "switch = { buffer = \"100p\", push_out = \"longest-queue\" }\n";
    assert!(warnings(shares, &capped).is_empty());
    assert!(warnings(longest, &capped)[0].contains("the ceiling of flow `a` may fill the pool"));
    assert!(warnings(longest, &[cbr("a", "1mbit", "")]).is_empty());
    let guarded = "port = { dropper = { kind = \"drop-tail\", limit = \"100p\" } }\n";
    assert!(warnings(guarded, &capped)[0].contains("that the port's dropper guards"));
    let class = "[[class]]\nname = \"c\"\nscheduler = \"fifo\"\nceiling = \"100kbit\"\n";
    let inside = [cbr("a", "1mbit", "class = \"c\""), class.to_owned()];
    assert!(warnings(longest, &inside)[0].contains("the ceiling of class `c` may fill the pool"));
}
