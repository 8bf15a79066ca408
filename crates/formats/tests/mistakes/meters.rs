//! Meters that contradict themselves, or do not fit the profiles and the links that they are for;
//! codepoints that do not exist.

use super::{check, column, parse};
use tidegate_formats::GateFile;

/// A link of 1 Mbit/s to whose port a meter belongs, and a flow with a profile.
fn scenario(meter: &str, profile: &str, flow: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"1mbit\" }}\n\
         port = {{ meter = {meter} }}\nprofile = [{{ name = \"p\"{profile} }}]\n\
         flow = [{{ name = \"f\", from = \"s1\", to = \"s2\", size = \"1500B\"{flow}, \
         source = {{ kind = \"cbr\", rate = \"100kbit\" }} }}]\n"
    )
}

#[test]
fn a_rate_is_averaged_over_time_or_over_packets() {
    for kind in ["tsw-tagger", "tsw2cm", "tsw3cm"] {
        let with = |keys: &str| scenario(&format!("{{ kind = \"{kind}\"{keys} }}"), "", "");
        for keys in [", window = \"100ms\"", ", packets = 20", ", window = \"1us\", mode = \"colour-aware\""]
        {
            parse(&with(keys), &[]).unwrap();
        }
        for (keys, at, message) in [
            (", window = \"0s\"", "\"0s\"", "`window` is zero"),
            ("", "{ kind", "`window` is missing"),
            (
                ", window = \"1s\", packets = 20",
                "20",
                "`packets` and `window` contradict each other: an average is over packets, or over time",
            ),
        ] {
            let text = with(keys);
            check(&text, &[], &format!("a.toml:4:{}: {message}", column(&text, 4, at)), None);
        }
        let text = with(", packets = 0");
        check(
            &text,
            &[],
            &format!("a.toml:4:{}: `packets`: 0 is out of range", column(&text, 4, "0 }")),
            Some("it takes a whole number from 1 to 65535"),
        );
    }
}

#[test]
fn buckets_have_a_depth_and_hold_a_packet() {
    for kind in ["srtcm", "trtcm"] {
        let meter = format!("\"{kind}\"");
        let with = |profile: &str| scenario(&meter, profile, ", profile = \"p\"");
        let good = ", reserve = \"500kbit\", workahead = \"3kB\"";
        parse(&with(good), &[]).unwrap();
        parse(&with(", reserve = \"500kbit\", interval = \"100ms\""), &[]).unwrap();
        parse(
            &with(&format!("{good}, peak = \"1mbit\", excess_burst = \"100B\", peak_burst = \"4kB\"")),
            &[],
        )
        .unwrap();
        for (profile, message) in [
            (
                ", reserve = \"500kbit\"",
                "profile `p` on link s1->s2: it has no committed burst size (CBS): state its `workahead`, or its \
                 `interval`",
            ),
            (
                ", reserve = \"500kbit\", workahead = \"1499B\"",
                "profile `p` on link s1->s2: its `workahead` (1499B) is smaller than its largest packet \
                 (1500B)",
            ),
            (
                ", reserve = \"500kbit\", workahead = \"3kB\", peak_burst = \"40B\"",
                "profile `p` on link s1->s2: its `peak_burst` (40B) is smaller than its largest packet (1500B)",
            ),
        ] {
            let text = with(profile);
            check(&text, &[], &format!("a.toml:5:{}: {message}", column(&text, 5, "{ name")), None);
        }
        for key in ["workahead", "excess_burst", "peak_burst"] {
            let text = with(&format!(", reserve = \"500kbit\", {key} = \"0B\""));
            let message = format!("`{key}`: `0B` is not a size: a size is at least 1B");
            check(&text, &[], &format!("a.toml:5:{}: {message}", column(&text, 5, "\"0B\"")), None);
            let text = with(&format!(", {key} = \"3kB\""));
            let message = format!("`{key}` has no effect on a flow without a reservation");
            let place = format!("a.toml:5:{}: {message}", column(&text, 5, "\"3kB\""));
            check(&text, &[], &place, Some("give it a `reserve`"));
        }
        let text = with(", reserve = \"500kbit\", peak = \"400kbit\", workahead = \"3kB\"");
        let message = "`peak` (400kbit) is below `reserve` (500kbit)";
        check(&text, &[], &format!("a.toml:5:{}: {message}", column(&text, 5, "\"400kbit\"")), None);
        // And a flow's own contract.
        let text = scenario(&meter, "", ", reserve = \"500kbit\"");
        let message = "f on link s1->s2: it has no committed burst size (CBS): state its `workahead`, or \
                       its `interval`";
        check(&text, &[], &format!("a.toml:6:{}: {message}", column(&text, 6, "{ name")), None);
    }
}

#[test]
fn no_profile_promises_more_than_its_link_carries() {
    let meter = "{ kind = \"tsw-tagger\", window = \"100ms\" }";
    let with = |reserve: &str| scenario(meter, &format!(", reserve = \"{reserve}\""), ", profile = \"p\"");
    parse(&with("1mbit"), &[]).unwrap();
    let text = with("1001kbit");
    check(
        &text,
        &[],
        &format!(
            "a.toml:5:{}: profile `p` has a target of 1001kbit, above the rate of link s1->s2 (1mbit), where its packets \
             are metered",
            column(&text, 5, "{ name")
        ),
        None,
    );
    // A flow monitor promises nothing.
    let monitored = text.replace(meter, "\"flow-monitor\"");
    parse(&monitored, &[]).unwrap();
    let own = scenario(meter, "", ", reserve = \"1001kbit\"");
    let errors = parse(&own, &[]).unwrap_err().to_string();
    assert!(errors.contains("1001kbit is reserved on link s1->s2 (1mbit)"), "{errors}");
}

/// One flow, at a gate and behind one.
#[test]
fn a_gate_knows_whose_bursts_are_missing() {
    let file = |meter: &str| {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"9mbit\" }}\n\
             port = {{ meter = \"{meter}\" }}\nclass = [{{ name = \"c\", scheduler = \"fifo\" }}]\n\
             flow = [{{ name = \"v\", class = \"c\", reserve = \"200kbit\" }}]\n"
        );
        GateFile::parse(&text, "gate.toml", &[])
    };
    file("flow-monitor").unwrap();
    let errors = file("srtcm").unwrap_err().to_string();
    let expected = "gate.toml:5:9: flow `v` up: it has no committed burst size (CBS): state its `workahead`, or its \
                    `interval`";
    assert!(errors.starts_with(expected), "{errors}");
}

#[test]
fn codepoints_have_names_and_six_bits() {
    let gate = |keys: &str| {
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"9mbit\" }}\n\
             flow = [{{ name = \"v\", {keys} }}]\n"
        );
        GateFile::parse(&text, "gate.toml", &[])
    };
    for (written, number) in
        [("\"ef\"", 46), ("46", 46), ("\"af41\"", 34), ("\"be\"", 0), ("\"le\"", 1), ("63", 63)]
    {
        let file = gate(&format!("match = {{ dscp = {written} }}, set_dscp = {written}")).unwrap();
        assert_eq!((&file.flows[0].matching.dscp[..], file.flows[0].set_dscp), (&[number][..], Some(number)));
    }
    for (written, message, help) in [
        ("\"EF\"", "there is no codepoint `EF`", "did you mean `ef`?"),
        ("\"af44\"", "there is no codepoint `af44`", "did you mean `af41`?"),
        ("\"46\"", "there is no codepoint `46`", "write 46 without quotes"),
        (
            "184",
            "184 is out of range",
            "did you mean 46? A codepoint is the upper six bits of its byte, without ECN",
        ),
        (
            "-1",
            "-1 is out of range",
            "it takes a name such as \"ef\" or \"af41\", or a whole number from 0 to 63",
        ),
        (
            "300",
            "300 is out of range",
            "it takes a name such as \"ef\" or \"af41\", or a whole number from 0 to 63",
        ),
    ] {
        let errors = gate(&format!("set_dscp = {written}")).unwrap_err().to_string();
        assert!(errors.starts_with(&format!("gate.toml:3:34: `set_dscp`: {message}")), "{errors}");
        assert!(errors.contains(help), "{errors}");
    }
}

/// Two hosts with a switch between them, and one flow or connection from the first to the second.
fn hosts(ports: &str, flow: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"9mbit\", access = {{}} }}\n\
         {ports}\n{flow}\nname = \"f\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1500B\"\n"
    )
}

#[test]
fn a_window_follows_a_transport_that_measures_round_trips() {
    let tcp = "[[connection]]\ntransport = \"tcp\"";
    for kind in ["tsw-tagger", "tsw2cm", "tsw3cm"] {
        let meter = format!("meter = {{ kind = \"{kind}\", window = \"100ms\", round_trips = 2 }}");
        let host = format!("host = {{ scheduler = \"fifo\", {meter} }}");
        parse(&hosts(&host, tcp), &[]).unwrap();
        let switch = format!("port = {{ {meter} }}");
        let flow = "[[flow]]\nsource = { kind = \"cbr\", rate = \"1mbit\" }";
        let window = "[[connection]]\ntransport = \"window\"";
        for (ports, flow) in [(&host, flow), (&host, window), (&switch, tcp)] {
            let text = hosts(ports, flow);
            let message = "`round_trips` has nothing to follow: no round-trip times are measured of what is metered here, at the \
                           first port on its way";
            let help = "leave out `round_trips`, or meter the data of a connection whose transport measures \
                        them, at its host";
            check(&text, &[], &format!("a.toml:4:{}: {message}", column(&text, 4, "2 }")), Some(help));
        }
        let packets = host.replace("window = \"100ms\"", "packets = 5");
        let text = hosts(&packets, tcp);
        let message = "`round_trips` has no effect on an average over packets";
        check(&text, &[], &format!("a.toml:4:{}: {message}", column(&text, 4, "2 }")), None);
        // A gate has no transports.
        let text = format!(
            "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"9mbit\" \
             }}\n{switch}\n"
        );
        let errors = GateFile::parse(&text, "gate.toml", &[]).unwrap_err().to_string();
        let expected =
            format!("gate.toml:3:{}: `round_trips` has nothing to follow", column(&text, 3, "2 }"));
        assert!(
            errors.starts_with(&expected) && errors.matches("nothing to follow").count() == 1,
            "{errors}"
        );
    }
}

/// Four meters in a row are the most: three of classes in each other, and the port's.
#[test]
fn few_classes_in_each_other_have_meters() {
    let class = |nth: usize, meter: &str| {
        let parent = if nth > 0 { format!("parent = \"c{}\"\n", nth - 1) } else { String::new() };
        format!("[[class]]\nname = \"c{nth}\"\n{parent}policy = \"fifo\"\n{meter}")
    };
    let metered = "meter = \"policer\"\n";
    let classes = |meters: [bool; 5]| -> String {
        let some = meters.iter().enumerate();
        some.map(|(nth, is)| class(nth, if *is { metered } else { "" })).collect()
    };
    let head = "version = 1\nduration = \"1s\"\ntopology = { kind = \"chain\", switches = 2, rate = \"1mbit\" }\n\
                port = { meter = \"policer\" }\n";
    let flow = "[[flow]]\nname = \"f\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"100B\"\nclass = \"c4\"\n\
                source = { kind = \"cbr\", rate = \"1mbit\" }\n";
    parse(&format!("{head}{}{flow}", classes([true, false, true, false, true])), &[]).unwrap();
    let text = format!("{head}{}{flow}", classes([true, true, false, true, true]));
    let line =
        1 + text.lines().collect::<Vec<_>>().iter().rposition(|line| line.starts_with("meter")).unwrap();
    let message = format!("a.toml:{line}:9: class `c4` has one meter too many around it");
    check(&text, &[], &message, Some("at most 3 classes with meters are in each other"));
}
