//! RFC 5681: slow start, congestion avoidance, fast retransmit and fast recovery; limited transmit
//! (RFC 3042).
//!
//! Every table was written from the RFC's text, before the sender was asked.

use crate::wire::{CUBIC, NEW_RENO, RENO_1990, SACK, Script, Wire, check, params};
use tidegate_core::endpoint::tcp::TcpParams;
use tidegate_core::units::Span;

/// Section 3.2, steps 1 to 6. Without a second loss RFC 6582 is the same: the first new
/// acknowledgement is a full one.
#[test]
fn one_loss_in_a_window() {
    for setting in [RENO_1990, NEW_RENO] {
        check(
            &params(setting),
            16,
            Script { lost: &["0"], ..Script::default() },
            // Steps 1 and 2: ssthresh = (10 - 2) / 2, without the data of limited transmit. Step 3:
            // 4 + 3.
            "start   | 0 1 2 3 4 5 6 7 | 8 64
             ack 0   | 8               | 8 64
             ack 0   | 9               | 8 64
             ack 0   | 0r              | 7 4
             ack 0   |                 | 8 4
             ack 0   |                 | 9 4
             ack 0   |                 | 10 4
             ack 0   | 10              | 11 4
             ack 0   | 11              | 12 4
             ack 0   | 12              | 13 4
             ack 10  | 13              | 4 4
             ack 11  | 14              | 4.25 4
             ack 12  | 15              | 4.485 4
             ack 13  |                 | 4.707 4
             ack 14  |                 | 4.707 4
             ack 15  |                 | 4.707 4
             ack 16  |                 | 4.707 4",
        );
    }
}

/// Section 3.2 and its step 6: the first new acknowledgement ends the recovery, whatever else is
/// lost. The window is then too small for three duplicates, and the timer must expire. ssthresh is
/// at most 9 / 2, and stays at 4: the losses are of the window that was halved before.
#[test]
fn two_losses_in_a_small_window_end_in_a_timeout() {
    check(
        &params(RENO_1990),
        14,
        Script { lost: &["0", "3"], ..Script::default() },
        "start      | 0 1 2 3 4 5 6 7 | 8 64
         ack 0      | 8     | 8 64
         ack 0      | 9     | 8 64
         ack 0      | 0r    | 7 4
         ack 0      |       | 8 4
         ack 0      |       | 9 4
         ack 0      |       | 10 4
         ack 0      | 10    | 11 4
         ack 0      | 11    | 12 4
         ack 3      |       | 4 4
         ack 3      |       | 4 4
         ack 3      |       | 4 4
         timer 1200 | 3r    | 1 4
         ack 12     | 12 13 | 2 4
         ack 13     |       | 3 4
         ack 14     |       | 3 4",
    );
}

/// A larger window gives three duplicates again: a second fast retransmit. The window of these
/// losses was halved, and the half of FlightSize, which now has what the first recovery sent, is an
/// upper limit (section 3.1, equation 4).
#[test]
fn two_losses_in_a_larger_window_are_two_fast_retransmits() {
    check(
        &TcpParams { initial_window: 12, ..params(RENO_1990) },
        20,
        Script { lost: &["0", "1"], ..Script::default() },
        "start  | 0 1 2 3 4 5 6 7 8 9 10 11 | 12 64
         ack 0  | 12    | 12 64
         ack 0  | 13    | 12 64
         ack 0  | 0r    | 9 6
         ack 0  |       | 10 6
         ack 0  |       | 11 6
         ack 0  |       | 12 6
         ack 0  |       | 13 6
         ack 0  |       | 14 6
         ack 0  | 14    | 15 6
         ack 0  | 15    | 16 6
         ack 0  | 16    | 17 6
         ack 0  | 17    | 18 6
         ack 1  |       | 6 6
         ack 1  |       | 6 6
         ack 1  |       | 6 6
         ack 1  | 1r    | 9 6
         ack 1  |       | 10 6
         ack 18 | 18 19 | 6 6
         ack 19 |       | 6 6
         ack 20 |       | 6 6",
    );
}

/// Two duplicates are reordering, not loss (section 3.2, DupThresh 3). Limited transmit keeps the
/// connection going.
#[test]
fn reordering_by_two_sends_nothing_again() {
    let late = &[("0", 10), ("3", 20), ("4", 20), ("5", 20), ("6", 20), ("7", 20)];
    for setting in [RENO_1990, NEW_RENO] {
        check(
            &params(setting),
            12,
            Script { late, ..Script::default() },
            "start  | 0 1 2 3 4 5 6 7 | 8 64
             ack 0  | 8     | 8 64
             ack 0  | 9     | 8 64
             ack 3  | 10 11 | 9 64
             ack 4  |       | 10 64
             ack 5  |       | 10 64
             ack 6  |       | 10 64
             ack 7  |       | 10 64
             ack 8  |       | 10 64
             ack 9  |       | 10 64
             ack 10 |       | 10 64
             ack 11 |       | 10 64
             ack 12 |       | 10 64",
        );
    }
}

/// Three duplicates are taken for a loss, and the window is halved needlessly.
#[test]
fn reordering_by_three_costs_half_the_window() {
    let late = &[("0", 10), ("4", 20), ("5", 20), ("6", 20), ("7", 20)];
    check(
        &params(RENO_1990),
        12,
        Script { late, ..Script::default() },
        "start  | 0 1 2 3 4 5 6 7 | 8 64
         ack 0  | 8  | 8 64
         ack 0  | 9  | 8 64
         ack 0  | 0r | 7 4
         ack 4  |    | 4 4
         ack 5  |    | 4.25 4
         ack 6  |    | 4.485 4
         ack 7  | 10 | 4.707 4
         ack 8  | 11 | 4.919 4
         ack 9  |    | 5.122 4
         ack 10 |    | 5.122 4
         ack 10 |    | 5.122 4
         ack 11 |    | 5.122 4
         ack 12 |    | 5.122 4",
    );
}

/// Section 3.1, equation 2: an acknowledgement of several segments lets the window grow by one.
#[test]
fn lost_acknowledgements_slow_the_growth_and_nothing_else() {
    for setting in [RENO_1990, NEW_RENO, SACK, CUBIC] {
        check(
            &TcpParams { initial_window: 4, ..params(setting) },
            12,
            Script { lost_acks: &[1, 2, 3, 6, 7], ..Script::default() },
            "start  | 0 1 2 3   | 4 64
             ack 4  | 4 5 6 7 8 | 5 64
             ack 5  | 9 10      | 6 64
             ack 8  | 11        | 7 64
             ack 9  |           | 7 64
             ack 10 |           | 7 64
             ack 11 |           | 7 64
             ack 12 |           | 7 64",
        );
    }
}

/// Section 4.2: every second segment is acknowledged, the last one after the delay; the window
/// grows by acknowledgements.
#[test]
fn delayed_acknowledgements() {
    let delayed_acks = Span::from_millis(100);
    let params = TcpParams { initial_window: 4, delayed_acks, ..params(RENO_1990) };
    check(
        &params,
        9,
        Script::default(),
        "start | 0 1 2 3 | 4 64
         ack 2 | 4 5 6   | 5 64
         ack 4 | 7 8     | 6 64
         ack 6 |         | 6 64
         ack 8 |         | 6 64
         ack 9 |         | 6 64",
    );
    // The ninth segment arrived alone, 150 ms after the start, and was acknowledged at 250 ms.
    let mut wire = Wire::new(&params, 9, Script::default());
    wire.run(299);
    assert_eq!(wire.gauge("flight"), 1.0);
    wire.run(300);
    assert_eq!(wire.gauge("flight"), 0.0);
}

/// Section 4.2: data that are out of order, and data that fill a gap, are acknowledged at once.
/// With nothing in flight the recovery leaves two segments (RFC 6582, step 3, option 1).
#[test]
fn no_acknowledgement_is_delayed_while_something_is_missing() {
    let delayed_acks = Span::from_millis(400);
    check(
        &TcpParams { delayed_acks, ..params(NEW_RENO) },
        10,
        Script { lost: &["0"], ..Script::default() },
        "start  | 0 1 2 3 4 5 6 7 | 8 64
         ack 0  | 8  | 8 64
         ack 0  | 9  | 8 64
         ack 0  | 0r | 7 4
         ack 0  |    | 8 4
         ack 0  |    | 9 4
         ack 0  |    | 10 4
         ack 0  |    | 11 4
         ack 0  |    | 12 4
         ack 0  |    | 13 4
         ack 10 |    | 2 4",
    );
}
