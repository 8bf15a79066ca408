//! RFC 6582, section 3.2: partial acknowledgements, and `recover`.

use crate::wire::{NEW_RENO, RENO_1990, Script, check, params};

/// Step 3: the partial acknowledgement of 3 segments sends the next one again, takes 3 from the
/// window and adds 1.
#[test]
fn two_losses_in_a_window() {
    check(
        &params(NEW_RENO),
        16,
        Script { lost: &["0", "3"], ..Script::default() },
        "start  | 0 1 2 3 4 5 6 7 | 8 64
         ack 0  | 8     | 8 64
         ack 0  | 9     | 8 64
         ack 0  | 0r    | 7 4
         ack 0  |       | 8 4
         ack 0  |       | 9 4
         ack 0  |       | 10 4
         ack 0  | 10    | 11 4
         ack 0  | 11    | 12 4
         ack 3  | 3r 12 | 10 4
         ack 3  | 13    | 11 4
         ack 3  | 14    | 12 4
         ack 12 | 15    | 4 4
         ack 13 |       | 4.25 4
         ack 14 |       | 4.25 4
         ack 15 |       | 4.25 4
         ack 16 |       | 4.25 4",
    );
}

/// One loss is repaired in each round trip.
#[test]
fn three_losses_in_a_window() {
    check(
        &params(NEW_RENO),
        16,
        Script { lost: &["0", "3", "5"], ..Script::default() },
        "start  | 0 1 2 3 4 5 6 7 | 8 64
         ack 0  | 8     | 8 64
         ack 0  | 9     | 8 64
         ack 0  | 0r    | 7 4
         ack 0  |       | 8 4
         ack 0  |       | 9 4
         ack 0  |       | 10 4
         ack 0  | 10    | 11 4
         ack 3  | 3r 11 | 9 4
         ack 3  | 12    | 10 4
         ack 5  | 5r 13 | 9 4
         ack 5  | 14    | 10 4
         ack 5  | 15    | 11 4
         ack 13 |       | 4 4
         ack 14 |       | 4 4
         ack 15 |       | 4 4
         ack 16 |       | 4 4",
    );
}

/// The retransmission is lost, too: nothing but the timer tells. ssthresh does not rise to half of
/// what recovery has put in flight.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    check(
        &params(NEW_RENO),
        12,
        Script { lost: &["0", "0r"], ..Script::default() },
        "start      | 0 1 2 3 4 5 6 7 | 8 64
         ack 0      | 8   | 8 64
         ack 0      | 9   | 8 64
         ack 0      | 0r  | 7 4
         ack 0      |     | 8 4
         ack 0      |     | 9 4
         ack 0      |     | 10 4
         ack 0      | 10  | 11 4
         ack 0      | 11  | 12 4
         ack 0      |     | 13 4
         ack 0      |     | 14 4
         ack 0      |     | 15 4
         timer 1100 | 0rr | 1 4
         ack 12     |     | 2 4",
    );
}

/// Step 4 and section 5 (of RFC 5681, too): after a needless timeout, retransmissions give
/// duplicates of an acknowledgement that covers no more than `recover`. They start no fast
/// retransmit, and no limited transmit.
#[test]
fn duplicates_after_a_timeout_start_no_fast_retransmit() {
    let late = &[
        ("0", 1000),
        ("1", 1000),
        ("2", 1000),
        ("3", 1000),
        ("4", 1000),
        ("5", 1000),
        ("6", 1000),
        ("7", 1000),
    ];
    for setting in [RENO_1990, NEW_RENO] {
        check(
            &params(setting),
            13,
            Script { late, ..Script::default() },
            "start      | 0 1 2 3 4 5 6 7 | 8 64
             timer 1000 | 0r    | 1 4
             ack 1      | 1r 2r | 2 4
             ack 2      | 3r 4r | 3 4
             ack 3      | 5r 6r | 4 4
             ack 4      | 7r    | 4.25 4
             ack 5      | 8     | 4.485 4
             ack 6      | 9     | 4.707 4
             ack 7      | 10    | 4.919 4
             ack 8      | 11 12 | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 8      |       | 5.122 4
             ack 9      |       | 5.317 4
             ack 10     |       | 5.317 4
             ack 11     |       | 5.317 4
             ack 12     |       | 5.317 4
             ack 13     |       | 5.317 4",
        );
    }
}
