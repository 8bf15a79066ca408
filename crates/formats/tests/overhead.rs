//! The keys of link-layer overhead, and what does not go with it.

mod common;

use common::parse;
use tidegate_core::link::Framing;

const LINK: &str = "version = 1\nduration = \"1s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\n\
                    to = \"b\"\nrate = \"10mbit\"\n";

fn refused(text: &str, words: &str) {
    let found = parse(text, &[]).err().map(|errors| errors.to_string());
    assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
}

#[test]
fn both_directions_of_a_link_have_it() {
    let flow =
        "[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1kB\"\nsource = { kind = \"greedy\" }\n";
    let scenario = parse(&format!("{LINK}overhead = -14\nmpu = 64\natm = true\n{flow}"), &[]).unwrap();
    let framings: Vec<Framing> = scenario.links.iter().map(|link| link.framing).collect();
    assert_eq!(framings, [Framing::new(-14, 64, true).unwrap(); 2]);
    refused(&format!("{LINK}overhead = 1025\n{flow}"), "`overhead`");
    refused(&format!("{LINK}mpu = -1\n{flow}"), "`mpu`");
}

#[test]
fn copies_of_a_packet_are_not_charged() {
    let text = format!(
        "{LINK}overhead = 24\n[[node]]\nname = \"c\"\n[[link]]\nfrom = \"a\"\nto = \"c\"\nrate = \"10mbit\"\n[[flow]]\nname = \"tv\"\n\
         from = \"a\"\nto = [\"b\", \"c\"]\nsize = \"1kB\"\nsource = {{ kind = \"cbr\", rate = \"1mbit\" }}\n"
    );
    refused(&text, "`tv` has several destinations, and link a->b has overhead");
}
