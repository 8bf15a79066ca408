//! The defaults of a stack, and those that follow from other keys.

use crate::wire::{RENO_1990, Script, Wire, params};
use tidegate_core::endpoint::tcp::{PushAcks, TcpParams};
use tidegate_core::params::{Parameters, PolicyParams, PolicyValue, Value};
use tidegate_core::units::Span;

/// Keys whose default depends on the stack: in Linux with CUBIC, and by the RFCs.
const KEYS: &[(&str, &str, &str)] = &[
    ("recovery", "rack", "sack"),
    ("rack_form", "linux", "rfc"),
    ("frto", "on", "off"),
    ("growth", "segments", "bytes"),
    ("slow_start", "hystart", "standard"),
    ("reduction", "prr", "at-once"),
    ("timestamps", "on", "off"),
    ("handshake", "on", "off"),
    ("rto_floor", "variation", "timeout"),
    ("timer_slack", "2 ms", "0 ms"),
    ("delayed_acks", "40 ms", "0 ms"),
    ("quick_acks", "16", "0"),
    ("compressed_sacks", "1 ms", "0 ms"),
    ("autotuning", "on", "off"),
    ("push_acks", "on", "off"),
    ("receiver_window", "2027200 B", "1048576 B"),
    ("header", "52 B", "40 B"),
];

fn text(key: &'static str, word: &str) -> (&'static str, Value) {
    (key, Value::Text(word.to_owned()))
}

fn control(name: &str) -> (&'static str, Value) {
    ("congestion", Value::Policy(PolicyValue { name: name.to_owned(), values: Vec::new() }))
}

/// The values of TCP with these settings, as text.
fn shown(given: &[(&'static str, Value)]) -> Vec<(&'static str, String)> {
    let params = TcpParams::of_values(given).unwrap();
    params.check().unwrap();
    let shown = params.values().into_iter().map(|(key, value)| {
        let text = match value {
            Value::Text(word) => word,
            Value::Time(span) => format!("{} ms", span.ticks() / Span::from_millis(1).ticks()),
            Value::Integer(number) => number.to_string(),
            Value::Size(bytes) => format!("{bytes} B"),
            other => format!("{other:?}"),
        };
        (key, text)
    });
    shown.collect()
}

/// The keys that differ from Linux's defaults with CUBIC, with their values.
fn other_than_linux(given: &[(&'static str, Value)]) -> Vec<(&'static str, String)> {
    let differs =
        |(key, value): &(&str, String)| KEYS.iter().any(|(one, linux, _)| one == key && linux != value);
    shown(given).into_iter().filter(differs).collect()
}

#[test]
fn without_settings_tcp_is_linux_and_the_rfcs_have_their_own_defaults() {
    for (given, right) in [(vec![], 1), (vec![text("stack", "linux")], 1), (vec![text("stack", "rfc")], 2)] {
        let values = shown(&given);
        for (key, linux, rfc) in KEYS {
            let value = &values.iter().find(|(name, _)| name == key).unwrap().1;
            assert_eq!(value, [linux, rfc][right - 1], "{key}");
        }
    }
}

#[test]
fn every_key_that_is_given_stays() {
    for stack in ["linux", "rfc"] {
        for other in ["linux", "rfc"] {
            let given = TcpParams::of_values(&[text("stack", other)]).unwrap().values();
            let given = given.into_iter().filter(|(key, _)| *key != "stack");
            let given: Vec<_> = given.chain([text("stack", stack)]).collect();
            let read = TcpParams::of_values(&given).unwrap().values();
            assert!(given.iter().all(|one| read.contains(one)), "{stack} with the values of {other}");
        }
    }
}

/// Older recoveries go without what needs recovery by time.
#[test]
fn defaults_follow_the_recovery_and_the_congestion_control() {
    let of = |values: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        values.iter().map(|(key, value)| (*key, (*value).to_owned())).collect()
    };
    for recovery in ["sack", "newreno", "reno-1990"] {
        let expected = of(&[
            ("recovery", recovery),
            ("rack_form", "rfc"),
            ("frto", "off"),
            ("reduction", "at-once"),
            ("timestamps", "off"),
            ("header", "40 B"),
        ]);
        assert_eq!(other_than_linux(&[text("recovery", recovery)]), expected);
    }
    assert_eq!(
        other_than_linux(&[text("timestamps", "off")]),
        of(&[("timestamps", "off"), ("header", "40 B")])
    );
    for name in ["reno", "dctcp", "bbr"] {
        assert_eq!(other_than_linux(&[control(name)]), of(&[("slow_start", "standard")]), "{name}");
    }
    let prague = [control("prague"), text("ecn", "on")];
    assert_eq!(other_than_linux(&prague), of(&[("slow_start", "standard")]));
}

/// The kernel acknowledges at once when the application has read a segment with PSH
/// (`tcp_cleanup_rbuf`): seen with transfers of three segments, each acknowledged within 0.5 ms.
#[test]
fn the_end_of_what_the_application_has_written_is_acknowledged_at_once() {
    let delayed_acks = Span::from_millis(100);
    // Segments 5 to 9 arrive at 150 ms, and the ninth is the last that was written.
    for (push_acks, left) in [(PushAcks::On, 0.0), (PushAcks::Off, 1.0)] {
        let params = TcpParams { initial_window: 4, delayed_acks, push_acks, ..params(RENO_1990) };
        let mut wire = Wire::new(&params, 9, Script::default());
        wire.run(200);
        assert_eq!(wire.gauge("flight"), left);
        wire.run(300);
        assert_eq!(wire.gauge("flight"), 0.0);
    }
}
