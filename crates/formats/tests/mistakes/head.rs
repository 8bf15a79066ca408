//! The head of a scenario: version, duration, warm-up, seed.

use super::Mistake;

pub const HEAD: &[Mistake] = &[
    (
        "version = 1\n",
        "",
        "a.toml: this scenario has no `version`",
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
