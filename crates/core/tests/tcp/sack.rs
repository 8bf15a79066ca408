//! RFC 6675, sections 4 and 5: the scoreboard, `pipe` and NextSeg(); RFC 2018 for the blocks.

use crate::wire::{SACK, Script, check, params};

/// Step 3: SACKed data make room for new data. Step 4: cwnd = ssthresh = (10 - 2) / 2, and step C
/// sends once `pipe` is below 4: at the seventh duplicate it is 0r, 8 and 9.
#[test]
fn one_loss_in_a_window() {
    check(
        &params(SACK),
        16,
        Script { lost: &["0"], ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1   | 8  | 8 64
         ack 0 sack 1-2 | 9  | 8 64
         ack 0 sack 1-3 | 0r | 4 4
         ack 0 sack 1-4 |    | 4 4
         ack 0 sack 1-5 |    | 4 4
         ack 0 sack 1-6 |    | 4 4
         ack 0 sack 1-7 | 10 | 4 4
         ack 0 sack 1-8 | 11 | 4 4
         ack 0 sack 1-9 | 12 | 4 4
         ack 10         | 13 | 4 4
         ack 11         | 14 | 4.25 4
         ack 12         | 15 | 4.485 4
         ack 13         |    | 4.707 4
         ack 14         |    | 4.707 4
         ack 15         |    | 4.707 4
         ack 16         |    | 4.707 4",
    );
}

/// 3 is lost once three segments above it are SACKed (IsLost), and sent again by rule 1 when `pipe`
/// allows.
#[test]
fn two_losses_in_a_window() {
    check(
        &params(SACK),
        16,
        Script { lost: &["0", "3"], ..Script::default() },
        "start              | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1       | 8  | 8 64
         ack 0 sack 1-2     | 9  | 8 64
         ack 0 sack 4 1-2   | 0r | 4 4
         ack 0 sack 4-5 1-2 |    | 4 4
         ack 0 sack 4-6 1-2 |    | 4 4
         ack 0 sack 4-7 1-2 | 3r | 4 4
         ack 0 sack 4-8 1-2 | 10 | 4 4
         ack 0 sack 4-9 1-2 | 11 | 4 4
         ack 3 sack 4-9     | 12 | 4 4
         ack 10             | 13 | 4 4
         ack 11             | 14 | 4.25 4
         ack 12             | 15 | 4.485 4
         ack 13             |    | 4.707 4
         ack 14             |    | 4.707 4
         ack 15             |    | 4.707 4
         ack 16             |    | 4.707 4",
    );
}

/// Three losses take no longer than one: all are sent again in the same round trip.
#[test]
fn three_losses_in_a_window() {
    check(
        &params(SACK),
        16,
        Script { lost: &["0", "3", "5"], ..Script::default() },
        "start                | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1         | 8     | 8 64
         ack 0 sack 1-2       | 9     | 8 64
         ack 0 sack 4 1-2     | 0r    | 4 4
         ack 0 sack 6 4 1-2   |       | 4 4
         ack 0 sack 6-7 4 1-2 |       | 4 4
         ack 0 sack 6-8 4 1-2 | 3r 5r | 4 4
         ack 0 sack 6-9 4 1-2 | 10    | 4 4
         ack 3 sack 6-9 4     | 11    | 4 4
         ack 5 sack 6-9       | 12    | 4 4
         ack 10               | 13    | 4 4
         ack 11               | 14    | 4.25 4
         ack 12               | 15    | 4.485 4
         ack 13               |       | 4.707 4
         ack 14               |       | 4.707 4
         ack 15               |       | 4.707 4
         ack 16               |       | 4.707 4",
    );
}

/// Step 2: the first duplicate that arrives says that three segments are behind the missing one.
#[test]
fn lost_acknowledgements_delay_no_recovery() {
    check(
        &params(SACK),
        11,
        Script { lost: &["0"], lost_acks: &[1, 2], ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1-3 | 0r | 4 4
         ack 0 sack 1-4 |    | 4 4
         ack 0 sack 1-5 | 8  | 4 4
         ack 0 sack 1-6 | 9  | 4 4
         ack 0 sack 1-7 | 10 | 4 4
         ack 8          |    | 4 4
         ack 9          |    | 4 4
         ack 10         |    | 4 4
         ack 11         |    | 4 4",
    );
}

/// A lost retransmission stays in `pipe`, and rule 4 waits until the first one is acknowledged: the
/// timer tells.
#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    check(
        &params(SACK),
        12,
        Script { lost: &["0", "0r"], ..Script::default() },
        "start           | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1    | 8   | 8 64
         ack 0 sack 1-2  | 9   | 8 64
         ack 0 sack 1-3  | 0r  | 4 4
         ack 0 sack 1-4  |     | 4 4
         ack 0 sack 1-5  |     | 4 4
         ack 0 sack 1-6  |     | 4 4
         ack 0 sack 1-7  | 10  | 4 4
         ack 0 sack 1-8  | 11  | 4 4
         ack 0 sack 1-9  |     | 4 4
         ack 0 sack 1-10 |     | 4 4
         ack 0 sack 1-11 |     | 4 4
         timer 1100      | 0rr | 1 4
         ack 12          |     | 2 4",
    );
}

/// Section 5.1: the scoreboard is emptied by the timeout (RFC 2018, section 8), filled by the next
/// acknowledgement, and the data that it then holds are not sent again.
#[test]
fn after_a_timeout_only_what_is_missing_is_sent_again() {
    check(
        &params(SACK),
        16,
        Script { lost: &["0", "4", "0r", "4r"], ..Script::default() },
        "start               | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1        | 8   | 8 64
         ack 0 sack 1-2      | 9   | 8 64
         ack 0 sack 1-3      | 0r  | 4 4
         ack 0 sack 5 1-3    |     | 4 4
         ack 0 sack 5-6 1-3  |     | 4 4
         ack 0 sack 5-7 1-3  | 4r  | 4 4
         ack 0 sack 5-8 1-3  | 10  | 4 4
         ack 0 sack 5-9 1-3  | 11  | 4 4
         ack 0 sack 5-10 1-3 | 12  | 4 4
         ack 0 sack 5-11 1-3 | 13  | 4 4
         ack 0 sack 5-12 1-3 | 14  | 4 4
         ack 0 sack 5-13 1-3 | 15  | 4 4
         ack 0 sack 5-14 1-3 |     | 4 4
         ack 0 sack 5-15 1-3 |     | 4 4
         timer 1100          | 0rr | 1 4
         ack 4 sack 5-15     | 4rr | 2 4
         ack 16              |     | 2 4",
    );
}

/// NextSeg(), rule 4: the last segment is lost as well, and is sent again without waiting for the
/// timer.
#[test]
fn the_rescue_retransmission_saves_a_timeout() {
    check(
        &params(SACK),
        10,
        Script { lost: &["0", "9"], ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1   | 8  | 8 64
         ack 0 sack 1-2 | 9  | 8 64
         ack 0 sack 1-3 | 0r | 4 4
         ack 0 sack 1-4 |    | 4 4
         ack 0 sack 1-5 |    | 4 4
         ack 0 sack 1-6 |    | 4 4
         ack 0 sack 1-7 |    | 4 4
         ack 0 sack 1-8 |    | 4 4
         ack 9          | 9r | 4 4
         ack 10         |    | 4 4",
    );
}

#[test]
fn reordering_by_two_sends_nothing_again() {
    let late = &[("0", 10), ("3", 20), ("4", 20), ("5", 20), ("6", 20), ("7", 20)];
    check(
        &params(SACK),
        12,
        Script { late, ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1   | 8     | 8 64
         ack 0 sack 1-2 | 9     | 8 64
         ack 3          | 10 11 | 9 64
         ack 4          |       | 10 64
         ack 5          |       | 10 64
         ack 6          |       | 10 64
         ack 7          |       | 10 64
         ack 8          |       | 10 64
         ack 9          |       | 10 64
         ack 10         |       | 10 64
         ack 11         |       | 10 64
         ack 12         |       | 10 64",
    );
}

/// Three segments behind the missing one are a loss (IsLost), needlessly. The recovery lasts until
/// all data sent before it are acknowledged; the second copy of 0 carries no news.
#[test]
fn reordering_by_three_costs_half_the_window() {
    let late = &[("0", 10), ("4", 20), ("5", 20), ("6", 20), ("7", 20)];
    check(
        &params(SACK),
        14,
        Script { late, ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1   | 8  | 8 64
         ack 0 sack 1-2 | 9  | 8 64
         ack 0 sack 1-3 | 0r | 4 4
         ack 4          |    | 4 4
         ack 5          |    | 4 4
         ack 6          |    | 4 4
         ack 7          | 10 | 4 4
         ack 8          | 11 | 4 4
         ack 9          | 12 | 4 4
         ack 10         | 13 | 4 4
         ack 10         |    | 4 4
         ack 11         |    | 4.25 4
         ack 12         |    | 4.25 4
         ack 13         |    | 4.25 4
         ack 14         |    | 4.25 4",
    );
}
