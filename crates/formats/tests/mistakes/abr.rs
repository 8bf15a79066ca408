//! Mistakes of ABR connections, and of the ports that control their rates, that are refused before
//! a run.

use super::adaptation::scenario;
use super::{Mistake, check, parse};

const GOOD: &str = r#"version = 1
duration = "1s"
topology = { kind = "chain", switches = 2, rate = "1mbit", access = { rate = "2mbit" } }
[port]
rate_control = { kind = "erica", interval = "5ms", queue_delay = "1500us", average_active = 0.5, average_overload = 0.5 }
vsvd = { vc_rate = "class", updated_at = "both" }
[[connection]]
name = "c"
from = "h1"
to = "h2"
size = "53B"
transport = { kind = "abr", pcr = "2mbit", icr = "1mbit", mcr = "10kbit", rm_cell = "53B", header = "5B", frame = "1500B" }
"#;

const MISTAKES: &[Mistake] = &[
    (
        "rate_control = { kind = \"erica\", ",
        "rate_control = { kind = \"arica\", ",
        "a.toml:5:25: there is no rate_control `arica`",
        Some("did you mean `erica`?"),
    ),
    (
        "interval = \"5ms\"",
        "interval = \"0ms\"",
        "a.toml:5:45: `interval` is zero: nothing could be measured",
        None,
    ),
    (
        "interval = \"5ms\"",
        "utilisation = 0",
        "a.toml:5:48: `utilisation` is zero: nothing would be allocated",
        None,
    ),
    (
        "queue_delay = \"1500us\"",
        "queue_delay = \"0us\"",
        "a.toml:5:66: `queue_delay` is zero: leave it out to aim at none",
        None,
    ),
    (
        "average_active = 0.5",
        "average_active = 1",
        "a.toml:5:93: `average_active` is 1: a VC would count for ever",
        None,
    ),
    (
        "average_overload = 0.5",
        "average_overload = 0",
        "a.toml:5:117: `average_overload` is zero: nothing measured would count",
        None,
    ),
    (
        "rate_control = { kind = \"erica\", interval = \"5ms\", queue_delay = \"1500us\", average_active = \
         0.5, average_overload = 0.5 }\n",
        "",
        "a.toml:5:8: no switch algorithm controls rates at link s1->s2, so no loops can be coupled",
        Some("add `rate_control` beside it"),
    ),
    (
        "rate_control = { kind = \"erica\", interval = \"5ms\", queue_delay = \"1500us\", average_active = \
         0.5, average_overload = 0.5 }",
        "rate_control = { kind = \"relative-rate\", no_increase = 10, congested = 5 }",
        "a.toml:5:72: `congested` (5) is below `no_increase` (10)",
        None,
    ),
    (
        "rate_control = { kind = \"erica\", interval = \"5ms\", queue_delay = \"1500us\", average_active = \
         0.5, average_overload = 0.5 }",
        "rate_control = { kind = \"eprca\", congested = 10, very_congested = 5 }",
        "a.toml:5:67: `very_congested` (5) is below `congested` (10)",
        None,
    ),
    ("\"class\"", "\"clas\"", "a.toml:6:20: there is no vc_rate `clas`", Some("did you mean `class`?")),
    (
        "from = \"h1\"",
        "from = \"s1\"",
        "a.toml:7:1: `c` starts at the port of link s1->s2, which has VS/VD",
        Some("a virtual source has a loop before it: let the connection start at a host"),
    ),
    (
        "pcr = \"2mbit\"",
        "pcr = \"3mbit\"",
        "a.toml:12:35: `pcr` is above the rate of the first link (2000000bit/s)",
        None,
    ),
    ("icr = \"1mbit\"", "icr = \"3mbit\"", "a.toml:12:50: `icr` is above `pcr`", None),
    ("mcr = \"10kbit\"", "mcr = \"1500kbit\"", "a.toml:12:65: `mcr` is above `icr`", None),
    ("mcr = \"10kbit\"", "mcr = \"3mbit\"", "a.toml:12:65: `mcr` is above `pcr`", None),
    (
        "rm_cell = \"53B\"",
        "rm_cell = \"64B\"",
        "a.toml:12:85: `rm_cell` (64B) is longer than a cell of `size` (53B)",
        None,
    ),
    (
        "header = \"5B\"",
        "header = \"53B\"",
        "a.toml:12:101: `header` (53B) leaves no room for data in a cell of `size` (53B)",
        None,
    ),
    (
        "frame = \"1500B\"",
        "frame = \"65536B\"",
        "a.toml:12:115: `frame` (65536B) is above 65535B, the longest packet of AAL5",
        None,
    ),
];

#[test]
fn every_mistake_of_abr_is_placed_and_explained() {
    for (good, bad, first, help) in MISTAKES {
        assert!(GOOD.contains(good), "{good}");
        check(&GOOD.replacen(good, bad, 1), &[], first, *help);
    }
}

/// With VS/VD the answers of a connection return over the nodes that its data passed.
#[test]
fn answers_that_go_another_way_are_refused() {
    let node = |name, kind| format!("[[node]]\nname = \"{name}\"\nkind = \"{kind}\"\n");
    let link =
        |from, to, more| format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\n{more}\n");
    let text = [
        "version = 1\nduration = \"1s\"\n".to_owned(),
        node("a", "host")
            + &node("z", "host")
            + &node("b", "switch")
            + &node("c", "switch")
            + &node("d", "switch"),
        link("a", "b", "")
            + &link("b", "c", "duplex = false")
            + &link("c", "z", "rate_control = \"erica\"\nvsvd = {}"),
        link("z", "d", "duplex = false") + &link("d", "b", "duplex = false"),
        "[[connection]]\nname = \"x\"\nfrom = \"a\"\nto = \"z\"\nsize = \"53B\"\ntransport = \"abr\"\n"
            .to_owned(),
    ];
    // The link c->z is duplex, but nothing leads from c to b.
    check(
        &text.concat(),
        &[],
        "a.toml:44:1: the answers of `x` do not pass `c`, which has VS/VD",
        Some("let them go back the way the data come"),
    );
}

/// Keys of a connection, the place of the mistake in the file, and the message.
const VCS: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "vc = {}",
        "9:6",
        "a VC carries ATM cells, and the packets are not cut into cells",
        Some("add `adaptation = \"aal5\"`"),
    ),
    (
        "adaptation = \"aal5\"\nvc = { frame = \"1500B\" }",
        "10:8",
        "`vc` has no key `frame`",
        Some(
            "it is one of pcr, mcr, icr, rif, rdf, cdf, nrm, crm, adtf, tcr, headroom; `frame` is a key of \
             transport `abr`",
        ),
    ),
    (
        "adaptation = \"aal5\"\nvc = { icr = \"20mbit\" }",
        "10:14",
        "`icr` is above the rate of the first link (10000000bit/s)",
        None,
    ),
    (
        "adaptation = \"aal5\"\nvc = { mcr = \"2mbit\", icr = \"1mbit\" }",
        "10:14",
        "`mcr` is above `icr`",
        None,
    ),
    ("adaptation = \"aal5\"\nvc = {}\nbackward = \"g\"", "5:1", "there is no connection `g`", None),
    (
        "adaptation = \"aal5\"\nvc = {}\nbackward = \"f\"",
        "5:1",
        "`f` does not go from the receiver of `f` to its sender",
        None,
    ),
];

/// A VC has two directions if both connections have one, and each is one connection.
#[test]
fn both_directions_of_a_vc_are_connections_with_a_vc() {
    let back = |more: &str| {
        format!(
            "[[connection]]\nname = \"g\"\nfrom = \"b\"\nto = \"a\"\nadaptation = \"aal5\"\nvc = {{}}\n\
             backward = \"f\"\nsize = \"1500B\"\ntransport = \"tcp\"\n\
             [[connection]]\nname = \"f\"\nto = \"b\"\nadaptation = \"aal5\"\ntransport = \"tcp\"\n{more}\n"
        )
    };
    let said = "`g` and `f` are one VC only if";
    check(&scenario("", &back("")), &[], &format!("a.toml:5:1: {said} both have `vc`"), None);
    let many = back("vc = {}\ncount = 2");
    check(&scenario("", &many), &[], &format!("a.toml:5:1: {said} each is one connection"), None);
    crate::common::parse(&scenario("", &back("vc = {}")), &[]).unwrap();
}

#[test]
fn a_vc_carries_cells_that_are_cut() {
    for (keys, at, said, help) in VCS {
        let traffic = format!("[[connection]]\nname = \"f\"\nto = \"b\"\ntransport = \"tcp\"\n{keys}\n");
        check(&scenario("", &traffic), &[], &format!("a.toml:{at}: {said}"), *help);
    }
}

#[test]
fn cells_are_not_cut_again() {
    check(
        &scenario(
            "",
            "[[connection]]\nname = \"f\"\nadaptation = \"aal5\"\nto = \"b\"\ntransport = \"abr\"\n",
        ),
        &[],
        "a.toml:7:14: `abr` sends cells, which are not cut again",
        Some("leave out `adaptation`, and let `size` be that of a cell"),
    );
}

/// Rates are controlled in cells, and overhead would make them longer.
#[test]
fn a_port_that_controls_rates_has_no_overhead() {
    let text = "version = 1\nduration = \"1s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nfrom = \"a\"\n\
                to = \"b\"\nrate = \"10mbit\"\noverhead = 24\nrate_control = { kind = \"erica\", interval = \"5ms\" }\n\
                [[connection]]\nname = \"vc\"\nfrom = \"a\"\nto = \"b\"\nsize = \"48B\"\ntransport = \"abr\"\n";
    let errors = parse(text, &[]).unwrap_err().to_string();
    assert!(errors.contains("link a->b has overhead, and its port controls rates in cells"), "{errors}");
}
