//! Everything that `tc` shows becomes a part of a gate file, is listed, or is refused.

mod configurations;
mod mistakes;
mod traces;

use configurations::{Folder, PARTS, RECORDED, import_of, losses, recorded, runs, told};
use std::fs;
use std::path::PathBuf;
use tidegate_core::classifier::rules::Direction;
use tidegate_formats::tc::{Line, import};
use tidegate_formats::{Promise, Within};

#[test]
fn every_recorded_configuration_becomes_a_gate_that_can_run_in_both_directions() {
    let folder = Folder::new("recorded");
    for name in RECORDED {
        for is_up in [true, false] {
            let made =
                import_of(&folder, &recorded(name), is_up).unwrap_or_else(|error| panic!("{name}: {error}"));
            runs(&folder, &made);
        }
    }
}

#[test]
fn htb_keeps_its_rates_its_ceilings_and_its_filters() {
    let folder = Folder::new("office");
    let made = import_of(&folder, &recorded("office"), true).unwrap();
    assert_eq!((made.class_count, made.flow_count), (3, 4));
    assert_eq!(
        losses(&made),
        [
            "qdisc 1: `prio` (1:10 0, 1:20 1, 1:30 1) is left out: what others leave is divided by `reserve`, not the most \
             urgent first"
        ]
    );
    for part in [
        "up = \"9500kbit\"\ndown = \"48mbit\"\noverhead = 24\nmpu = 84\n",
        "name = \"up-1-10\"\npolicy = \"fifo + drop-tail(limit=51p)\"\nceiling_burst = \"1600B\"\n\
         up = { reserve = \"1mbit\", ceiling = \"1mbit\" }\n",
        "name = \"up-1-20\"\npolicy = \"fq-codel\"\nceiling_burst = \"1600B\"\n\
         up = { reserve = \"4mbit\", ceiling = \"8mbit\" }\n",
        // The line has that ceiling itself.
        "name = \"up-1-30\"\npolicy = \"fq-codel\"\nup = { reserve = \"4mbit\" }\n",
        "match = { direction = \"up\", outside_port = 40000, protocol = \"udp\", ethertype = \"ipv4\" }\nclass = \"up-1-10\"\n",
        "match = { direction = \"up\", outside_port = 443, ethertype = \"ipv4\" }\nclass = \"up-1-20\"\neach = \"5-tuple\"\n",
        "match = { direction = \"up\", inside = \"10.77.2.64/26\" }\nclass = \"up-1-20\"\neach = \"5-tuple\"\n",
        "name = \"up-1-30-default\"\nmatch = { direction = \"up\" }\nclass = \"up-1-30\"\neach = \"5-tuple\"\n",
    ] {
        assert!(made.gate.contains(part), "{part}\nis not in\n{}", made.gate);
    }
    let order = ["up-1-10-1", "up-1-20-1", "up-1-20-2", "up-1-30-default"];
    let places = order.map(|name| made.gate.find(&format!("name = \"{name}\"")).unwrap());
    assert!(places.is_sorted(), "{}", made.gate);
    // The other way, the sender is outside.
    let down = import_of(&folder, &recorded("office"), false).unwrap();
    assert!(
        down.gate.contains("{ direction = \"down\", inside_port = 443, ethertype = \"ipv4\" }"),
        "{}",
        down.gate
    );
    assert!(down.gate.contains("{ direction = \"down\", outside = \"10.77.2.64/26\" }"), "{}", down.gate);
    let before = made.before.unwrap();
    assert_eq!(before.notes, Vec::<String>::new());
    // The most urgent class leaves the others their rates; those two are in a fair queue.
    assert!(before.file.contains("name = \"up-root\"\npolicy = \"strict-priority\"\n"), "{}", before.file);
    assert!(
        before.file.contains("name = \"up-root-prio-1\"\nparent = \"up-root\"\npolicy = \"wf2q-plus\"\n")
    );
    assert!(
        before.file.contains("parent = \"up-root-prio-1\"\npolicy = \"fq-codel(form=linux)\"\n"),
        "{}",
        before.file
    );
}

#[test]
fn each_word_of_u32_is_the_field_that_tc_made_it_from() {
    let folder = Folder::new("u32");
    let made = import_of(&folder, &recorded("u32"), true).unwrap();
    for criteria in [
        "outside_port = 5060, protocol = \"udp\", ethertype = \"ipv4\"",
        "dscp = 46, ethertype = \"ipv4\"",
        "dscp = 4, ethertype = \"ipv4\"",
        "inside = \"10.0.0.0/24\"",
        "inside_port = 80, outside = \"192.0.2.7/32\"",
        "inside = \"2001:db8::/32\"",
        "outside_port = 53, protocol = \"udp\", ethertype = \"ipv6\"",
        "dscp = 46, ethertype = \"ipv6\"",
        "ethertype = \"arp\"",
        "outside_port = \"5000-5007\", ethertype = \"ipv4\"",
    ] {
        assert!(
            made.gate.contains(&format!("match = {{ direction = \"up\", {criteria} }}\n")),
            "{criteria}\n{}",
            made.gate
        );
    }
    let said = losses(&made).join("\n");
    for part in [
        "filter of pref 1, u32 800::802: it compares the bits of ECN",
        "filter of pref 2, u32 801::802: it is left out for 1:10: it looks at byte 2 of a packet",
        "filter of pref 6, u32 10:7:800: it is left out for 1:10: it belongs to a hash table",
        "filter of pref 7, u32 806::800: it is left out: it names no class",
        "filter of pref 8, u32 807::800: its actions are left out",
        "class 1:10: `overhead 20` is left out",
        "class 1:20: `burst 102400` is left out",
        "qdisc 20: `noecn` is left out",
        "qdisc 20: `limit 600` is left out",
        "qdisc 20: `flows 512` is left out",
        "qdisc 20: `ce_threshold 999` is left out",
        "qdisc 1: what classes of 1:1 leave is divided by `quantum` (1:10 12500, 1:20 50000, 1:30 3000), and here by `reserve`",
    ] {
        assert!(said.contains(part), "{part}\nis not in\n{said}");
    }
    assert!(made.gate.contains("overhead = 24\nmpu = 84\natm = true\n"));
    let notes = made.before.unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].starts_with("1:10 has at most 1500kbit there"), "{notes:?}");
}

#[test]
fn flower_is_read_by_its_names() {
    let folder = Folder::new("flower");
    let made = import_of(&folder, &recorded("flower"), true).unwrap();
    for criteria in [
        "outside_port = 5060, protocol = \"udp\", ethertype = \"ipv4\"",
        "inside_port = \"8000-8010\", protocol = \"tcp\", ethertype = \"ipv4\"",
        "inside = \"10.1.0.0/16\", outside = \"198.51.100.0/24\"",
        "dscp = 46, ethertype = \"ipv4\"",
        "inside = \"2001:db8::/56\"",
        "inside_mac = \"02:00:5e:10:00:0a\"",
        "vlan = 7",
    ] {
        assert!(
            made.gate.contains(&format!("match = {{ direction = \"up\", {criteria} }}\n")),
            "{criteria}\n{}",
            made.gate
        );
    }
    let said = losses(&made).join("\n");
    for part in [
        "it is left out for 1:10: a gate has no counterpart of `tcp_flags`",
        "filter of pref 6, fw: it is left out for 1:21: marks of the packet filter are not seen by a gate",
        "filter of pref 7, basic 1: it is left out for 1:10",
        "filters of 1:2 are not among those that `tc` shows",
        "qdisc 20: the tins of a class's queue are left out",
        "qdisc 21: `limit 127` is left out",
    ] {
        assert!(said.contains(part), "{part}\nis not in\n{said}");
    }
    assert!(
        made.gate.contains("name = \"up-1-21\"\nparent = \"up-1-2\"\npolicy = \"drr(quantum=1514B)\"\n"),
        "{}",
        made.gate
    );
}

#[test]
fn cake_counts_from_the_packet_of_ip_and_a_gate_from_the_frame() {
    let folder = Folder::new("cake");
    let made = import_of(&folder, &recorded("cake1"), true).unwrap();
    assert_eq!(losses(&made), Vec::<String>::new());
    // 44 bytes beside a packet are 30 beside its Ethernet frame, which has a header of 14.
    assert!(
        made.gate.contains("up = \"9500kbit\"\ndown = \"48mbit\"\noverhead = 30\nmpu = 84\natm = true\n"),
        "{}",
        made.gate
    );
    assert!(
        made.gate.contains("match = { direction = \"up\" }\neach = \"host\"\nwithin = \"5-tuple\"\n"),
        "{}",
        made.gate
    );
    assert!(
        made.before.unwrap().file.contains("policy = \"drr(form=linux) + codel(scope=flow, form=linux)\"\n")
    );
    // The other way the hosts inside are destinations.
    let down = losses(&import_of(&folder, &recorded("cake1"), false).unwrap());
    assert!(
        down.iter().any(|loss| loss.contains("`dual-srchost` is left out: it divides by hosts outside")),
        "{down:?}"
    );
    let tins = import_of(&folder, &recorded("cake6"), true).unwrap();
    assert!(tins.gate.contains("name = \"up-video\"\nup = { reserve = \"10mbit\" }\n"), "{}", tins.gate);
    assert!(tins.gate.contains("name = \"up-voice\"\nup = { reserve = \"5mbit\" }\n"), "{}", tins.gate);
    assert!(tins.before.is_err());
}

/// Each word of tc-cake(8), on the way up and down, with the keys for it and the loss.
#[test]
fn each_isolation_of_cake_is_its_counterpart_or_is_listed() {
    let folder = Folder::new("isolation");
    let (conversations, hosts) = ("each = \"5-tuple\"\n", "each = \"host\"\n");
    let hosts_first = "each = \"host\"\nwithin = \"5-tuple\"\n";
    let both_sides = "circuits = \"circuits.csv\"\nwithin = \"triple-isolate\"\n";
    let outside = "is left out: it divides by hosts outside, and a gate by conversations";
    let pairs = "is left out: it divides by pairs of hosts, and a gate by hosts inside";
    for (word, [up, down]) in [
        ("flowblind", [("", ""), ("", "")]),
        ("srchost", [(hosts, ""), (conversations, outside)]),
        ("dsthost", [(conversations, outside), (hosts, "")]),
        ("hosts", [(hosts, pairs), (hosts, pairs)]),
        ("flows", [(conversations, ""), (conversations, "")]),
        ("dual-srchost", [(hosts_first, ""), (conversations, outside)]),
        ("dual-dsthost", [(conversations, outside), (hosts_first, "")]),
        ("triple-isolate", [(both_sides, ""), (both_sides, "")]),
    ] {
        for (is_up, (keys, loss)) in [(true, up), (false, down)] {
            let mut texts = recorded("cake1");
            assert!(texts[0].contains("\"dual-srchost\""));
            texts[0] = texts[0].replace("\"dual-srchost\"", &format!("\"{word}\""));
            let made = import_of(&folder, &texts, is_up).unwrap();
            let direction = if is_up { "up" } else { "down" };
            let flow = format!("match = {{ direction = \"{direction}\" }}\n{keys}");
            for file in [&made.gate, &made.before.as_ref().unwrap().file] {
                let rest = file.split_once(&flow).unwrap_or_else(|| panic!("{word}\n{file}")).1;
                assert!(rest.is_empty() || rest.starts_with('\n'), "{word}\n{file}");
            }
            let said = losses(&made);
            match loss {
                "" => assert_eq!(said, Vec::<String>::new(), "{word}"),
                loss => assert!(said.len() == 1 && said[0].ends_with(loss), "{word}: {said:?}"),
            }
            assert_eq!(made.circuits.is_some(), word == "triple-isolate");
            let gate = runs(&folder, &made);
            let flow =
                gate.flows.iter().find(|flow| flow.name == format!("{direction}-best-effort")).unwrap();
            assert_eq!(
                flow.circuits.as_ref().map(|circuits| circuits.len()),
                made.circuits.as_ref().map(|_| 1)
            );
            if word == "triple-isolate" {
                assert_eq!(flow.within, Within::TripleIsolate);
            }
        }
    }
    // A key that is not shown is that of the default.
    let mut texts = recorded("cake1");
    texts[0] = texts[0].replace("\"flowmode\":\"dual-srchost\",", "");
    assert!(import_of(&folder, &texts, true).unwrap().gate.contains(both_sides));
    texts[0] = recorded("cake1")[0].replace("dual-srchost", "quadruple-isolate");
    let refused = import_of(&folder, &texts, true).unwrap_err();
    assert!(refused.contains("`flowmode` (`quadruple-isolate`) is not known here"), "{refused}");
}

/// Beside tins with thresholds, the tin of all others has what these leave.
#[test]
fn the_tin_of_best_effort_has_what_thresholds_leave() {
    let folder = Folder::new("tins");
    for word in ["flowblind", "flows", "dual-srchost", "triple-isolate"] {
        let mut texts = recorded("cake6");
        texts[0] = texts[0].replace("\"srchost\"", &format!("\"{word}\""));
        let gate = runs(&folder, &import_of(&folder, &texts, true).unwrap());
        // 20 Mbit/s, of which voice has a quarter and video a half.
        let flow = gate.flows.iter().position(|flow| flow.name == "up-best-effort").unwrap();
        let of_flow = |promise: &Promise| match promise {
            Promise::Named { flow: of, reserve, .. } => (*of == flow).then_some(*reserve),
            Promise::Shared { flow: of, rate, .. } => (*of == flow).then_some(*rate),
        };
        let reserved = gate.promises(Direction::Up).iter().find_map(of_flow).unwrap();
        assert!((4_500_000..5_000_000).contains(&reserved), "{word}: {reserved}");
    }
}

#[test]
fn both_directions_make_one_gate() {
    let folder = Folder::new("both");
    let files = |name: &str| -> Vec<PathBuf> {
        PARTS
            .iter()
            .zip(recorded(name))
            .map(|(part, text)| {
                let file = folder.0.join(format!("{name}-{part}.json"));
                fs::write(&file, text).unwrap();
                file
            })
            .collect()
    };
    let line = Line { inside: "lan0", outside: "wan0", rates: [None, None] };
    let made = import(&[files("office"), files("tbf")], &line).unwrap();
    runs(&folder, &made);
    assert!(made.gate.contains("up = \"9500kbit\"\ndown = \"9500kbit\"\n"), "{}", made.gate);
    assert!(made.gate.contains("name = \"down-3\"\npolicy = \"fq-codel\"\n"), "{}", made.gate);
    assert!(losses(&made).iter().any(|loss| loss.starts_with("the overheads of the two directions differ")));
    // A FIFO beside CAKE has the CoDel that the port has for CAKE.
    let mixed = import(&[files("office"), files("cake1")], &line).unwrap();
    runs(&folder, &mixed);
    assert!(losses(&mixed).iter().any(|loss| loss.starts_with("the policies of the queues")));
    assert!(!mixed.gate.contains("[port]"), "{}", mixed.gate);
}

/// Rates that add up to more than there is are lowered, and the file says so.
#[test]
fn rates_beyond_the_line_are_lowered_in_proportion() {
    let folder = Folder::new("lowered");
    let [qdisc, class, filter] = recorded("office");
    let class = class.replace(
        "1:20 parent 1:1 leaf 20: prio 1 quantum 50000 rate 4Mbit",
        "1:20 parent 1:1 leaf 20: prio 1 quantum 50000 rate 8Mbit",
    );
    let made = import_of(&folder, &[qdisc, class, filter], true).unwrap();
    assert!(
        losses(&made).iter().any(|loss| loss.contains("add up to 13mbit, and there is room for 9500kbit")),
        "{:?}",
        losses(&made)
    );
    runs(&folder, &made);
    assert!(made.gate.contains("reserve = \"730769bit\""), "{}", made.gate);
}

/// `tc` of iproute2 6.2 and later, by its source (`print_class`, `htb_print_opt`): bytes a second.
#[test]
fn classes_in_json_are_those_in_text() {
    let folder = Folder::new("json");
    let [qdisc, class, filter] = recorded("office");
    let mut objects = Vec::new();
    for line in class.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |key: &str| words.iter().position(|word| *word == key).map(|at| words[at + 1]);
        let bytes = |text: &str| match text.split_once(|c: char| c.is_ascii_alphabetic()) {
            Some((number, "bit")) if text.contains('K') => number.parse::<u64>().unwrap() * 125,
            Some((number, "bit")) if text.contains('M') => number.parse::<u64>().unwrap() * 125_000,
            _ => panic!("{text}"),
        };
        let above =
            after("parent").map_or("\"root\":true".to_owned(), |parent| format!("\"parent\":\"{parent}\""));
        let leaf = after("leaf").map_or(String::new(), |leaf| {
            format!(",\"leaf\":\"0x{leaf}\"").replace(":\"", "\"").replace("\"leaf\"\"", "\"leaf\":\"")
        });
        let prio = after("prio").map_or(String::new(), |prio| {
            format!(",\"prio\":{prio},\"quantum\":{}", after("quantum").unwrap())
        });
        let size = |key: &str| after(key).unwrap().split_once('b').unwrap().0.parse::<u64>().unwrap();
        objects.push(format!(
            "{{\"class\":\"htb\",\"handle\":\"{}\",{above}{leaf}{prio},\"rate\":{},\"ceil\":{},\"linklayer\":\"ethernet\",\
             \"burst\":{},\"burst_cell\":1,\"mpu_rate\":0,\"cburst\":{},\"cburst_cell\":1,\"mpu_ceil\":0,\"level\":0}}",
            words[2], bytes(after("rate").unwrap()), bytes(after("ceil").unwrap()), size("burst"), size("cburst"),
        ));
    }
    let json = format!("[{}]", objects.join(","));
    let of = |class: String| told(&import_of(&folder, &[qdisc.clone(), class, filter.clone()], true));
    assert_eq!(of(json), of(class));
}
