//! Random scenarios with a given set of features, each of which decides what becomes of packets.
#![allow(dead_code, reason = "every test file uses a part of it")]

mod abr;
mod credit;

use std::fmt::Write;
use std::path::Path;
use tidegate_core::rng::Rng;

/// The features.
pub const FEATURES: &[&str] = &[
    credit::STATIC,
    credit::ADAPTIVE,
    credit::VIRTUAL_LINK,
    "envelope",
    "signalling",
    abr::RATE_CONTROL,
    abr::VSVD,
    "multicast",
    "aal5",
    "monitors",
    "dropper",
    "buffer",
    "trace",
    "loss",
    "reordering",
    "ceilings",
    "tdm",
    "warm-up",
];

/// Keys that scenarios with some of them have.
pub const KEYS: &[&str] = &[
    // One line each.
    "aal5",
    "to = [",
    abr::KEY,
    credit::KEY,
];

/// A scenario with these features, and its file of opportunities written to `folder`.
pub fn scenario(rng: &mut Rng, features: &[&str], folder: &Path) -> String {
    Draw { rng, features }.scenario(folder)
}

struct Draw<'a> {
    rng: &'a mut Rng,
    features: &'a [&'a str],
}

impl Draw<'_> {
    fn has(&self, feature: &str) -> bool {
        self.features.contains(&feature)
    }

    fn one(&mut self, of: &[&'static str]) -> &'static str {
        of[self.rng.below(of.len() as u64) as usize]
    }

    fn scenario(&mut self, folder: &Path) -> String {
        let mut text = String::from("version = 1\nduration = \"300ms\"\n");
        if self.has("warm-up") {
            writeln!(text, "warmup = \"{}us\"", 1 + self.rng.below(200_000)).unwrap();
        }
        if self.has("buffer") {
            let push_out = self.one(&["shares", "longest-queue"]);
            let buffer = match self.needs_memory() {
                true => 900 + self.rng.below(200),
                false => 1 + self.rng.below(30),
            };
            writeln!(text, "switch = {{ buffer = \"{buffer}p\", push_out = \"{push_out}\" }}").unwrap();
        }
        if self.has("signalling") {
            text.push_str("admission = { datagrams = 0.25 }\n");
        }
        let port = self.port();
        writeln!(text, "port = {{ {port} }}").unwrap();
        for node in ["s1", "s2", "s3"] {
            writeln!(text, "[[node]]\nname = \"{node}\"").unwrap();
        }
        for node in ["a", "b", "x", "y"] {
            writeln!(text, "[[node]]\nname = \"{node}\"\nkind = \"host\"").unwrap();
        }
        for (from, to, rate) in [
            ("a", "s1", 4000),
            ("b", "s1", 2000),
            ("s1", "s2", 800),
            ("s2", "s3", 700),
            ("s3", "x", 900),
            ("s3", "y", 300),
        ] {
            self.link(&mut text, from, to, rate, folder);
        }
        if self.has("ceilings") {
            text.push_str(
                "[[class]]\nname = \"c\"\nscheduler = \"fifo\"\nceiling = \"300kbit\"\n\
                 [[class]]\nname = \"e\"\nscheduler = \"fifo\"\nceiling = \"400kbit\"\n\
                 [[class]]\nname = \"d\"\nscheduler = \"round-robin\"\nparent = \"e\"\nceiling = \"200kbit\"\n",
            );
        }
        self.flows(&mut text);
        text
    }

    /// Returns true if a feature gives flows memory of their own at switches.
    fn needs_memory(&self) -> bool {
        let needs: &[fn(&Self) -> bool] = &[
            // One line each.
            credit::is_used,
        ];
        needs.iter().any(|needs| needs(self))
    }

    fn port(&mut self) -> String {
        let mut keys = Vec::new();
        let scheduler = match self.has("tdm") {
            true => "{ kind = \"tdm\", slot = \"1000B\", slots = 9 }",
            false => self.one(&[
                "\"fifo\"",
                "\"virtual-clock\"",
                "\"drr\"",
                "\"wf2q-plus\"",
                "\"strict-priority\"",
                "\"jitter-edd\"",
                "\"fq-codel\"",
            ]),
        };
        keys.push(format!("scheduler = {scheduler}"));
        if self.has("dropper") {
            let dropper = self.one(&[
                "{ kind = \"drop-tail\", limit = \"4p\" }",
                "{ kind = \"codel\", target = \"2ms\", interval = \"20ms\" }",
                "{ kind = \"red\", min_th = \"2p\", max_th = \"6p\", limit = \"9p\" }",
            ]);
            keys.push(format!("dropper = {dropper}"));
        }
        if self.has("monitors") {
            let meter = self.one(&["\"flow-monitor\"", "{ kind = \"policer\" }"]);
            keys.push(format!("meter = {meter}"));
        }
        abr::add(self, &mut keys);
        keys.join(", ")
    }

    fn link(&mut self, text: &mut String, from: &str, to: &str, rate: u64, folder: &Path) {
        write!(text, "[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\ndelay = \"{}us\"\n", self.rng.below(4000))
            .unwrap();
        let is_second = (from, to) == ("s2", "s3");
        if self.has("trace") && (is_second || self.rng.chance(0.2)) {
            let name = format!("{from}-{to}.trace");
            let mut at = 0;
            let lines: String = (0..60)
                .map(|_| {
                    at += self.rng.below(12) * self.rng.below(4);
                    format!("{at}\n")
                })
                .collect();
            std::fs::write(folder.join(&name), format!("{lines}{}\n", at + 3)).unwrap();
            writeln!(text, "trace = \"{name}\"").unwrap();
        } else {
            writeln!(text, "rate = \"{rate}kbit\"").unwrap();
        }
        if self.has("loss") && self.rng.chance(0.6) {
            writeln!(text, "loss = {}", self.one(&["0.05", "0.3", "1"])).unwrap();
        }
        if self.has("reordering") && self.rng.chance(0.6) {
            text.push_str("reorder = 0.2\nreorder_delay = \"5ms\"\n");
        }
        if self.has("ceilings") && self.rng.chance(0.5) {
            writeln!(text, "ceiling = \"{}kbit\"", 150 + self.rng.below(400)).unwrap();
        }
        credit::add(self, text, (from, to), rate);
    }

    fn flows(&mut self, text: &mut String) {
        for (name, from, to) in [("f", "a", "x"), ("g", "b", "y"), ("h", "a", "y")] {
            let is_first = name == "f";
            let to = match self.has("multicast") && is_first {
                true => "[\"x\", \"y\"]".to_owned(),
                false => format!("\"{to}\""),
            };
            let size = self.one(&["\"500B\"", "\"200B\"", "[\"200B\", \"1000B\"]"]);
            write!(text, "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = {to}\nsize = {size}\n")
                .unwrap();
            let rate = 50 + self.rng.below(450);
            match self.rng.below(3) {
                0 => writeln!(text, "source = {{ kind = \"cbr\", rate = \"{rate}kbit\" }}").unwrap(),
                1 => writeln!(text, "source = {{ kind = \"poisson\", rate = \"{rate}kbit\" }}").unwrap(),
                _ => writeln!(
                    text,
                    "source = {{ kind = \"on-off\", rate = \"{rate}kbit\", peak = \"5mbit\", burst = 12 }}"
                )
                .unwrap(),
            }
            if self.rng.chance(0.3) {
                writeln!(text, "deadline = \"{}ms\"", 20 + self.rng.below(60)).unwrap();
            }
            let reserve = 20 + self.rng.below(60);
            let needs = self.has("tdm") || self.has("monitors") || self.has("signalling");
            if needs || self.rng.chance(0.4) {
                writeln!(text, "reserve = \"{reserve}kbit\"\ninterval = \"500ms\"").unwrap();
            }
            if self.has("envelope") && (is_first || self.rng.chance(0.5)) {
                let queue = self.one(&["", ", queue = \"5p\"", ", queue = \"5p\""]);
                writeln!(text, "envelope = {{ rate = \"{}kbit\", burst = \"1000B\"{queue} }}", reserve + 40)
                    .unwrap();
            }
            if self.has("aal5") && (!is_first || !self.has("multicast")) {
                text.push_str("adaptation = \"aal5\"\n");
            }
            if self.has("ceilings") {
                match self.rng.below(4) {
                    0 => text.push_str("class = \"c\"\n"),
                    1 => text.push_str("class = \"d\"\n"),
                    2 => writeln!(text, "ceiling = \"{}kbit\"", 60 + self.rng.below(200)).unwrap(),
                    _ => {}
                }
            }
            if self.has("signalling") && self.rng.chance(0.4) {
                writeln!(text, "stop = \"200ms\"\nhangup = \"{}ms\"", 60 + self.rng.below(200)).unwrap();
            }
        }
        self.connection(text);
    }

    fn connection(&mut self, text: &mut String) {
        if self.has("signalling") || self.has("tdm") || self.has("monitors") {
            return;
        }
        text.push_str("[[connection]]\nname = \"k\"\nfrom = \"b\"\nto = \"x\"\n");
        let mut transport = match self.has("aal5") {
            true => "size = \"1500B\"\nadaptation = \"aal5\"\npreparation = \"1ms\"\ntransport = \"tcp\"\n",
            false => "size = \"600B\"\ntransport = \"tcp\"\n",
        };
        transport = abr::transport(self).unwrap_or(transport);
        text.push_str(transport);
    }
}
