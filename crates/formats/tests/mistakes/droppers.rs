//! Mistakes in the settings of a dropper are reported at its key.

use crate::check;
use crate::common::parse;
use crate::policies::scenario;

/// Correct settings, an entry that replaces one of them (or is added), and the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    (RED, "min_th = \"16p\"", "`min_th` is above `max_th`"),
    (RED, "max_th = \"15kB\"", "`max_th` and `min_th` are not both in packets or both in bytes"),
    (RED, "max_p = 0", "`max_p` is not above 0"),
    (RED, "weight = 0", "`weight` is not above 0"),
    (RED, "limit = \"14p\"", "`limit` is below `max_th`"),
    (RIO, "min_out = \"10p\"", "`min_out` is above `max_out`"),
    (RIO, "min_in = \"21p\"", "`min_in` is above `max_in`"),
    (RIO, "max_out = \"9kB\"", "`max_out` and `min_in` are not both in packets or both in bytes"),
    (RIO, "max_p_in = 0", "`max_p_in` is not above 0"),
    (RIO, "max_p_out = 0", "`max_p_out` is not above 0"),
    (RIO, "limit = \"19p\"", "`limit` is below `max_in`"),
    (WRED, "min_yellow = \"21p\"", "`min_yellow` is above `max_yellow`"),
    (WRED, "max_red = \"10kB\"", "`max_red` and `min_green` are not both in packets or both in bytes"),
    (WRED, "max_p_green = 0", "`max_p_green` is not above 0"),
    (WRED, "limit = \"29p\"", "`limit` is below `max_green`"),
    (CODEL, "target = \"0s\"", "`target` is zero"),
    (CODEL, "interval = \"0s\"", "`interval` is zero"),
    (PIE, "target = \"0s\"", "`target` is zero"),
    (PIE, "update = \"0s\"", "`update` is zero"),
];

const RED: &str = "kind = \"red\", min_th = \"5p\", max_th = \"15p\", limit = \"40p\"";
const RIO: &str =
    "kind = \"rio\", min_in = \"10p\", max_in = \"20p\", min_out = \"3p\", max_out = \"9p\", limit = \"40p\"";
const WRED: &str = "kind = \"wred\", min_green = \"10p\", max_green = \"30p\", min_yellow = \"10p\", max_yellow = \"20p\", \
                    min_red = \"5p\", max_red = \"10p\", limit = \"40p\"";
const CODEL: &str = "kind = \"codel\"";
const PIE: &str = "kind = \"pie\"";

fn port(settings: &str) -> String {
    format!("port = {{ dropper = {{ {settings} }} }}\n")
}

#[test]
fn settings_do_not_contradict_each_other() {
    for (sound, entry, said) in MISTAKES {
        parse(&scenario(&port(sound)), &[]).unwrap();
        let (key, value) = entry.split_once(" = ").unwrap();
        let others = sound.split(", ").filter(|other| !other.starts_with(&format!("{key} = ")));
        let line = port(&format!("{}, {entry}", others.collect::<Vec<_>>().join(", ")));
        let at = line.rfind(value).unwrap() + 1;
        check(&scenario(&line), &[], &format!("a.toml:4:{at}: {said}"), None);
    }
}

/// A probability above one is outside its range.
#[test]
fn probabilities_are_numbers_up_to_one() {
    let line = port(&format!("{RED}, max_p = 1.1"));
    let said = parse(&scenario(&line), &[]).unwrap_err().to_string();
    assert!(said.contains("`max_p`"), "{said}");
    parse(&scenario(&port(&format!("{RED}, max_p = 1"))), &[]).unwrap();
}

/// Every dropper may guard the queue as a whole or each flow's own, at a port, in a class and from
/// the command line.
#[test]
fn a_scope_is_a_queue_or_a_flow() {
    use tidegate_core::switch::plan::Scope;
    for (settings, scope) in
        [("", Scope::Node), (", scope = \"queue\"", Scope::Node), (", scope = \"flow\"", Scope::Flow)]
    {
        for sound in [RED, RIO, WRED, CODEL, PIE] {
            let read = parse(&scenario(&port(&format!("{sound}{settings}"))), &[]).unwrap();
            assert_eq!(read.links[0].port.dropper.as_ref().map(|dropper| dropper.scope), Some(scope));
        }
    }
    let set = [("port.dropper.scope", "flow")];
    let read = parse(&scenario(&port(CODEL)), &set).unwrap();
    assert_eq!(read.links[0].port.dropper.as_ref().unwrap().scope, Scope::Flow);
    let said = parse(&scenario(&port("kind = \"codel\", scope = \"flows\"")), &[]).unwrap_err().to_string();
    assert!(said.contains("flows") && said.contains("`flow`"), "{said}");
}

/// Two connections over one link.
fn connections(dropper: &str, ecn: [&str; 2]) -> String {
    let connection = |name: &str, ecn: &str| {
        format!(
            "[[connection]]\nname = \"{name}\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1kB\"\n\
             transport = {{ kind = \"tcp\", stack = \"rfc\", ecn = \"{ecn}\" }}\ncolour = \"yellow\"\n"
        )
    };
    format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"1mbit\", access = {{}} }}\n\
         {}{}{}",
        port(dropper),
        connection("a", ecn[0]),
        connection("b", ecn[1])
    )
}

/// A dropper that is asked to mark gets a message where nothing can be marked. A mixture gets a
/// warning. A dropper that marks by default gets no message.
#[test]
fn marks_need_a_transport_that_answers_to_them() {
    let signal = |word: &str| format!(", signal = \"{word}\"");
    let [drop, mark, both] = ["drop", "mark", "mark-then-drop"].map(signal);
    let asked = [RED, RIO, WRED].iter().flat_map(|kind| [(*kind, &*mark), (*kind, &*both)]);
    let asked = asked.chain([(PIE, ", mark_below = 0.2")]);
    for (kind, keys) in asked {
        let with = |ecn| connections(&format!("{kind}{keys}"), ecn);
        assert_eq!(parse(&with(["on"; 2]), &[]).unwrap().warnings().len(), 0);
        let (key, value) = keys.trim_start_matches(", ").split_once(" = ").unwrap();
        let at = with(["off"; 2]).lines().nth(3).unwrap().rfind(value).unwrap() + 1;
        let message = format!(
            "a.toml:4:{at}: `{key}` asks for marks, and no connection here negotiates ECN: packets of `a` are dropped instead"
        );
        check(&with(["off"; 2]), &[], &message, Some("let its transport negotiate ECN, or leave marks out"));
    }
    let said = |dropper: &str, ecn| -> Vec<String> {
        let scenario = parse(&connections(dropper, ecn), &[]).unwrap();
        scenario.warnings().iter().map(ToString::to_string).collect()
    };
    for marks in [
        RED.to_owned(),
        format!("{RED}{mark}"),
        RIO.to_owned(),
        WRED.to_owned(),
        CODEL.to_owned(),
        PIE.to_owned(),
    ] {
        let warnings = said(&marks, ["off", "on"]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let expected = "a.toml:4:20: link s1->s2 marks packets of connection `b` and drops those of `a`, whose transport does not \
                        negotiate ECN";
        assert!(warnings[0].starts_with(expected), "{warnings:?}");
    }
    for quiet in [
        RED.to_owned(),
        CODEL.to_owned(),
        PIE.to_owned(),
        format!("{RED}{drop}"),
        format!("{PIE}, mark_below = 0"),
    ] {
        assert_eq!(said(&quiet, ["off"; 2]), [""; 0], "{quiet}");
    }
    for quiet in [
        format!("{RED}{drop}"),
        format!("{PIE}, mark_below = 0"),
        "kind = \"drop-tail\", limit = \"9p\"".to_owned(),
        "kind = \"coupled-pi2\"".to_owned(),
    ] {
        assert_eq!(said(&quiet, ["off", "on"]), [""; 0], "{quiet}");
    }
}
