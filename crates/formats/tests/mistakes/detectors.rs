//! Mistakes in a detector are reported at its key.

use crate::check;
use crate::common::parse;
use crate::policies::scenario;
use tidegate_formats::GateFile;

const DROPPER: &str = "dropper = { kind = \"drop-tail\", limit = \"40p\" }";

/// Settings, the one with the mistake, and the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("window = \"0s\"", "\"0s\"", "`window` is zero"),
    ("interval = \"0s\"", "\"0s\"", "`interval` is zero"),
    ("window = \"10ms\", interval = \"11ms\"", "\"11ms\"", "`interval` is longer than `window`"),
    ("release_after = \"399ms\"", "\"399ms\"", "`release_after` is shorter than `window`"),
    ("share = 0", "0", "`share` is zero: it would count against every flow"),
    ("persistence = 0.0", "0.0", "`persistence` is zero: it would count against every flow"),
];

const OUT_OF_RANGE: &[(&str, &str, &str, &str)] = &[
    ("share = 1.1", "1.1", "`share`: 1.1 is out of range", "it takes a number from 0 to 1"),
    ("windows = 0", "0", "`windows`: 0 is out of range", "it takes a whole number from 1 to 1000"),
];

fn port(settings: &str) -> String {
    format!("port = {{ {DROPPER}, detector = {{ {settings} }} }}\n")
}

#[test]
fn settings_do_not_contradict_each_other() {
    let said_at = |settings: &str, value: &str, said: &str, help| {
        let line = port(settings);
        let at = line.rfind(value).unwrap() + 1;
        check(&scenario(&line), &[], &format!("a.toml:4:{at}: {said}"), help);
    };
    MISTAKES.iter().for_each(|(settings, value, said)| said_at(settings, value, said, None));
    for (settings, value, said, help) in OUT_OF_RANGE {
        said_at(settings, value, said, Some(help));
    }
    parse(&scenario(&port("kind = \"drop-history\", share = 1, persistence = 1")), &[]).unwrap();
}

/// A detector sees the drops of the dropper at the same place: a port, a link, a class, or a gate's
/// file.
#[test]
fn a_detector_has_a_dropper() {
    let help = Some("add a `dropper` beside it");
    let said = "a detector looks at the drops of a dropper, and there is none on link s1->s2";
    check(&scenario("port = { detector = \"drop-history\" }\n"), &[], &format!("a.toml:4:21: {said}"), help);
    let class = "class = [ { name = \"a\", scheduler = \"fifo\", detector = {} } ]\n";
    let with_class = scenario(&format!("port = {{ {DROPPER} }}\n{class}"));
    check(&with_class, &[], &format!("a.toml:5:56: {said}"), help);
    parse(&scenario(&format!("port = {{ {DROPPER} }}\n")), &[("port.detector", "drop-history")]).unwrap();

    let gate = |port: &str| {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"1mbit\" }}\n{port}\
             flow = [ {{ name = \"x\" }} ]\n"
        );
        GateFile::parse(&text, "g.toml", &[]).map_err(|errors| errors.errors[0].to_string())
    };
    gate(&port("drops = \"all\"")).unwrap();
    let found = gate("port = { detector = \"drop-history\" }\n").unwrap_err();
    let expected = "g.toml:3:21: a detector looks at the drops of a dropper, and there is none at its port";
    assert!(found.starts_with(expected), "{found}");
}

/// A detector of drops out of profile finds nothing where no packet is out of profile.
#[test]
fn out_of_profile_is_what_a_meter_says() {
    let warnings = |detector: &str, host: &str| {
        let text = format!(
            "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"dumbbell\", pairs = 1, rate = \"1mbit\" }}\n{}{host}\
             [[flow]]\nname = \"f\"\nfrom = \"l1\"\nto = \"r1\"\nsize = \"1kB\"\n\
             source = {{ kind = \"cbr\", rate = \"500kbit\" }}\n",
            port(detector)
        );
        let scenario = parse(&text, &[]).unwrap();
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let tagged = "host = { meter = { kind = \"tsw-tagger\", window = \"1s\" } }\n";
    assert_eq!(warnings("", tagged), [""; 0]);
    assert_eq!(warnings("drops = \"all\"", ""), [""; 0]);
    let found = warnings("drops = \"out\"", "");
    assert_eq!(found.len(), 1, "{found:?}");
    let said = "a.toml:4:80: the detector of link left->right looks at drops of packets out of profile, and no meter \
                colours what passes there: it finds nothing";
    assert!(found[0].starts_with(said), "{found:?}");
}
