use super::*;

#[test]
fn a_suggestion_has_two_digits_and_some_room() {
    assert_eq!(
        [84_000.0, 96_000.0, 1.0, 0.0, 9_999_999.0].map(suggested),
        [89_000, 110_000, 2, 1, 11_000_000]
    );
}

#[test]
fn a_conversation_is_the_same_in_both_directions() {
    let flow = |text: &str| Key::Flow(text.parse().unwrap());
    let up = Conversation::of(flow("10.0.0.2:40000>192.0.2.1:5060/udp"), Direction::Up).unwrap();
    let down = Conversation::of(flow("192.0.2.1:5060>10.0.0.2:41000/udp"), Direction::Down).unwrap();
    assert_eq!(up, down);
    assert_eq!(up.name(), "udp-5060-10-0-0-2");
    assert_eq!(up.matching(), "inside = \"10.0.0.2\", protocol = \"udp\", outside_port = 5060");
    assert_eq!(Conversation::of(Key::Other, Direction::Up), None);
}

#[test]
fn the_file_is_written_with_the_suggestions() {
    let text = "version = 1 # mine\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }\n\
                [[flow]]\nname = \"voice\" # keep\nmatch = { outside_port = 9 }\nreserve = \"10kbit\"\n";
    let file = with_unmatched_flow(GateFile::parse(text, "x.toml", &[]).unwrap());
    let mut observer = Observer::default();
    observer.flows.insert((0, 0), Peak { bytes: 1, packets: 1, peak: 90_000.0 });
    let conversation = |port: u16| Key::Flow(format!("10.0.0.2:40000>192.0.2.1:{port}/tcp").parse().unwrap());
    observer.members.insert((0, 1, conversation(80)), Peak { bytes: 1, packets: 7, peak: 200_000.0 });
    observer.members.insert((0, 1, conversation(81)), Peak { bytes: 1, packets: 8, peak: 2_000_000.0 });
    let written = observer.file(&file, text, "x.toml", &[]);
    assert!(
        written.contains("version = 1 # mine") && written.contains("name = \"voice\" # keep"),
        "{written}"
    );
    let read = GateFile::parse(&written, "x.toml", &[]).unwrap();
    let reserved: Vec<_> =
        read.flows.iter().map(|flow| (flow.name.as_str(), flow.contract.reserve_bits())).collect();
    assert_eq!(reserved, [("voice", Some(95_000)), ("tcp-80-10-0-0-2", Some(210_000))]);
    // A flow that does not fit the link is left to the operator, as a comment.
    assert!(written.contains("# name = \"tcp-81-10-0-0-2\""), "{written}");
}
