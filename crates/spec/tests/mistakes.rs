//! Mistakes: each is answered with its file, its line, what is wrong, and what would be right.

mod common;

use common::{FULL, parse};
use tidegate_spec::{MOST_REPORTED, Scenario};

/// What is replaced in a good scenario, by what, and the first mistake: place, message, help.
type Mistake = (&'static str, &'static str, &'static str, Option<&'static str>);

const LONE_SOURCE: &str = "size = \"160B\"\nstop = \"50s\"\nsource = { kind = \"cbr\", rate = \"64kbit\" }";

const HEAD: &[Mistake] = &[
    (
        "version = 1\n",
        "",
        "a.toml: this scenario does not state its version",
        Some("write version = 1 in its first line"),
    ),
    (
        "version = 1",
        "version = 2",
        "a.toml:1:11: this is a version 2 scenario",
        Some("this tidegate reads version 1"),
    ),
    (
        "version = 1",
        "version = \"1\"",
        "a.toml:1:11: `version` is a whole number, not text",
        Some("this tidegate reads version 1"),
    ),
    (
        "duration = \"60s\"\n",
        "",
        "a.toml: this scenario needs `duration`",
        Some("Simulated time, above zero, as in duration = \"5ms\""),
    ),
    (
        "\"60s\"",
        "60",
        "a.toml:4:12: `duration`: a time needs a unit, and `60` has none",
        Some("write it as in `5ms`"),
    ),
    ("\"60s\"", "\"0s\"", "a.toml:4:12: `duration` is zero", None),
    ("\"60s\"", "1979-05-27", "a.toml:4:12: `duration` takes a time such as \"5ms\", not a date", None),
    (
        "\"5s\"",
        "\"60s\"",
        "a.toml:5:10: `warmup` (60s) is not shorter than `duration` (60s): nothing would be measured",
        None,
    ),
    (
        "seed = 7",
        "seed = -1",
        "a.toml:3:8: `seed`: -1 is out of range",
        Some("it takes a whole number from 0 to 9223372036854775807"),
    ),
    (
        "seed = 7",
        "seed = \"7\"",
        "a.toml:3:8: `seed` takes a number, not the text `7`",
        Some("write 7 without quotes"),
    ),
    (
        "seed = 7",
        "seed = 7.5",
        "a.toml:3:8: `seed` takes a whole number from 0 to 9223372036854775807, not a number with a point",
        None,
    ),
    ("seed = 7", "sed = 7", "a.toml:3:1: this scenario has no key `sed`", Some("did you mean `seed`?")),
    (
        "seed = 7",
        "sample = \"1ns\"",
        "a.toml:3:10: `sample` (1ns) gives more than 1000000 points in each series",
        None,
    ),
    ("seed = 7", "sample = \"0s\"", "a.toml:3:10: `sample` is zero", None),
    (
        "seed = 7",
        "seed =",
        "a.toml:3:7: not TOML: string values must be quoted, expected literal string",
        None,
    ),
    (
        "seed = 7",
        "seed = 7\nseed = 8",
        "a.toml:4:1: not TOML: duplicate key",
        Some("a table that occurs several times has double brackets: [[flow]]"),
    ),
    (
        "[[node]]",
        "[node]",
        "a.toml:11:1: `node` is a list of tables",
        Some("write [[node]] with double brackets"),
    ),
];

const NETWORK: &[Mistake] = &[
    (
        "rate = \"2mbit\"\n",
        "",
        "a.toml:15:1: this link needs `rate`, or a `trace` in its place",
        Some("Rate of each direction, as in rate = \"400kbit\""),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\ntrace = \"common/three.trace\"",
        "a.toml:19:9: this link has a `rate` and a `trace`",
        Some("a link has one of them"),
    ),
    (
        "rate = \"2mbit\"",
        "trace = \"nowhere\"",
        "a.toml:18:9: cannot read tests/nowhere: No such file or directory (os error 2)",
        Some("a relative path starts at the folder of this file"),
    ),
    (
        "rate = \"2mbit\"",
        "trace = \"common\"",
        "a.toml:18:9: cannot read tests/common: it is a folder",
        Some("a relative path starts at the folder of this file"),
    ),
    (
        "rate = \"2mbit\"",
        "trace = \"mistakes.rs\"",
        "a.toml:18:9: tests/mistakes.rs is no trace of a link: line 1: expected a whole number of milliseconds up to \
         4294967295, found `//! Mistakes: each is answered with its file, its line, what is`",
        Some("each line is the millisecond of one opportunity to deliver 1500 bytes, in order"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = 1.5",
        "a.toml:19:8: `loss`: 1.5 is out of range",
        Some("it takes a number from 0 to 1"),
    ),
    (
        "kind = \"chain\"",
        "kind = \"chian\"",
        "a.toml:7:21: there is no topology `chian`",
        Some("did you mean `chain`?"),
    ),
    (
        "switches = 3",
        "switches = 0",
        "a.toml:7:41: `switches`: 0 is out of range",
        Some("it takes a whole number from 1 to 100000"),
    ),
    (
        "switches = 3",
        "switches = 3, hosts = 3",
        "a.toml:7:44: topology `chain` has no key `hosts`",
        Some("it is one of switches, rate, delay, access"),
    ),
    (
        "rate = \"1mbit\", delay",
        "rate = 1000000, delay",
        "a.toml:7:51: `rate`: a rate needs a unit, and `1000000` has none",
        Some("write it as in `400kbit`"),
    ),
    (
        "rate = \"1mbit\", delay",
        "rate = \"1mbps\", delay",
        "a.toml:7:51: `rate`: `mbps` in `1mbps` is no unit of a rate",
        Some(
            "`mbps` means megabytes per second to tc and megabits to most people, so it is not used; write bits: `1mbit`, and eight times as many for bytes",
        ),
    ),
    (
        "\"virtual-clock\", dropper",
        "\"virtualclock\", dropper",
        "a.toml:8:22: there is no scheduler `virtualclock`",
        Some("did you mean `virtual-clock`?"),
    ),
    (
        "\"virtual-clock\", dropper",
        "{ kind = \"fifo\", limit = \"3p\" }, dropper",
        "a.toml:8:39: scheduler `fifo` has no key `limit`",
        Some("it takes no keys"),
    ),
    (
        "{ kind = \"drop-tail\", limit = \"100p\" }",
        "\"drop-tail\"",
        "a.toml:8:49: dropper `drop-tail` needs `limit`",
        Some(
            "write { kind = \"drop-tail\", limit = … }: Longest queue of the port, the packet in service included, as in limit = \"100p\"",
        ),
    ),
    (
        "limit = \"100p\"",
        "limit = 100",
        "a.toml:8:79: `limit`: a limit needs a unit, and `100` has none",
        Some("write it as in `100p` or `64kB`"),
    ),
    (
        "buffer = \"200p\"",
        "bufer = \"200p\"",
        "a.toml:9:12: `switch` has no key `bufer`",
        Some("did you mean `buffer`?"),
    ),
    (
        "name = \"s9\"",
        "name = \"s1\"",
        "a.toml:12:8: there is already a node `s1`",
        Some("the topology `chain` makes it"),
    ),
    (
        "name = \"s9\"",
        "name = \"s 9\"",
        "a.toml:12:8: `name`: `s 9` is no name",
        Some("a name is made of 1 to 64 letters A–Z and a–z, digits, `-` and `_`"),
    ),
    (
        "name = \"s9\"\n",
        "name = \"s9\"\nkind = \"host\"\n",
        "a.toml:14:10: `s9` is a host, and only a switch has a `buffer`",
        None,
    ),
    (
        "name = \"s9\"\n",
        "name = \"s9\"\nkind = \"router\"\n",
        "a.toml:13:8: there is no kind `router`",
        Some("it is one of switch, host"),
    ),
    (
        "from = \"s9\"\nto = \"s1\"",
        "from = \"s8\"\nto = \"s1\"",
        "a.toml:16:8: there is no node `s8`",
        Some("did you mean `s1`?"),
    ),
    ("to = \"s1\"", "to = \"s9\"", "a.toml:17:6: a link ends at another node than it starts from", None),
    ("ceiling = \"1mbit\"", "duplex = \"no\"", "a.toml:21:10: `duplex` takes true or false, not text", None),
    (
        "parent = \"gold\"",
        "parent = \"glod\"",
        "a.toml:30:10: there is no class `glod`",
        Some("did you mean `gold`?"),
    ),
    (
        "parent = \"gold\"",
        "parent = \"inner\"",
        "a.toml:30:10: class `inner` is too deep, or part of itself",
        Some("a port's schedulers are at most 3 deep: the port's own, a class, a class in it"),
    ),
];

const FLOWS: &[Mistake] = &[
    (
        "class = \"inner\"",
        "class = \"iner\"",
        "a.toml:41:9: there is no class `iner`",
        Some("did you mean `inner`?"),
    ),
    (
        "class = \"inner\"",
        "class = \"gold\"",
        "a.toml:41:9: class `gold` has classes in it, so no flow can be in it",
        Some("put the flow into one of those classes"),
    ),
    ("name = \"data\"", "name = \"voice\"", "a.toml:48:8: there is already a flow `voice`", None),
    ("name = \"data\"\n", "", "a.toml:47:1: this flow needs `name`", Some("Name, which no other flow has")),
    ("to = \"h2\"\n", "to = \"h9\"\n", "a.toml:50:6: there is no node `h9`", Some("did you mean `h1`?")),
    ("to = \"h2\"\n", "to = \"s9\"\n", "a.toml:50:6: this flow goes from `s9` to itself", None),
    (
        "count = 8",
        "count = 5000000",
        "a.toml:36:9: `count`: 5000000 is out of range",
        Some("it takes a whole number from 1 to 4000000"),
    ),
    (
        "count = 8",
        "count = 16",
        "a.toml:40:11: 1024kbit is reserved on class `inner` (600kbit) on link s1->s2: flow `voice/10` is the first that does not fit",
        Some("reserve less, or reserve more for the class"),
    ),
    (
        "priority = 3",
        "reserve = \"600kbit\"",
        "a.toml:52:11: 1200kbit is reserved on link s1->s2 (1mbit): flow `data` is the first that does not fit",
        Some("reserve less, or make the link faster"),
    ),
    (
        "class = \"inner\"",
        "ceiling = \"1kbit\"",
        "a.toml:41:11: `ceiling` (1kbit) is below `reserve` (64kbit)",
        None,
    ),
    ("\"s2\", \"s3\", \"h3\"", "\"s3\", \"h3\"", "a.toml:39:22: there is no link from `s1` to `s3`", None),
    ("\"s2\", \"s3\", \"h3\"", "\"s2\", \"s1\", \"h3\"", "a.toml:39:28: this route passes `s1` twice", None),
    (
        "\"s2\", \"s3\", \"h3\"",
        "\"s2\", \"h2\", \"h3\"",
        "a.toml:39:28: `h2` is a host, and only switches forward",
        None,
    ),
    (
        "\"s2\", \"s3\", \"h3\"]",
        "\"s2\", \"s3\"]",
        "a.toml:39:9: this route does not lead from h1 to h3",
        Some("name both ends and every switch between them"),
    ),
    (
        "size = \"160B\"\n",
        "",
        "a.toml:34:1: flow `voice` needs `size`",
        Some("Size of its packets, as in size = \"250B\""),
    ),
    ("size = \"160B\"", "size = \"2MiB\"", "a.toml:42:8: `size` is above 1 MiB (1048576B)", None),
    (
        "size = \"160B\"",
        "size = [\"160B\", 3]",
        "a.toml:42:17: `size`: a size needs a unit, and `3` has none",
        Some("write it as in `250B`"),
    ),
    ("size = \"160B\"", "size = []", "a.toml:42:8: `size` is empty", None),
    (
        "size = \"160B\"",
        "size = \"900B\"",
        "a.toml:45:39: `burst` (800B) is smaller than the largest packet (900B)",
        None,
    ),
    ("stop = \"50s\"", "stop = \"0s\"", "a.toml:43:8: `stop` is not later than `start`", None),
];

const SOURCES: &[Mistake] = &[
    (
        "\"cbr\", rate = \"64kbit\"",
        "\"cbr\"",
        "a.toml:44:10: source `cbr` needs `rate`",
        Some("Mean rate, counted in whole packets, as in rate = \"400kbit\""),
    ),
    (
        "\"cbr\", rate = \"64kbit\"",
        "\"cbr\", raet = \"64kbit\", rate = \"1kbit\"",
        "a.toml:44:26: source `cbr` has no key `raet`",
        Some("did you mean `rate`?"),
    ),
    (
        "kind = \"cbr\", rate",
        "rate",
        "a.toml:44:10: this source needs `kind`",
        Some("it is one of cbr, poisson, on-off, packet-train, greedy, trace, capture"),
    ),
    (
        "kind = \"cbr\", rate",
        "kind = 3, rate",
        "a.toml:44:19: `kind` is the name of a source, not a whole number",
        None,
    ),
    (
        "peak = \"1mbit\"",
        "peak = \"1kbit\"",
        "a.toml:53:54: `peak` (1kbit) is below the mean `rate` (100kbit)",
        None,
    ),
    (
        "peak = \"1mbit\"",
        "peak = \"9tbit\"",
        "a.toml:53:83: 2 times the `peak` of 9tbit is more than 10tbit",
        None,
    ),
    (
        "times = 2",
        "times = nan",
        "a.toml:53:83: `times`: NaN is out of range",
        Some("it takes a number from 1 to 1000"),
    ),
    (
        "\"cbr\", rate = \"64kbit\"",
        "\"packet-train\", rate = \"64kbit\", gap = \"1s\"",
        "a.toml:44:58: trains of 5 packets with `gap` 1s between them take longer than 64kbit allows",
        Some("shorten the gap, or leave it out"),
    ),
    (
        "\"cbr\", rate = \"64kbit\"",
        "\"trace\", file = \"nowhere\"",
        "a.toml:42:8: a `trace` brings the sizes of its packets",
        Some("leave out `size`"),
    ),
    (
        LONE_SOURCE,
        "source = { kind = \"trace\", file = \"common\" }",
        "a.toml:42:35: cannot read tests/common: it is a folder",
        Some("a relative path starts at the scenario file's folder"),
    ),
    (
        LONE_SOURCE,
        "source = { kind = \"capture\", file = \"mistakes.rs\" }",
        "a.toml:36:9: a capture that brings its own flows cannot have a `count`",
        Some("name one of its flows with `flow`, or leave out `count`"),
    ),
    (
        LONE_SOURCE,
        "source = { kind = \"capture\", file = \"mistakes.rs\", flow = \"udp 1.2.3.4:5\" }",
        "a.toml:42:59: `udp 1.2.3.4:5` is no flow of a capture",
        Some(
            "expected a flow such as 10.0.0.1:5001>10.0.0.2:80/tcp, [::1]:5001>[::2]:80/udp, 10.0.0.1>10.0.0.2/icmp or other, or a pattern such as 10.0.0.1:80>*/tcp",
        ),
    ),
    (
        "envelope = { rate = \"64kbit\", burst",
        "envelope = { burst",
        "a.toml:45:12: envelope `token-bucket` needs `rate`",
        Some("Rate at which the bucket refills, as in rate = \"400kbit\""),
    ),
];

const OVERRIDES: &[(&str, &str, &str, Option<&str>)] = &[
    (
        "duraton",
        "1s",
        "--set duraton=1s: this scenario has no key `duraton`",
        Some("did you mean `duration`?"),
    ),
    (
        "duration",
        "1",
        "--set duration=1: `duration`: a time needs a unit, and `1` has none",
        Some("write it as in `5ms`"),
    ),
    ("duration.x", "1", "--set duration.x=1: `duration` has no keys in it", None),
    (
        "flow",
        "1",
        "--set flow=1: `flow` is a whole table: name one of its keys",
        Some("as in `flow.NAME.count`"),
    ),
    (
        "flow.voise.count",
        "1",
        "--set flow.voise.count=1: this scenario has no flow `voise`",
        Some("did you mean `voice`?"),
    ),
    (
        "flow.voice.source.raet",
        "1",
        "--set flow.voice.source.raet=1: `cbr` has no key `raet`",
        Some("did you mean `rate`?"),
    ),
    (
        "port.scheduler",
        "fif",
        "--set port.scheduler=fif: there is no scheduler `fif`",
        Some("did you mean `fifo`?"),
    ),
    (
        "link.s1-s2.rate",
        "1mbit",
        "--set link.s1-s2.rate=1mbit: this scenario has no link `s1-s2`",
        Some("the only one is `s9-s1`"),
    ),
    ("topology.kind", "star", "a.toml:7:12: topology `star` needs `hosts`", Some("Number of hosts")),
];

fn check(text: &str, sets: &[(&str, &str)], first: &str, help: Option<&str>) {
    let errors = match parse(text, sets) {
        Ok(_) => panic!("no mistake was found, and {first} was expected"),
        Err(errors) => errors,
    };
    let shown = errors.errors[0].to_string();
    assert_eq!(shown.lines().next(), Some(first), "{errors}");
    assert_eq!(errors.errors[0].help.as_deref(), help, "{errors}");
}

#[test]
fn every_mistake_is_placed_and_explained() {
    for (good, bad, first, help) in [HEAD, NETWORK, FLOWS, SOURCES].into_iter().flatten() {
        assert!(FULL.contains(good), "{good}");
        check(&FULL.replacen(good, bad, 1), &[], first, *help);
    }
}

#[test]
fn overrides_are_checked_like_the_file() {
    for (path, value, first, help) in OVERRIDES {
        check(FULL, &[(path, value)], first, *help);
    }
}

#[test]
fn a_mistake_is_shown_in_its_line() {
    let errors =
        parse(&FULL.replace("\"virtual-clock\", dropper", "\"virtualclock\", dropper"), &[]).unwrap_err();
    let expected = "\
a.toml:8:22: there is no scheduler `virtualclock`
  8 | port = { scheduler = \"virtualclock\", dropper = { kind = \"drop-tail\", limit = \"100p\" } }
    |                      ^^^^^^^^^^^^^^
  help: did you mean `virtual-clock`?";
    assert_eq!(errors.to_string(), expected);
}

#[test]
fn independent_mistakes_are_listed_together_up_to_a_limit() {
    let text =
        FULL.replace("seed = 7", "sed = 7").replace("count = 8", "count = 0").replace("\"1kB\"", "\"1KB\"");
    let errors = parse(&text, &[]).unwrap_err();
    assert_eq!(errors.errors.iter().map(|error| error.line).collect::<Vec<_>>(), [3, 36, 59]);
    let many: String = (0..100).map(|index| format!("key{index} = 1\n")).collect();
    let errors = parse(&format!("version = 1\n{many}"), &[]).unwrap_err();
    assert_eq!((errors.errors.len(), errors.truncated), (MOST_REPORTED, true));
    assert!(errors.to_string().ends_with("only the first 20 mistakes are listed"));
}

#[test]
fn there_must_be_a_way() {
    let text = FULL.replace("ceiling = \"1mbit\"", "duplex = false").replace("to = \"h2\"", "to = \"s2\"");
    let text = text.replace("from = \"h2\"\nto = \"h3\"", "from = \"h2\"\nto = \"s9\"");
    check(
        &text,
        &[],
        "a.toml:58:6: no route from h2 to s9",
        Some("only switches forward, and a link with duplex = false goes one way"),
    );
}

#[test]
fn hostile_texts_are_refused() {
    for text in [
        format!("a{} = 1", ".a".repeat(10_000)),
        format!("a = {}", "[".repeat(100_000)),
        format!("a = {}", "{a=".repeat(100_000)),
        "[[flow]]\n".repeat(10_000),
        format!("version = 1\nduration = \"{}\"", "9".repeat(100_000)),
        " ".repeat((8 << 20) + 1),
    ] {
        let errors = parse(&text, &[]).unwrap_err();
        assert!(errors.to_string().len() < 10_000, "{errors}");
    }
}

#[test]
fn files_that_are_no_scenarios_are_refused() {
    let folder = std::env::temp_dir().join(format!("tidegate-spec-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let load =
        |name: &str| Scenario::load(&folder.join(name), &[]).map(|_| ()).map_err(|errors| errors.to_string());
    std::fs::write(folder.join("latin.toml"), b"version = 1\nname = \"\xe9\"\n").unwrap();
    // A sparse file: 100 MB that nothing may read.
    std::fs::File::create(folder.join("huge.toml")).unwrap().set_len(100_000_000).unwrap();
    std::fs::write(folder.join("fine.toml"), "version = 1\nduration = \"1s\"\n").unwrap();
    for (name, expected) in [
        ("none.toml", "cannot be read: No such file"),
        ("latin.toml", "is not text: line 2 is not UTF-8"),
        ("huge.toml", "is too large for a scenario: 100 MB, and at most 8 MiB are read"),
        (".", "is a folder, not a scenario file"),
    ] {
        let message = load(name).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
    assert_eq!(load("fine.toml"), Ok(()));
    std::fs::remove_dir_all(&folder).unwrap();
}
