//! Meters that contradict themselves, or do not fit the profiles and the links that they are for;
//! codepoints that do not exist.

use super::{check, parse};
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

/// Column of a text in a line, from 1.
fn column(text: &str, line: usize, what: &str) -> usize {
    text.lines().nth(line - 1).unwrap().find(what).unwrap() + 1
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

/// Flows that divide a profile all have weights, and shares hold a packet.
#[test]
fn a_profile_is_divided_among_all_its_flows() {
    let with = |profile: &str, first: &str, second: &str| {
        format!(
            "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"1mbit\" }}\n\
             port = {{ meter = \"srtcm\" }}\nprofile = [{{ name = \"p\", reserve = \"600kbit\"{profile} }}]\nflow = [\n\
             {{ name = \"f\", count = 2, from = \"s1\", to = \"s2\", size = \"1500B\", source = {{ kind = \"cbr\", rate = \"9kbit\" }}, \
             profile = \"p\"{first} }},\n\
             {{ name = \"g\", from = \"s1\", to = \"s2\", size = \"500B\", source = {{ kind = \"cbr\", rate = \"9kbit\" }}, \
             profile = \"p\"{second} }},\n]\n"
        )
    };
    let good = with(", workahead = \"5kB\"", ", weight = 2", ", weight = 1");
    parse(&good, &[]).unwrap();
    check(
        &good.replace(", weight = 1", ""),
        &[],
        "a.toml:8:1: `g` has no `weight` in profile `p`, which is divided by weights: `f` has one",
        Some("give it a `weight`, or none of them"),
    );
    // Two fifths of 3749 bytes.
    check(
        &good.replace("5kB", "3749B"),
        &[],
        "a.toml:7:1: the share of flow `f/1` on link s1->s2: its `workahead` (1499B) is smaller than its \
         largest packet (1500B)",
        None,
    );
    check(
        &good.replace("weight = 1", "weight = 0"),
        &[],
        &format!("a.toml:8:{}: `weight`: 0 is out of range", column(&good, 8, "1 }")),
        Some("it takes a whole number from 1 to 1000000"),
    );
    // Each flow has a link of its own. A divided profile counts there by the flow's share, while a
    // shared one counts as a whole and exceeds the link.
    let apart = |keys: [&str; 2]| {
        let text = format!(
            "version = 1\nduration = \"1s\"\n\
             topology = {{ kind = \"dumbbell\", pairs = 2, rate = \"9mbit\", access = {{ rate = \"1mbit\" }} }}\n\
             host = {{ scheduler = \"fifo\", meter = {{ kind = \"tsw2cm\", window = \"1s\" }} }}\nswitch = {{ buffer = \"9p\" }}\n\
             profile = [{{ name = \"p\", reserve = \"1500kbit\" }}]\nflow = [{{ name = \"f\", profile = \"p\"{}, from = \"l1\", \
             to = \"r1\", size = \"1kB\", source = {{ kind = \"cbr\", rate = \"1mbit\" }} }}, {{ name = \"g\", profile = \"p\"{}, \
             from = \"l2\", to = \"r2\", size = \"1kB\", source = {{ kind = \"cbr\", rate = \"1mbit\" }} }}]\n",
            keys[0], keys[1]
        );
        parse(&text, &[]).map(|scenario| scenario.warnings().len())
    };
    assert_eq!(apart([", weight = 1"; 2]).unwrap(), 0);
    assert!(apart([""; 2]).is_err());
    // Two thirds are 1 Mbit/s, which is whole, and three quarters are not.
    assert_eq!(apart([", weight = 2", ", weight = 1"]).unwrap(), 0);
    assert_eq!(apart([", weight = 3", ", weight = 1"]).unwrap(), 1);
}

/// A link may be as full as the sum of its profiles. Above it, packets inside them may be lost,
/// which is no mistake but gets a warning.
#[test]
fn profiles_beyond_a_bottleneck_are_warned_of() {
    let meter = "{ kind = \"tsw-tagger\", window = \"100ms\" }";
    let warnings = |first: &str, second: &str, meter: &str| {
        let text = format!(
            "version = 1\nduration = \"1s\"\n\
             topology = {{ kind = \"dumbbell\", pairs = 2, rate = \"1mbit\", access = {{ rate = \"10mbit\" }} }}\n\
             host = {{ scheduler = \"fifo\", meter = {meter} }}\nswitch = {{ buffer = \"100p\" }}\n\
             profile = [{{ name = \"p\", reserve = \"{first}\" }}, {{ name = \"q\", reserve = \"{second}\" }}]\n\
             flow = [{{ name = \"f\", profile = \"p\", from = \"l1\", to = \"r1\", size = \"1kB\", source = {{ kind = \
             \"cbr\", rate = \"1mbit\" }} }}, {{ name = \"g\", count = 3, profile = \"q\", from = \"l2\", to = \"r2\", \
             size = \"1kB\", source = {{ kind = \"cbr\", rate = \"1mbit\" }} }}]\n"
        );
        let scenario = parse(&text, &[]).unwrap();
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    // A profile counts once at a port, however many flows share it.
    assert_eq!(warnings("600kbit", "400kbit", meter), [""; 0]);
    let found = warnings("600kbit", "401kbit", meter);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("add up to 1001kbit, and it carries 1mbit: packets inside them may be lost"),
        "{found:?}"
    );
    assert!(found[0].contains("the provisioning rule"), "{found:?}");
    // Without a meter that colours there is no promise.
    let unread = warnings("600kbit", "401kbit", "\"flow-monitor\"");
    assert!(unread.iter().all(|one| one.contains("no meter on the way of `f`")), "{unread:?}");
}

/// A host and two switches: the packets at `meter`, on the link between the switches, belong to the
/// profile that the link names.
fn boundary(meter: &str, profile: &str, link: &str) -> String {
    format!(
        "version = 1\nduration = \"1s\"\n\
         node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"a\" }}, {{ name = \"b\" }}]\n\
         link = [{{ from = \"h\", to = \"a\", rate = \"1mbit\" }}, {{ from = \"a\", to = \"b\", rate = \"1mbit\", \
         {meter}profile = \"p\"{link} }}]\nprofile = [{{ name = \"p\"{profile} }}]\n\
         flow = [{{ name = \"f\", from = \"h\", to = \"b\", size = \"1500B\", reserve = \"100kbit\", \
         source = {{ kind = \"cbr\", rate = \"100kbit\" }} }}]\n"
    )
}

#[test]
fn the_profile_of_a_link_is_read_there() {
    let marker = "meter = \"srtcm\", ";
    let good = ", reserve = \"1mbit\", workahead = \"3kB\"";
    parse(&boundary(marker, good, ""), &[]).unwrap();
    let text = boundary(marker, good, "").replace("profile = \"p\"", "profile = \"pp\"");
    let place = format!("a.toml:4:{}: there is no profile `pp`", column(&text, 4, "\"pp\""));
    check(&text, &[], &place, Some("did you mean `p`?"));

    // The profile's line, though the flow's own contract is in order.
    for (profile, message) in [
        (
            ", reserve = \"1001kbit\", workahead = \"3kB\"",
            "profile `p` has a target of 1001kbit, above the rate of link a->b (1mbit), where its packets \
             are metered",
        ),
        (
            ", reserve = \"1mbit\", workahead = \"1499B\"",
            "profile `p` on link a->b: its `workahead` (1499B) is smaller than its largest packet (1500B)",
        ),
        (
            ", reserve = \"1mbit\"",
            "profile `p` on link a->b: it has no committed burst size (CBS): state its `workahead`, or its \
             `interval`",
        ),
    ] {
        let text = boundary(marker, profile, "");
        check(&text, &[], &format!("a.toml:5:{}: {message}", column(&text, 5, "{ name")), None);
    }

    // Nothing there reads it: the usual meter, without an interval, or one without a rate.
    let help = Some("give the link a meter, as in meter = \"srtcm\"");
    for (meter, profile) in [("", good), (marker, "")] {
        let text = boundary(meter, profile, "");
        let message = "no meter at the ports of this link reads profile `p`";
        check(&text, &[], &format!("a.toml:4:{}: {message}", column(&text, 4, "\"p\"")), help);
    }
    parse(&boundary("", ", reserve = \"1mbit\", interval = \"1s\"", ""), &[]).unwrap();
    // In one direction is enough: hosts have no meter of their own.
    let access = boundary("", ", reserve = \"1mbit\", interval = \"1s\"", "")
        .replace("to = \"a\",", "to = \"a\", profile = \"p\",");
    parse(&access, &[]).unwrap();
    let one_way = access.replace("profile = \"p\", rate", "profile = \"p\", duplex = false, rate");
    let message = "no meter at the ports of this link reads profile `p`";
    check(&one_way, &[], &format!("a.toml:4:{}: {message}", column(&one_way, 4, "\"p\"")), help);
}

/// A flow that is metered against a link's profile may be warned by it.
#[test]
fn a_flow_without_an_interval_is_warned_by_the_profile_of_a_link() {
    let warned =
        |text: &str| text.replace("reserve = \"100kbit\",", "reserve = \"100kbit\", warned = \"slow\",");
    let text = warned(&boundary("", ", reserve = \"1mbit\", interval = \"1s\"", ""));
    parse(&text, &[]).unwrap();
    let text = text
        .replace("profile = \"p\" }]\nprofile", " }]\nprofile")
        .replace("rate = \"1mbit\",  }", "rate = \"1mbit\" }");
    let errors = parse(&text, &[]).unwrap_err().to_string();
    assert!(errors.contains("a flow without `interval` is not monitored"), "{errors}");
}

/// Behind a boundary, no more traffic is in profile than the boundary's own profile: links there
/// must carry that.
#[test]
fn behind_a_boundary_its_profile_is_provisioned_for() {
    let warnings = |boundary: &str, behind: &str| {
        let text = format!(
            "version = 1\nduration = \"1s\"\nswitch = {{ buffer = \"100p\" }}\n\
             host = {{ meter = \"srtcm\" }}\n\
             node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"i\", kind = \"host\" }}, {{ name = \"a\" }}, \
             {{ name = \"b\" }}, {{ name = \"c\" }}]\n\
             link = [{{ from = \"h\", to = \"a\", rate = \"10mbit\" }}, {{ from = \"i\", to = \"a\", rate = \"10mbit\" }}, \
             {{ from = \"a\", to = \"b\", rate = \"10mbit\"{boundary} }}, {{ from = \"b\", to = \"c\", rate = \"{behind}\" }}]\n\
             profile = [{{ name = \"p\", reserve = \"3mbit\", workahead = \"9kB\" }}, {{ name = \"x\", reserve = \"2mbit\", workahead = \
             \"9kB\" }}, {{ name = \"y\", reserve = \"2mbit\", workahead = \"9kB\" }}]\n\
             flow = [{{ name = \"f\", from = \"h\", to = \"c\", size = \"1kB\", profile = \"x\", \
             source = {{ kind = \"cbr\", rate = \"1mbit\" }} }}, {{ name = \"g\", from = \"i\", to = \"c\", size = \"1kB\", \
             profile = \"y\", source = {{ kind = \"cbr\", rate = \"1mbit\" }} }}]\n"
        );
        parse(&text, &[]).unwrap().warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let marked = ", meter = \"srtcm\", profile = \"p\"";
    assert_eq!(warnings(marked, "4mbit"), [""; 0]);
    let found = warnings("", "3999kbit");
    assert!(found[0].contains("b->c add up to 4mbit"), "{found:?}");
    let found = warnings(marked, "2999kbit");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("b->c add up to 3mbit"), "{found:?}");
}

/// Each port has a bucket of its own, even where two ports name the same profile.
#[test]
fn a_profile_is_provisioned_for_at_each_port_that_meters_by_it() {
    let warnings = |reserve: &str| {
        let text = format!(
            "version = 1\nduration = \"1s\"\n\
             topology = {{ kind = \"dumbbell\", pairs = 2, rate = \"1mbit\", access = {{ rate = \"10mbit\" }} }}\n\
             host = {{ scheduler = \"fifo\", meter = \"srtcm\" }}\nswitch = {{ buffer = \"100p\" }}\n\
             profile = [{{ name = \"p\", reserve = \"{reserve}\", workahead = \"3kB\" }}]\n\
             flow = [{{ name = \"f\", profile = \"p\", from = \"l1\", to = \"r1\", size = \"1kB\", source = {{ kind = \
             \"cbr\", rate = \"300kbit\" }} }}, {{ name = \"g\", profile = \"p\", from = \"l2\", to = \"r2\", \
             size = \"1kB\", source = {{ kind = \"cbr\", rate = \"300kbit\" }} }}]\n"
        );
        parse(&text, &[]).unwrap().warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(warnings("500kbit"), [""; 0]);
    let found = warnings("501kbit");
    assert!(found[0].contains("left->right add up to 1002kbit, and it carries 1mbit"), "{found:?}");
}
