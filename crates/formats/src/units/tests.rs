use super::*;
use proptest::prelude::*;

fn said(complaint: Complaint) -> String {
    complaint.to_string()
}

#[test]
fn rates_are_read_exactly() {
    assert_eq!(parse_rate("400kbit"), Ok(400_000));
    assert_eq!(parse_rate("0.1mbit"), Ok(100_000));
    assert_eq!(parse_rate("1.5gbit"), Ok(1_500_000_000));
    assert_eq!(parse_rate("10tbit"), Ok(10_000_000_000_000));
    assert_eq!(parse_rate("1bit"), Ok(1));
}

#[test]
fn times_are_read_to_the_tick() {
    assert_eq!(parse_time("5ms"), Ok(Span::from_millis(5)));
    assert_eq!(parse_time("0s"), Ok(Span::ZERO));
    assert_eq!(parse_time("1.5min"), Ok(Span::from_secs(90)));
    assert_eq!(parse_time("2h"), Ok(Span::from_secs(7200)));
    assert_eq!(parse_time("0.014ns"), Ok(Span::from_ticks(1)));
    assert_eq!(parse_time("0.015ns"), Ok(Span::from_ticks(2)));
}

#[test]
fn sizes_and_limits_are_read() {
    assert_eq!(parse_size("250B"), Ok(250));
    assert_eq!(parse_size("1.5kB"), Ok(1500));
    assert_eq!(parse_size("64KiB"), Ok(65_536));
    assert_eq!(parse_limit("100p"), Ok(Limit::Packets(100)));
    assert_eq!(parse_limit("1MB"), Ok(Limit::Bytes(1_000_000)));
}

#[test]
fn lengths_are_read_exactly() {
    assert_eq!(parse_length("2km"), Ok(2_000_000));
    assert_eq!(parse_length("0.5m"), Ok(500));
    assert_eq!(parse_length("30cm"), Ok(300));
    assert_eq!(parse_length("0mm"), Ok(0));
    for (text, expected) in [
        ("2", "a length needs a unit, and `2` has none (write it as in `2km`)"),
        ("2KM", "`KM` in `2KM` is not a unit of length (write `2km`)"),
        ("2miles", "`miles` in `2miles` is not a unit of length (a length is in mm, cm, m, km)"),
        ("0.5mm", "`0.5mm` is not a whole number of millimetres"),
        ("1000001km", "`1000001km` is too long: a length is at most 1000000km"),
        ("-1m", "`-1m` is negative: a length is not"),
    ] {
        assert_eq!(parse_length(text).map_err(said), Err(expected.to_owned()));
    }
}

#[test]
fn mistakes_are_explained() {
    for (text, expected) in [
        ("400", "a rate needs a unit, and `400` has none (write it as in `400kbit`)"),
        ("fast", "`fast` is not a rate (write it as in `400kbit`)"),
        ("", "`` is not a rate (write it as in `400kbit`)"),
        ("-1mbit", "`-1mbit` is negative: a rate is not"),
        ("0kbit", "`0kbit` is not a rate: a rate is at least 1bit"),
        ("0.0001kbit", "`0.0001kbit` is not a whole number of bits per second"),
        ("11tbit", "`11tbit` is too fast: a rate is at most 10tbit"),
        ("99999999999999999999tbit", "`99999999999999999999tbit` is too fast: a rate is at most 10tbit"),
        ("1 mbit", "`1 mbit` has a space before its unit (write `1mbit`)"),
        ("1 Mbit/s", "`1 Mbit/s` has a space before its unit (write `1mbit`)"),
        ("1 furlong", "`1 furlong` has a space before its unit (a rate is in bit, kbit, mbit, gbit, tbit)"),
        ("10M", "`M` in `10M` is not a unit of rate (write `10mbit`)"),
        ("10mb", "`mb` in `10mb` is not a unit of rate (write `10mbit`)"),
        ("1Mbit", "`Mbit` in `1Mbit` is not a unit of rate (write `1mbit`)"),
        ("1mbit/s", "`mbit/s` in `1mbit/s` is not a unit of rate (write `1mbit`)"),
        (
            "1.mbit",
            "`1.mbit` is not a rate: `1.` is not a plain decimal number (write digits with at most one \
             point, as in `1.5`, and at most 20 digits)",
        ),
    ] {
        assert_eq!(parse_rate(text).map_err(said), Err(expected.to_owned()));
    }
    let mbps = said(parse_rate("1mbps").unwrap_err());
    assert!(mbps.contains("megabytes per second to tc"), "{mbps}");
    let spaced = said(parse_rate("2.5 Gb/s").unwrap_err());
    assert!(spaced.contains("has a space") && spaced.contains("write bits: `2.5gbit`"), "{spaced}");
    for (text, expected) in [
        ("5", "a time needs a unit, and `5` has none (write it as in `5ms`)"),
        ("5m", "`m` in `5m` is not a unit of time (write `5min` for minutes or `5ms` for milliseconds)"),
        ("5µs", "`µs` in `5µs` is not a unit of time (write `5us`)"),
        ("20000h", "`20000h` is too long: a time is at most 17568h"),
    ] {
        assert_eq!(parse_time(text).map_err(said), Err(expected.to_owned()));
    }
    for (text, expected) in [
        ("0B", "`0B` is not a size: a size is at least 1B"),
        ("0.5B", "`0.5B` is not a whole number of bytes"),
        ("64KB", "`KB` in `64KB` is not a unit of size (write `64kB` for 1000 bytes or `64KiB` for 1024)"),
        ("64b", "`b` in `64b` is not a unit of size (`b` could be bits or bytes: write `64B` for bytes)"),
        ("100p", "`p` in `100p` is not a unit of size (a size is in B, kB, MB, GB, KiB, MiB, GiB)"),
    ] {
        assert_eq!(parse_size(text).map_err(said), Err(expected.to_owned()));
    }
    for (text, expected) in [
        ("100", "a limit needs a unit, and `100` has none (write it as in `100p` or `64kB`)"),
        ("100pkt", "`pkt` in `100pkt` is not a unit of a limit (write `100p`)"),
        ("0p", "`0p` would let no packet pass: a limit is at least 1p"),
        ("1.5p", "`1.5p` is not a whole number of packets"),
    ] {
        assert_eq!(parse_limit(text).map_err(said), Err(expected.to_owned()));
    }
}

#[test]
fn the_canonical_spelling_is_short() {
    assert_eq!(show_rate(400_000), "400kbit");
    assert_eq!(show_rate(1_500_000_000), "1500mbit");
    assert_eq!(show_time(Span::from_millis(5)), "5ms");
    assert_eq!(show_time(Span::from_secs(90)), "90s");
    assert_eq!(show_time(Span::from_ticks(1_01)), "1.01ns");
    assert_eq!(show_time(Span::ZERO), "0s");
    assert_eq!(show_size(250), "250B");
    assert_eq!(show_limit(Limit::Packets(100)), "100p");
}

proptest! {
    #[test]
    fn what_is_shown_reads_back(
        bits in 1..=Rate::MAX_BITS_PER_SECOND,
        ticks in 0..=LONGEST_TIME_HOURS * 3_600 * TICKS_PER_SECOND,
        bytes in 1..=LARGEST_SIZE,
        zeros in 0u32..12,
    ) {
        let round = |n: u64| (n / 10u64.pow(zeros) * 10u64.pow(zeros)).max(1);
        prop_assert_eq!(parse_rate(&show_rate(round(bits))), Ok(round(bits)));
        let time = Span::from_ticks(round(ticks));
        prop_assert_eq!(parse_time(&show_time(time)), Ok(time));
        prop_assert_eq!(parse_size(&show_size(round(bytes))), Ok(round(bytes)));
        let limit = Limit::Bytes(round(bytes));
        prop_assert_eq!(parse_limit(&show_limit(limit)), Ok(limit));
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "[0-9.]{0,30}.{0,4}|[0-9]{1,3}(bit|kbit|ms|s|h|B|GiB|p)|.*") {
        let _ = (parse_rate(&text), parse_time(&text), parse_size(&text), parse_limit(&text), parse_length(&text));
    }
}
