//! RFC 9438 over the recovery of RFC 6675: β = 0.7.

use crate::wire::{CUBIC, Script, check, params};
use tidegate_core::endpoint::tcp::{Ecn, TcpParams};

/// Section 4.6: 0.7 · 8 segments are left, so that `pipe` allows a segment one duplicate earlier
/// than half would.
#[test]
fn one_loss_in_a_window() {
    check(
        &params(CUBIC),
        14,
        Script { lost: &["0"], ..Script::default() },
        "start          | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1   | 8  | 8 64
         ack 0 sack 1-2 | 9  | 8 64
         ack 0 sack 1-3 | 0r | 5.6 5.6
         ack 0 sack 1-4 |    | 5.6 5.6
         ack 0 sack 1-5 |    | 5.6 5.6
         ack 0 sack 1-6 | 10 | 5.6 5.6
         ack 0 sack 1-7 | 11 | 5.6 5.6
         ack 0 sack 1-8 | 12 | 5.6 5.6
         ack 0 sack 1-9 | 13 | 5.6 5.6
         ack 10         |    | 5.6 5.6
         ack 11         |    | 5.6 5.6
         ack 12         |    | 5.6 5.6
         ack 13         |    | 5.6 5.6
         ack 14         |    | 5.6 5.6",
    );
}

/// Section 4.6: a mark leaves 0.7 · 11 segments.
#[test]
fn a_mark_leaves_seven_tenths() {
    check(
        &TcpParams { ecn: Ecn::On, ..params(CUBIC) },
        14,
        Script { marked: &["3"], ..Script::default() },
        "start       | 0 1 2 3 4 5 6 7 | 8 64
         ack 1       | 8 9   | 9 64
         ack 2       | 10 11 | 10 64
         ack 3       | 12 13 | 11 64
         ack 4 echo  |       | 7.7 7.7
         ack 5 echo  |       | 7.7 7.7
         ack 6 echo  |       | 7.7 7.7
         ack 7 echo  |       | 7.7 7.7
         ack 8 echo  |       | 7.7 7.7
         ack 9 echo  |       | 7.7 7.7
         ack 10 echo |       | 7.7 7.7
         ack 11 echo |       | 7.7 7.7
         ack 12 echo |       | 7.7 7.7
         ack 13 echo |       | 7.7 7.7
         ack 14 echo |       | 7.7 7.7",
    );
}
