//! Sources and envelopes.

use super::Mistake;

const LONE_SOURCE: &str = "size = \"160B\"\nstop = \"50s\"\nsource = { kind = \"cbr\", rate = \"64kbit\" }";

pub const SOURCES: &[Mistake] = &[
    (
        "kind = \"cbr\", rate = \"64kbit\"",
        "kind = \"video\", file = \"scenario.rs\", fps = 25, spread = \"peak\"",
        "a.toml:44:69: neither this source nor its flow has the `peak` rate at which frames are sent",
        Some("give it a `peak`, as in peak = \"10mbit\""),
    ),
    (
        "kind = \"cbr\", rate = \"64kbit\"",
        "kind = \"video\", file = \"scenario.rs\", fps = 25, peak = \"1mbit\"",
        "a.toml:44:67: `peak` has no effect on packets that are spread over the frame",
        Some("leave it out, or say `spread = \"peak\"`"),
    ),
    (
        "kind = \"cbr\", rate = \"64kbit\"",
        "kind = \"video\", file = \"scenario.rs\"",
        "a.toml:44:10: source `video` needs `fps`",
        Some("Frames in a second"),
    ),
    (
        "kind = \"cbr\", rate = \"64kbit\"",
        "kind = \"video\", file = \"scenario.rs\", fps = 0",
        "a.toml:44:56: `fps`: 0 is out of range",
        Some("it takes a number from 0.001 to 1000000"),
    ),
    (
        "kind = \"on-off\", rate = \"100kbit\", peak = \"1mbit\", burst = 10, times = 2",
        "kind = \"video\", file = \"scenario.rs\", fps = 25",
        "a.toml:53:10: the packets of a video have one `size`; the last packet of a frame has the rest",
        None,
    ),
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
        Some("it is one of cbr, poisson, on-off, packet-train, greedy, trace, video, capture"),
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
        "a.toml:42:8: a `trace` has packet sizes of its own",
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
        "source = { kind = \"capture\", file = \"scenario.rs\" }",
        "a.toml:36:9: a capture that has its own flows cannot have a `count`",
        Some("name one of its flows with `flow`, or leave out `count`"),
    ),
    (
        LONE_SOURCE,
        "source = { kind = \"capture\", file = \"scenario.rs\", flow = \"udp 1.2.3.4:5\" }",
        "a.toml:42:59: `udp 1.2.3.4:5` is not a flow of a capture",
        Some(
            "expected a flow such as 10.0.0.1:5001>10.0.0.2:80/tcp, [::1]:5001>[::2]:80/udp, \
             10.0.0.1>10.0.0.2/icmp or other, or a pattern such as 10.0.0.1:80>*/tcp",
        ),
    ),
];
