//! RFC 6298 and RFC 5681, sections 3.1 and 4.1: the last segments are lost, the timeout backs off,
//! and the effect of idle time.

use crate::wire::{CUBIC, NEW_RENO, RENO_1990, SACK, Script, Wire, check, expect, params};
use tidegate_core::endpoint::tcp::TcpParams;
use tidegate_core::units::Span;

/// No duplicates tell that the last segments are lost. R = 100 ms, so RTO = 100 + 4 · 50 ms after
/// the last acknowledgement; ssthresh is at least two segments (equation 4).
#[test]
fn the_last_segments_wait_for_the_timer() {
    for setting in [RENO_1990, NEW_RENO, SACK, CUBIC] {
        check(
            &params(setting),
            8,
            Script { lost: &["6", "7"], ..Script::default() },
            "start     | 0 1 2 3 4 5 6 7 | 8 64
             ack 1     |    | 9 64
             ack 2     |    | 9 64
             ack 3     |    | 9 64
             ack 4     |    | 9 64
             ack 5     |    | 9 64
             ack 6     |    | 9 64
             timer 400 | 6r | 1 2
             ack 7     | 7r | 2 2
             ack 8     |    | 2 2",
        );
    }
}

/// Rules 5.4 to 5.6: 1, 2, 4 and 8 s. ssthresh is held while the same segment is sent again (RFC
/// 5681, section 3.1). Karn: the acknowledgement of retransmitted data is no measurement, and RTO
/// stays at 16 s until one is.
#[test]
fn the_timeout_backs_off_until_a_round_trip_is_measured() {
    let params = TcpParams { initial_window: 1, ..params(NEW_RENO) };
    let script = || Script { lost: &["0", "0r", "0rr", "0rrr"], ..Script::default() };
    let table = "start       | 0     | 1 64
                 timer 1000  | 0r    | 1 2
                 timer 3000  | 0rr   | 1 2
                 timer 7000  | 0rrr  | 1 2
                 timer 15000 | 0rrrr | 1 2
                 ack 1       | 1 2   | 2 2
                 ack 2       |       | 2.5 2
                 ack 3       |       | 2.5 2";
    check(&params, 3, script(), table);
    let mut wire = Wire::new(&params, 3, script());
    let mut rto_at = |milliseconds| {
        wire.run(milliseconds);
        wire.gauge("rto")
    };
    assert_eq!(
        [0, 1000, 3000, 7000, 15_000, 15_150, 15_250].map(&mut rto_at),
        [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 0.3]
    );
    assert_eq!((wire.gauge("timeouts"), wire.gauge("retransmissions")), (4.0, 4.0));
}

/// Ticks of 500 ms and a timeout of at least 1 s: a round trip of 100 ms takes a tick, and the
/// timer expires at one.
#[test]
fn the_coarse_clock_of_the_1990s() {
    let (granularity, minimum_rto) = (Span::from_millis(500), Span::from_secs(1));
    check(
        &TcpParams { granularity, minimum_rto, ..params(RENO_1990) },
        8,
        Script { lost: &["6", "7"], ..Script::default() },
        // R = 500 ms: RTO = 500 + 4 · 250 ms from 100 ms on, at the tick that follows 1600 ms.
        "start      | 0 1 2 3 4 5 6 7 | 8 64
         ack 1      |    | 9 64
         ack 2      |    | 9 64
         ack 3      |    | 9 64
         ack 4      |    | 9 64
         ack 5      |    | 9 64
         ack 6      |    | 9 64
         timer 2000 | 6r | 1 2
         ack 7      | 7r | 2 2
         ack 8      |    | 2 2",
    );
}

/// RFC 5681, section 4.1: after more than a timeout without sending, the window is at most the
/// initial one.
#[test]
fn an_idle_connection_starts_again_with_the_initial_window() {
    let idle_until = |milliseconds, row: &str| {
        let params = TcpParams { initial_window: 4, ..params(RENO_1990) };
        let mut wire = Wire::new(&params, 6, Script::default());
        wire.run(milliseconds);
        wire.offer(milliseconds, 10);
        let before = "start | 0 1 2 3 | 4 64
                      ack 1 | 4 5     | 5 64
                      ack 2 |         | 6 64
                      ack 3 |         | 6 64
                      ack 4 |         | 6 64
                      ack 5 |         | 6 64
                      ack 6 |         | 6 64";
        expect(&wire, &format!("{before}\n{row}"));
    };
    // Sent last at 100 ms. After two round trips RTO = 100 + 4 · 37.5 ms.
    idle_until(350, "offer 350 | 6 7 8 9 10 11 | 6 64");
    idle_until(351, "offer 351 | 6 7 8 9 | 4 64");
}
