//! RFC 3168, section 6.1: the echo of a mark, one reduction a window, CWR.

use crate::wire::{NEW_RENO, RENO_1990, SACK, Script, Setting, check, params};
use tidegate_core::endpoint::tcp::{Ecn, TcpParams};

fn ecn(setting: Setting) -> TcpParams {
    TcpParams { ecn: Ecn::On, ..params(setting) }
}

/// Section 6.1.2: FlightSize was 11, and is halved once; every acknowledgement echoes until the
/// first new segment carries CWR (section 6.1.3), and none of them lets the window grow.
#[test]
fn a_mark_halves_the_window_once() {
    for setting in [RENO_1990, NEW_RENO, SACK] {
        check(
            &ecn(setting),
            16,
            Script { marked: &["3"], ..Script::default() },
            "start       | 0 1 2 3 4 5 6 7 | 8 64
             ack 1       | 8 9   | 9 64
             ack 2       | 10 11 | 10 64
             ack 3       | 12 13 | 11 64
             ack 4 echo  |       | 5.5 5.5
             ack 5 echo  |       | 5.5 5.5
             ack 6 echo  |       | 5.5 5.5
             ack 7 echo  |       | 5.5 5.5
             ack 8 echo  |       | 5.5 5.5
             ack 9 echo  |       | 5.5 5.5
             ack 10 echo | 14*   | 5.5 5.5
             ack 11 echo | 15    | 5.5 5.5
             ack 12 echo |       | 5.5 5.5
             ack 13 echo |       | 5.5 5.5
             ack 14 echo |       | 5.5 5.5
             ack 15      |       | 5.5 5.5
             ack 16      |       | 5.5 5.5",
        );
    }
}

/// A mark on the segment with CWR is a new reason: the window becomes one segment, ssthresh two.
#[test]
fn a_mark_in_the_next_window_is_a_new_reason() {
    check(
        &ecn(NEW_RENO),
        16,
        Script { marked: &["3", "14"], ..Script::default() },
        "start       | 0 1 2 3 4 5 6 7 | 8 64
         ack 1       | 8 9   | 9 64
         ack 2       | 10 11 | 10 64
         ack 3       | 12 13 | 11 64
         ack 4 echo  |       | 5.5 5.5
         ack 5 echo  |       | 5.5 5.5
         ack 6 echo  |       | 5.5 5.5
         ack 7 echo  |       | 5.5 5.5
         ack 8 echo  |       | 5.5 5.5
         ack 9 echo  |       | 5.5 5.5
         ack 10 echo | 14*   | 5.5 5.5
         ack 11 echo | 15    | 5.5 5.5
         ack 12 echo |       | 5.5 5.5
         ack 13 echo |       | 5.5 5.5
         ack 14 echo |       | 5.5 5.5
         ack 15 echo |       | 1 2
         ack 16 echo |       | 1 2",
    );
}

/// A loss in the window that was reduced for a mark is repaired without a second reduction.
#[test]
fn a_mark_and_a_loss_in_one_window_are_one_reason() {
    check(
        &ecn(NEW_RENO),
        16,
        Script { marked: &["3"], lost: &["5"], ..Script::default() },
        "start       | 0 1 2 3 4 5 6 7 | 8 64
         ack 1       | 8 9   | 9 64
         ack 2       | 10 11 | 10 64
         ack 3       | 12 13 | 11 64
         ack 4 echo  |       | 5.5 5.5
         ack 5 echo  |       | 5.5 5.5
         ack 5 echo  |       | 5.5 5.5
         ack 5 echo  |       | 5.5 5.5
         ack 5 echo  | 5r    | 8.5 5.5
         ack 5 echo  |       | 9.5 5.5
         ack 5 echo  | 14*   | 10.5 5.5
         ack 5 echo  | 15    | 11.5 5.5
         ack 5 echo  |       | 12.5 5.5
         ack 5 echo  |       | 13.5 5.5
         ack 14 echo |       | 3 5.5
         ack 15      |       | 3 5.5
         ack 16      |       | 3 5.5",
    );
}

/// A window of one segment cannot shrink: the next segment waits for the timer, RTO = 300 ms after
/// the echo.
#[test]
fn a_mark_with_a_window_of_one_segment_waits_for_the_timer() {
    check(
        &TcpParams { initial_window: 1, ..ecn(SACK) },
        3,
        Script { marked: &["0"], ..Script::default() },
        "start      | 0  | 1 64
         ack 1 echo |    | 1 2
         timer 400  | 1* | 1 2
         ack 2      | 2  | 2 2
         ack 3      |    | 2 2",
    );
}

/// After a loss, too, the first new segment carries CWR.
#[test]
fn a_reduction_for_a_loss_is_told() {
    check(
        &ecn(SACK),
        12,
        Script { lost: &["0"], ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1   | 8   | 8 64
         ack 0 sack 1-2 | 9   | 8 64
         ack 0 sack 1-3 | 0r  | 4 4
         ack 0 sack 1-4 |     | 4 4
         ack 0 sack 1-5 |     | 4 4
         ack 0 sack 1-6 |     | 4 4
         ack 0 sack 1-7 | 10* | 4 4
         ack 0 sack 1-8 | 11  | 4 4
         ack 0 sack 1-9 |     | 4 4
         ack 10         |     | 4 4
         ack 11         |     | 4 4
         ack 12         |     | 4 4",
    );
}
