//! Profiles whose shares, links or meters do not fit them.

use super::{check, column, parse};

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
