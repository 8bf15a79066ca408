use super::super::TracePlace;
use super::{gzip, load, message};
use proptest::prelude::*;
use tidegate_core::units::Span;

#[test]
fn two_columns() {
    let text = b"# Bellcore\n\n  1700000000.5  1090 \r\n1700000000.5\t64\n # more\n1700000001.25 1518";
    for bytes in [text.to_vec(), gzip(text)] {
        let trace = load("a.TL", &bytes).unwrap();
        assert_eq!((trace.flows.len(), trace.flows[0].name.as_str()), (1, "all"));
        let expected = [(Span::ZERO, 1090), (Span::ZERO, 64), (Span::from_millis(750), 1518)];
        assert_eq!(trace.flows[0].packets, expected);
        assert_eq!((trace.packets, trace.bytes, trace.span), (3, 2672, Span::from_millis(750)));
        assert_eq!(trace.flows[0].period, Span::from_millis(1125));
    }
}

#[test]
fn csv_with_flows() {
    let text = b"# made by hand\nSize, note ,TIME,flow\n100,\"a, b\",0.5,voice\n1500,,0.625,\"bulk \"\"x\"\"\"\n\n80,,1,voice\n";
    let trace = load("a.csv", text).unwrap();
    let flows: Vec<_> = trace.flows.iter().map(|flow| (flow.name.as_str(), flow.packets.clone())).collect();
    let voice = vec![(Span::ZERO, 100), (Span::from_millis(500), 80)];
    assert_eq!(flows, [("voice", voice), ("bulk \"x\"", vec![(Span::from_millis(125), 1500)])]);
    let trace = load("a.csv", b"time,size\n0,1\n3,2").unwrap();
    assert_eq!((trace.flows[0].name.as_str(), trace.bytes), ("all", 3));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    for (text, expected) in [
        ("# only comments\n", "t: holds no packets: expected at least one"),
        ("time,size\n", "t: holds no packets: expected at least one"),
        ("0 1\n2 1\n1.5 1\n", "t: line 3: time goes back by 0.5 s: expected times that do not decrease"),
        ("0 1\n\n# x\n1 0\n", "t: line 4: expected a size above zero, found 0"),
        ("0 1\nNaN 5\n", "t: line 2: expected a time in seconds, zero or more, found \"NaN\""),
        ("-1 5\n", "t: line 1: expected a time in seconds, zero or more, found \"-1\""),
        ("0 5.5\n", "t: line 1: expected a size in whole bytes, 1 to 4294967295, found \"5.5\""),
        ("0 4294967296", "t: line 1: expected a size in whole bytes, 1 to 4294967295, found \"4294967296\""),
        (
            "0 5 7\n",
            "t: line 1: expected two columns, a time in seconds and a size in bytes, found \"0 5 7\"",
        ),
        ("0 5\n0", "t: line 2: expected two columns, a time in seconds and a size in bytes, found \"0\""),
        ("0 5\n300000000 5\n", "t: line 2: expected a time within 5.8 years of the first packet's"),
        (
            "0,5\n",
            "t: line 1: expected a header with the columns time and size, and flow if wanted, found \"0,5\"",
        ),
        ("time,size\n1,2,3\n", "t: line 2: expected as many columns as the header has, found \"1,2,3\""),
        ("time,size,flow\n1,2,\n", "t: line 2: expected the name of a flow, found \"1,2,\""),
        (
            "time,size,flow\n1,2,\"a\n1,2,b\n",
            "t: line 2: expected at most 1024 columns, and quotes closed on the same line, found \"1,2,\\\"a\"",
        ),
    ] {
        assert_eq!(message("t", text.as_bytes()), expected);
    }
    assert!(message("t", &vec![b'1'; 1 << 17]).contains("expected a line of less than 64 KiB"));
    let compressed = gzip(&b"0.5 100\n".repeat(1000));
    let trace = load("t.gz", &compressed[..compressed.len() - 9]).unwrap();
    assert_eq!(trace.cut, Some(TracePlace::Line(trace.packets + 1)));
    assert!(trace.packets <= 1000);
}

proptest! {
    #[test]
    fn no_text_panics(text in "[0-9 .,eE+\\-\n\"#timesizeflow]{0,200}") {
        let _ = load("t", text.as_bytes());
        let _ = load("t", format!("time,size,flow\n{text}").as_bytes());
    }
}
