use super::*;
use crate::GateFile;

const OFFICE: &str = r#"
version = 1
name = "branch"
[gate]
inside = "lan0"
outside = "wan0"
up = "10mbit"
down = "50mbit"
[control]
socket = "/run/branch.sock"
[[flow]]
name = "hosts"
each = "host"
"#;

fn outline() -> GateOutline {
    let [inside, outside] = ["lan0", "wan0"].map(|name| Some(name.to_owned()));
    GateOutline { name: "branch".into(), inside, outside, socket: Some("/run/branch.sock".into()) }
}

#[test]
fn a_file_without_mistakes_has_the_outline_of_its_gate() {
    assert_eq!(GateOutline::of(OFFICE, "office.toml"), outline());
    let plain = OFFICE.replace("name = \"branch\"\n", "").replace("socket = \"/run/branch.sock\"\n", "");
    let GateOutline { name, socket, .. } = GateOutline::of(&plain, "/etc/office.toml");
    assert_eq!((name, socket), (GateFile::parse(&plain, "/etc/office.toml", &[]).unwrap().name, None));
}

/// A change of any other line leaves the outline unchanged.
#[test]
fn a_mistake_hides_nothing_that_it_is_not_in() {
    let mistakes = [
        "reserve = \"1mbitt\"",
        "nonsense",
        "= 3",
        "a = [",
        "a = \"",
        "]",
        "a = {",
        "up = 1\nup = 2",
        "\u{7}",
        "a = \"\"\"\"",
        "each = 'host",
    ];
    for mistake in mistakes {
        for after in 1..=OFFICE.lines().count() {
            let mut lines: Vec<&str> = OFFICE.lines().collect();
            lines.insert(after, mistake);
            let text = lines.join("\n");
            assert!(GateFile::parse(&text, "office.toml", &[]).is_err(), "{text}");
            assert_eq!(GateOutline::of(&text, "office.toml"), outline(), "{text}");
        }
    }
}

#[test]
fn what_cannot_be_read_at_all_goes_by_the_files_name() {
    let GateOutline { name, inside, .. } = GateOutline::of("[[[", "/etc/office.toml");
    assert_eq!((name.as_str(), inside), ("office", None));
}
