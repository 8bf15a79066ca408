//! Mistakes and unknown keys are refused.

use crate::configurations::{Folder, RECORDED, import_of, losses, recorded, translated};

#[test]
fn a_key_that_is_not_known_is_refused() {
    let folder = Folder::new("unknown");
    for name in RECORDED {
        let texts = recorded(name);
        for (at, text) in texts.iter().enumerate().filter(|(_, text)| text.starts_with("[{")) {
            for (options, _) in text.match_indices("\"options\":{\"") {
                let mut other = texts.clone();
                other[at].insert_str(options + "\"options\":{".len(), "\"fancy\":1,");
                let made = import_of(&folder, &other, true);
                // A filter that is left out in any case may have any key.
                let Err(message) = made else { continue };
                assert!(message.contains("`fancy` is not known here"), "{message}");
            }
            for (entry, _) in text.match_indices("{\"kind\":\"") {
                let mut other = texts.clone();
                other[at].insert_str(entry + 1, "\"fancy\":1,");
                let message = import_of(&folder, &other, true).expect_err("an unknown key");
                assert!(message.contains("`fancy` is not known here"), "{message}");
            }
        }
    }
}

/// The one mistake of the office's files, with one text in place of another in one of them.
fn mistake(part: usize, from: &str, to: &str) -> String {
    let folder = Folder::new("mistakes");
    let mut texts = recorded("office");
    assert!(texts[part].contains(from), "{from}\n{}", texts[part]);
    texts[part] = texts[part].replacen(from, to, 1);
    import_of(&folder, &texts, true).map(|made| losses(&made)).expect_err(to)
}

#[test]
fn mistakes_are_refused_with_the_file_and_the_object() {
    for (part, from, to, expected) in [
        (0, "[{", "[{{", "qdisc.json:1:3: key must be a string"),
        (0, "[{\"kind\"", "{\"kind\"", "qdisc.json:1:"),
        (
            0,
            "\"kind\":\"htb\"",
            "\"kind\":\"hfsc\"",
            "qdisc.json: qdisc 1: `hfsc` at the root is not translated",
        ),
        (
            0,
            "\"kind\":\"fq_codel\"",
            "\"kind\":\"red\"",
            "qdisc.json: qdisc 30: a queue of `red` is not translated",
        ),
        (
            0,
            "\"parent\":\"1:20\"",
            "\"parent\":\"1:99\"",
            "qdisc.json: qdisc 20: its parent `1:99` is no class without",
        ),
        (0, "\"root\":true,", "", "no qdisc is at the root"),
        (
            0,
            "\"handle\":\"10:\",\"parent\":\"1:10\"",
            "\"handle\":\"10:\",\"root\":true",
            "another qdisc is at the root",
        ),
        (0, "\"default\":\"0x30\"", "\"default\":\"zz\"", "qdisc 1: `default` is not the number of a class"),
        (0, "\"limit\":50", "\"limit\":-1", "qdisc.json: qdisc 10: `limit` is not a whole number from 0 on"),
        (0, "\"limit\":50", "\"limit\":1.5", "qdisc.json: qdisc 10: `limit` is not a whole number from 0 on"),
        (0, "\"handle\":\"10:\",", "", ": this qdisc has no `handle`"),
        (
            0,
            "[{",
            "[{\"dev\":\"wan0\",\"kind\":\"pfifo\",\"handle\":\"9:\"},{\"dev\":\"lan0\",",
            "it is at `lan0`, and others are at `wan0`",
        ),
        (0, "\"r2q\":10", "\"fancy\":10", "qdisc.json: qdisc 1: `fancy` is not known here"),
        (1, "rate 1Mbit", "rate fast", "class.json: class 1:10: `rate` is not a rate, from 1bit to 10tbit"),
        (1, "rate 1Mbit", "rte 1Mbit", "class.json: class 1:10: `rate` or `ceil` is missing"),
        (1, "1:20 parent 1:1", "1:20 parent 1:7", "class.json: class 1:20: its parent `1:7` is not above it"),
        (
            1,
            "1:20 parent 1:1",
            "1:20 parent 1:20",
            "class.json: class 1:20: its parent `1:20` is not above it",
        ),
        (1, "1:20 parent", "1:10 parent", "class.json: class 1:10: it is listed twice"),
        (1, "prio 0", "prio 9", "class.json: class 1:10: `prio` (9) is not from 0 to 7"),
        (1, "\n", "\n Sent 0 bytes 0 pkt\n", "class.json: [1]: this line is not that of a class"),
        (
            2,
            "\"flowid\":\"1:10\"",
            "\"flowid\":\"1:11\"",
            "filter.json: filter of pref 1, u32 800::800: there is no class `1:11`",
        ),
        (
            2,
            "\"kind\":\"u32\",\"chain\":0,\"options\":{\"fh\":\"800::",
            "\"kind\":\"ematch\",\"chain\":0,\"options\":{\"fh\":\"800::",
            "`ematch` is not known here",
        ),
        (
            2,
            "\"mask\":\"ffff\"",
            "\"mask\":\"xyz\"",
            "u32 800::800: `mask` (`xyz`) is not a word in hexadecimal",
        ),
        (
            2,
            "\"options\":{\"fh\":\"800::800\",",
            "\"options\":{fh 800::800 order 2048 key ht 800 bkt 0 flowid 1:10 },\"x\":{",
            "is not known here",
        ),
    ] {
        let message = mistake(part, from, to);
        assert!(message.contains(expected), "{to}: {message}");
    }
    assert!(mistake(1, "class htb", "lass htb").contains("class.json:1:1: expected value"));
    let folder = Folder::new("more");
    for (from, to, expected) in [
        ("\"dst_port\":5060", "\"dst_port\":70000", "flower 1: `dst_port` is not a port"),
        ("\"vlan_id\":7", "\"vlan_id\":4096", "flower 1: `vlan_id` is not from 0 to 4095"),
        ("{\"start\":8000,\"end\":8010}", "{\"start\":8000,\"end\":7}", "`src_port` is not a range of ports"),
    ] {
        let [qdisc, class, filter] = recorded("flower");
        assert!(filter.contains(from), "{from}");
        let message = import_of(&folder, &[qdisc, class, filter.replacen(from, to, 1)], true).expect_err(to);
        assert!(message.contains(expected), "{to}: {message}");
    }
    let [qdisc, class, filter] = recorded("office");
    let none =
        import_of(&folder, &["[]".to_owned(), class.clone(), filter.clone()], true).expect_err("no root");
    assert!(
        none.contains("no qdisc is at the root\n  help: add the output of `tc -d -j qdisc show dev IF`"),
        "{none}"
    );
    let bare =
        import_of(&folder, &[qdisc.clone(), String::new(), filter.clone()], true).expect_err("no classes");
    assert!(
        bare.contains("qdisc 1: it has no classes\n  help: add the output of `tc -d -j class show"),
        "{bare}"
    );
    let other =
        translated(&folder, &[qdisc, class, filter], true, Some(9_000_000)).expect_err("another rate");
    assert!(other.contains("class 1:1: its rate is 9500kbit, and --up states 9mbit"), "{other}");
    for name in ["hfsc", "prio"] {
        let message = import_of(&folder, &recorded(name), true).expect_err("no counterpart");
        assert!(message.contains(&format!("`{name}` at the root is not translated")), "{message}");
    }
}

#[test]
fn damaged_files_are_refused_or_read_and_nothing_panics() {
    let folder = Folder::new("damaged");
    let (mut read, mut refused) = (0, 0);
    for name in RECORDED {
        let texts = recorded(name);
        for part in 0..3 {
            let length = texts[part].len();
            for at in (0..length).step_by(length / 60 + 1) {
                let damage = ["", "9", "-", "\"", "}"][at % 5];
                let mut other = texts.clone();
                other[part].replace_range(at..(at + 1 + at % 7).min(length), damage);
                match import_of(&folder, &other, at % 2 == 0) {
                    Ok(_) => read += 1,
                    Err(message) => {
                        assert!(!message.is_empty());
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(read > 20 && refused > 500, "{read} read, {refused} refused");
}
