//! Connections, and flows with several destinations.

use super::{Mistake, check};

/// A connection and a flow with several destinations, without mistakes.
const GOOD: &str = r#"version = 1
duration = "1s"
topology = { kind = "chain", switches = 3, rate = "1mbit", access = {} }
[[node]]
name = "s9"
[[link]]
from = "s3"
to = "s9"
rate = "1mbit"
duplex = true
[[connection]]
name = "web"
count = 2
from = "h1"
to = "h3"
transport = { kind = "window", window = 5, timeout = "2s" }
size = "1kB"
reserve = "100kbit"
answers = { reserve = "10kbit" }
stop = "1s"
[[flow]]
name = "video"
from = "h1"
to = ["h2", "h3", "s9"]
size = "500B"
reserve = "100kbit"
source = { kind = "cbr", rate = "100kbit" }
"#;

const CONNECTIONS: &[Mistake] = &[
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = \"bulky\"",
        "a.toml:18:8: there is no application `bulky`",
        Some("did you mean `bulk`?"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\" }",
        "a.toml:18:8: `window` sends endless data, and takes no transfers",
        Some("leave `data` out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"on-off-data\", rate = \"1mbit\", on = \"1s\", off = \"1s\" }",
        "a.toml:18:8: `window` sends endless data, and takes no on-off data",
        Some("leave `data` out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"on-off-data\", rate = \"1mbit\", on = \"1s\" }",
        "a.toml:18:8: application `on-off-data` needs `off`",
        Some("Length of an off period, above 0, as in off = \"5ms\""),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\nweight = 2",
        "a.toml:18:10: `weight` has no effect on a flow without a `profile`",
        Some("name the [[profile]] that is divided"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ncolour = \"blue\"",
        "a.toml:18:10: there is no colour `blue`",
        Some("it is one of green, yellow, red"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\" }",
        "a.toml:18:8: transfers need a `size`, or a `file` with the distribution of sizes",
        Some("give them a size, as in size = \"100kB\""),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\", file = \"a\" }",
        "a.toml:18:51: transfers have a `size`, or a `file` of sizes, and not both",
        Some("leave one of them out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", file = \"a\", sizes = \"exponential\" }",
        "a.toml:18:50: `sizes` has no effect on transfers whose sizes are in a `file`",
        Some("leave it out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\", sizes = \"hadoop\" }",
        "a.toml:18:37: `size` has no effect on transfers of a published distribution",
        Some("leave out `size` or `sizes`"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = [\"9kB\", \"1kB\"], sizes = \"exponential\" }",
        "a.toml:18:37: `size` is a list, and an exponential distribution has one mean",
        Some("leave out `sizes`, or give one size"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\", arrivals = \"poisson\" }",
        "a.toml:18:8: `arrivals = \"poisson\"` needs a `load`",
        Some("the load of the slowest link on the route, as in load = 0.5"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\", once = true, load = 0.5 }",
        "a.toml:18:64: `load` has no effect without `arrivals = \"poisson\"`",
        Some("add arrivals = \"poisson\", or leave it out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\", once = true, think = \"1s\" }",
        "a.toml:18:65: `think` has no effect on connections with a single transfer",
        Some("leave it out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\ndata = { kind = \"transfers\", size = \"9kB\", arrivals = \"poisson\", load = 1, thinks = \"fixed\" }",
        "a.toml:18:85: `thinks` has no effect with `arrivals = \"poisson\"`",
        Some("leave it out"),
    ),
    (
        "size = \"1kB\"",
        "size = \"1kB\"\nevery = \"1s\"\n\
         data = { kind = \"transfers\", size = \"9kB\", arrivals = \"poisson\", load = 1, once = true }",
        "a.toml:18:9: `every` and the `load` of transfers both say when connections start",
        Some("leave out one of them"),
    ),
    (
        "kind = \"window\"",
        "kind = \"windo\"",
        "a.toml:16:22: there is no transport `windo`",
        Some("did you mean `window`?"),
    ),
    (
        "{ kind = \"window\", window = 5, timeout = \"2s\" }",
        "\"widow\"",
        "a.toml:16:13: there is no transport `widow`",
        Some("did you mean `window`?"),
    ),
    (
        "window = 5",
        "windows = 5",
        "a.toml:16:32: transport `window` has no key `windows`",
        Some("did you mean `window`?"),
    ),
    (
        "window = 5",
        "window = 0",
        "a.toml:16:41: `window`: 0 is out of range",
        Some("it takes a whole number from 1 to 1000000"),
    ),
    (
        "timeout = \"2s\"",
        "timeout = \"30us\"",
        "a.toml:16:54: `timeout` (0.00003s) is shorter than the first link takes to send the whole window, \
         0.00004s",
        None,
    ),
    (
        "timeout = \"2s\"",
        "acknowledgement = \"2MiB\"",
        "a.toml:16:13: acknowledgements of this transport (2097152B) are above 1 MiB (1048576B)",
        None,
    ),
    ("size = \"1kB\"", "size = \"2MB\"", "a.toml:17:8: `size` is above 1 MiB (1048576B)", None),
    (
        "transport = {",
        "transprt = {",
        "a.toml:11:1: connection `web` needs `transport`",
        Some("Protocol of the sender and the receiver"),
    ),
    (
        "count = 2",
        "count = 3000000",
        "a.toml:13:9: `count`: 3000000 is out of range",
        Some("it takes a whole number from 1 to 2000000"),
    ),
    (
        "name = \"web\"\ncount = 2",
        "name = \"web\"\ncount = 2000000",
        "a.toml:13:9: with `web` there are more than 4000000 flows",
        None,
    ),
    ("name = \"web\"", "name = \"video\"", "a.toml:12:8: there is already a flow `video`", None),
    (
        "to = \"h3\"",
        "to = \"h4\"",
        "a.toml:15:6: there is no node `h4`",
        Some("did you mean `h1`? it is one of s1, s2, s3, h1, h2, h3, s9"),
    ),
    ("to = \"h3\"", "to = \"h1\"", "a.toml:15:6: this flow goes from `h1` to itself", None),
    (
        "duplex = true\n[[connection]]\nname = \"web\"\ncount = 2\nfrom = \"h1\"\nto = \"h3\"",
        "duplex = false\n[[connection]]\nname = \"web\"\ncount = 2\nfrom = \"h1\"\nto = \"s9\"",
        "a.toml:15:6: acknowledgements have no route back from s9 to h1",
        Some("a link with duplex = false goes one way"),
    ),
    (
        "answers = { reserve = \"10kbit\" }",
        "answers = { reserv = \"10kbit\" }",
        "a.toml:19:13: `answers` has no key `reserv`",
        Some("did you mean `reserve`?"),
    ),
    (
        "answers = { reserve = \"10kbit\" }",
        "answers = { interval = \"1s\" }",
        "a.toml:19:24: `interval` has no effect on a flow without a reservation",
        Some("give it a `reserve`"),
    ),
    (
        "answers = { reserve = \"10kbit\" }",
        "answers = { class = \"gold\" }",
        "a.toml:19:21: there is no class `gold`",
        Some("add a [[class]]"),
    ),
    (
        "answers = { reserve = \"10kbit\" }",
        "answers = { reserve = \"600kbit\" }",
        "a.toml:19:23: 1200kbit is reserved on link s2->s1 (1mbit): flow `web/ack/2` is the first that does \
         not fit",
        Some("reserve less, or make the link faster"),
    ),
    ("stop = \"1s\"", "stop = \"0s\"", "a.toml:20:8: `stop` is not later than `start`", None),
    (
        "duration = \"1s\"",
        "duration = \"1s\"\nadmission = {}",
        "a.toml:19:11: flow `web` of a connection reserves, and `admission` sets up no connections",
        Some("leave out `reserve` or `admission`"),
    ),
];

const MULTICAST: &[Mistake] = &[
    ("[\"h2\", \"h3\", \"s9\"]", "[]", "a.toml:24:6: `to` is empty", None),
    (
        "[\"h2\", \"h3\", \"s9\"]",
        "3",
        "a.toml:24:6: `to` takes a name, or a list of names, not a whole number",
        None,
    ),
    (
        "\"h2\", ",
        "\"h5\", ",
        "a.toml:24:7: there is no node `h5`",
        Some("did you mean `h1`? it is one of s1, s2, s3, h1, h2, h3, s9"),
    ),
    ("\"h2\", ", "\"h1\", ", "a.toml:24:7: this flow goes from `h1` to itself", None),
    ("\"h2\", ", "\"h3\", ", "a.toml:24:13: `h3` is named twice", None),
    (
        "\"h2\", ",
        "\"s2\", ",
        "a.toml:24:7: `s2` is on the way to another destination, and only the ends of the tree receive",
        Some("give `s2` a flow of its own"),
    ),
    (
        "size = \"500B\"",
        "size = \"500B\"\nroute = [\"h1\", \"s1\", \"s2\", \"h2\"]",
        "a.toml:26:9: a flow with several destinations takes the shortest routes to them",
        Some("leave out `route`"),
    ),
    (
        "size = \"500B\"",
        "size = \"500B\"\ninterval = \"1s\"\nwarned = \"slow\"",
        "a.toml:27:10: a flow with several destinations cannot respond to warnings",
        Some("leave out `warned`"),
    ),
    (
        "from = \"h1\"\nto = [\"h2\", \"h3\", \"s9\"]",
        "from = \"s2\"\nto = [\"h2\", \"h3\", \"s9\"]\nenvelope = { rate = \"100kbit\", burst = \"1kB\" }",
        "a.toml:25:12: this `envelope` needs one first link, and the routes of this flow fork at its source",
        Some("start at a host with one link"),
    ),
    (
        "from = \"h1\"\nto = [\"h2\", \"h3\", \"s9\"]\nsize = \"500B\"\nreserve = \"100kbit\"\nsource = { \
         kind = \"cbr\", rate = \"100kbit\" }",
        "from = \"s2\"\nto = [\"h2\", \"h3\", \"s9\"]\nsize = \"500B\"\nreserve = \"100kbit\"\nsource = \
         \"greedy\"",
        "a.toml:27:10: this `source` needs one first link, and the routes of this flow fork at its source",
        Some("start at a host with one link"),
    ),
    (
        "reserve = \"100kbit\"\nsource",
        "reserve = \"900kbit\"\nsource",
        "a.toml:18:11: 1100kbit is reserved on link s1->s2 (1mbit): flow `web/2` is the first that does not \
         fit",
        Some("reserve less, or make the link faster"),
    ),
];

#[test]
fn what_connections_and_several_destinations_need() {
    super::parse(GOOD, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    for (good, bad, first, help) in [CONNECTIONS, MULTICAST].into_iter().flatten() {
        assert!(GOOD.contains(good), "{good}");
        check(&GOOD.replacen(good, bad, 1), &[], first, *help);
    }
}

#[test]
fn several_destinations_are_not_set_up() {
    let text = GOOD.replace("duration = \"1s\"", "duration = \"1s\"\nadmission = {}");
    let text = text.replace("reserve = \"100kbit\"\nanswers = { reserve = \"10kbit\" }\n", "");
    check(
        &text,
        &[],
        "a.toml:25:11: flow `video` reserves for several destinations, and `admission` sets up one route",
        Some("leave out `reserve` or `admission`"),
    );
}

/// Only a plain flow states the headers that a gate needs.
#[test]
fn neither_passes_a_gate() {
    let folder = std::env::temp_dir().join(format!("tidegate-connections-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let gate = "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"2mbit\" }\n";
    std::fs::write(folder.join("gate.toml"), gate).unwrap();
    let head = "version = 1\nduration = \"1s\"\ntopology = { kind = \"gate\", file = \"gate.toml\" }\n\
                [[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
                [[link]]\nfrom = \"outside\"\nto = \"a\"\nrate = \"1mbit\"\n\
                [[link]]\nfrom = \"outside\"\nto = \"b\"\nrate = \"1mbit\"\n";
    let expect = |what: &str, first: &str| {
        let errors =
            tidegate_formats::Scenario::parse(&format!("{head}{what}"), "a.toml", &folder, &[]).unwrap_err();
        assert_eq!(errors.errors[0].to_string().lines().next(), Some(first), "{errors}");
    };
    expect(
        "[[connection]]\nname = \"c\"\nfrom = \"inside\"\nto = \"outside\"\nsize = \"1kB\"\ntransport = \
         \"window\"",
        "a.toml:16:1: connection `c` passes a gate, which needs the headers of its packets",
    );
    let passing = |more: &str| {
        format!(
            "[[connection]]\nname = \"c\"\ncount = 3\nfrom = \"inside\"\nto = \"outside\"\nsize = \"1kB\"\n\
             transport = \"window\"\nheaders = {{ flow = \"10.0.0.1:5001>192.0.2.1:443/tcp\" }}\n{more}"
        )
    };
    expect(
        &passing("reserve = \"1kbit\""),
        "a.toml:24:11: `reserve` has no effect: only the gate is on the route",
    );
    expect(
        &passing("answers = { ceiling = \"1kbit\" }"),
        "a.toml:24:23: `ceiling` has no effect: only the gate is on the route",
    );
    expect(&passing("adaptation = \"aal5\""), "a.toml:24:14: a gate has whole packets");
    let other = passing("").replace("10.0.0.1:5001>192.0.2.1:443/tcp", "10.0.0.1:5001");
    expect(&other, "a.toml:23:20: `10.0.0.1:5001` is not a flow");
    let elsewhere = passing("").replace("inside", "a").replace("to = \"outside", "to = \"b");
    expect(&elsewhere, "a.toml:23:11: `headers` have no effect: no gate is on the route");
    expect(
        "[[flow]]\nname = \"m\"\nfrom = \"inside\"\nto = [\"a\", \"b\"]\nsize = \"1kB\"\n\
         source = { kind = \"cbr\", rate = \"1mbit\" }\nheaders = { flow = \"10.0.0.1>192.0.2.1/icmp\" }",
        "a.toml:19:6: a flow with several destinations cannot pass a gate",
    );
    std::fs::remove_dir_all(&folder).unwrap();
}
