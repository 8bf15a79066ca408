//! Flows: ends, routes, contracts, times.

use super::Mistake;

pub const FLOWS: &[Mistake] = &[
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
    (
        "name = \"data\"\n",
        "",
        "a.toml:47:1: this flow needs `name`",
        Some("Name, unique among flows and connections"),
    ),
    (
        "to = \"h2\"\n",
        "to = \"h9\"\n",
        "a.toml:50:6: there is no node `h9`",
        Some("did you mean `h1`? it is one of s1, s2, s3, h1, h2, h3, s9"),
    ),
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
        "a.toml:40:11: 1024kbit is reserved on class `inner` (600kbit) on link s1->s2: flow `voice/10` is \
         the first that does not fit",
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
    (
        "class = \"inner\"",
        "peak = \"63kbit\"",
        "a.toml:41:8: `peak` (63kbit) is below `reserve` (64kbit)",
        None,
    ),
    (
        "class = \"inner\"",
        "workahead = \"159B\"",
        "a.toml:41:13: `workahead` (159B) is less than a packet (160B)",
        None,
    ),
    (
        "class = \"inner\"",
        "workahead = \"0B\"",
        "a.toml:41:13: `workahead`: `0B` is not a size: a size is at least 1B",
        None,
    ),
    (
        "priority = 3",
        "workahead = \"2kB\"",
        "a.toml:52:13: `workahead` has no effect on a flow without a reservation",
        Some("give it a `reserve`"),
    ),
];
