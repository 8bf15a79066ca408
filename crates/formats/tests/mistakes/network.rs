//! Topologies, nodes, links, ports and classes.

use super::Mistake;

pub const NETWORK: &[Mistake] = &[
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
        "rate = \"2mbit\"\nbuffer = \"100p\"",
        "a.toml:19:1: this link has no key `buffer`",
        Some("there are from, to, rate and others; `buffer` is a key of `credit`, of `switch` and of others"),
    ),
    (
        "rate = \"2mbit\"",
        "trace = \"nowhere\"",
        "a.toml:18:9: cannot read tests/nowhere: No such file or directory",
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
        "trace = \"scenario.rs\"",
        "a.toml:18:9: tests/scenario.rs is not a trace of a link: line 1: expected a whole number of milliseconds up to \
         4294967295, found `//! Scenarios without mistakes, and their expanded form.`",
        Some("each line is the millisecond of one opportunity to deliver 1500 bytes, in order"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nchange = [{ at = \"0s\", rate = \"1mbit\" }]",
        "a.toml:19:18: a `change` comes later than the one before it, and than the start",
        Some("sort the changes by `at`"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nchange = [{ at = \"1s\" }]",
        "a.toml:19:11: this `change` changes nothing",
        Some("state its `rate`, its `delay` or its `state`"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nchange = [{ at = \"1s\", state = \"off\" }]",
        "a.toml:19:32: there is no state `off`",
        Some("it is one of up, down"),
    ),
    (
        "rate = \"2mbit\"",
        "trace = \"common/three.trace\"\nchange = [{ at = \"1s\", state = \"down\" }]",
        "a.toml:19:32: the rate of a link with a `trace` is that of the trace",
        Some("change its `delay` alone; an outage is a gap in the trace"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nrepeat = \"1s\"",
        "a.toml:19:10: `repeat` without a `change`: nothing comes again",
        None,
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nchange = [{ at = \"1s\", state = \"down\" }]\nrepeat = \"1s\"",
        "a.toml:20:10: `repeat` is not longer than the time of the last `change`",
        None,
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\njitter = { kind = \"pareto\", mean = \"1ms\", shape = 1 }",
        "a.toml:19:51: a shape of 1 has no mean: it takes a number above 1",
        None,
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = 1.5",
        "a.toml:19:8: `loss`: 1.5 is out of range",
        Some("it takes a number from 0 to 1"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = { kind = \"gilbert-elliott\", to_bad = 0.01, to_good = 1.5 }",
        "a.toml:19:61: `to_good`: 1.5 is out of range",
        Some("it takes a number from 0 to 1"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = { kind = \"gilbert-elliott\", to_bad = 0.01 }",
        "a.toml:19:8: loss `gilbert-elliott` needs `to_good`",
        Some(
            "Probability that the bad state turns good after a packet; `r` in netem. A bad state lasts for the inverse \
             of it on average, in packets",
        ),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = \"gilbert-elliott\"",
        "a.toml:19:8: loss `gilbert-elliott` needs `to_bad`",
        Some(
            "write { kind = \"gilbert-elliott\", to_bad = … }: Probability that the good state turns bad after a \
             packet; `p` in netem",
        ),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = { kind = \"gilbert\", to_bad = 0.01, to_good = 0.5 }",
        "a.toml:19:17: there is no loss `gilbert`",
        Some("did you mean `gilbert-elliott`?"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nloss = \"0.1\"",
        "a.toml:19:8: `loss` takes a number, not the text `0.1`",
        Some("write 0.1 without quotes"),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nreorder = 0.1",
        "a.toml:19:11: `reorder` needs a `reorder_delay` above zero",
        Some("add the extra delay of an overtaken packet, as in reorder_delay = \"5ms\""),
    ),
    (
        "rate = \"2mbit\"",
        "rate = \"2mbit\"\nreorder_delay = \"5ms\"",
        "a.toml:19:17: `reorder_delay` without `reorder`: no packet is delayed",
        None,
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
        Some(
            "it is one of switches, rate, delay, access; `hosts` is a key of topology `star`, of topology \
             `leaf-spine` and of others",
        ),
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
        "a.toml:7:51: `rate`: `mbps` in `1mbps` is not a unit of rate",
        Some(
            "`mbps` means megabytes per second to tc and megabits to most people, so it is not used; write \
             bits: `1mbit`, and eight times as many for bytes",
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
        Some("it takes no keys; `limit` is a key of dropper `drop-tail`, of dropper `red` and of others"),
    ),
    (
        "{ kind = \"drop-tail\", limit = \"100p\" }",
        "\"drop-tail\"",
        "a.toml:8:49: dropper `drop-tail` needs `limit`",
        Some(
            "write { kind = \"drop-tail\", limit = … }: Longest queue of the port, the packet in service \
             included, as in limit = \"100p\"",
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
        "a.toml:12:8: `name`: `s 9` is not a valid name",
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
        Some("did you mean `s1`? it is one of s1, s2, s3, h1, h2, h3, s9"),
    ),
    ("to = \"s1\"", "to = \"s9\"", "a.toml:17:6: a link ends at another node than it starts from", None),
    ("ceiling = \"1mbit\"", "duplex = \"no\"", "a.toml:21:10: `duplex` takes true or false, not text", None),
    (
        "[[class]]\nname = \"gold\"",
        "[[class]]\nname = \"early\"\nparent = \"gold\"\nscheduler = \"fifo\"\n[[class]]\nname = \"gold\"",
        "a.toml:25:10: class `early` stands before the class that contains it",
        Some("state that one first"),
    ),
    (
        "parent = \"gold\"",
        "parent = \"glod\"",
        "a.toml:30:10: there is no class `glod`",
        Some("did you mean `gold`?"),
    ),
    (
        "parent = \"gold\"",
        "parent = \"inner\"",
        "a.toml:30:10: class `inner` is nested too deeply, or contains itself",
        Some("at most 9 classes are in each other"),
    ),
];
