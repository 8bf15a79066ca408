//! RFC 8985: losses by time, the reordering window and tail loss probes; RFC 2883 for D-SACKs. The
//! round trip is 100 ms.

use crate::wire::{RACK, Script, Wire, check, expect, params};
use tidegate_core::endpoint::tcp::TcpParams;
use tidegate_core::units::Span;

/// Three SACKed segments, and no reordering so far: RACK.reo_wnd is zero (section 6.2, step 4), and
/// segments sent before them are lost. Then cwnd = ssthresh = 8 / 2, and data leave while `pipe` is
/// below it.
#[test]
fn one_loss_in_a_window() {
    check(
        &params(RACK),
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

/// In the recovery the window is zero as well: 3 and 5 are lost as soon as anything behind them has
/// arrived.
#[test]
fn three_losses_in_a_window() {
    check(
        &params(RACK),
        16,
        Script { lost: &["0", "3", "5"], ..Script::default() },
        "start                | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 1         | 8  | 8 64
         ack 0 sack 1-2       | 9  | 8 64
         ack 0 sack 4 1-2     | 0r | 4 4
         ack 0 sack 6 4 1-2   |    | 4 4
         ack 0 sack 6-7 4 1-2 | 3r | 4 4
         ack 0 sack 6-8 4 1-2 | 5r | 4 4
         ack 0 sack 6-9 4 1-2 | 10 | 4 4
         ack 3 sack 6-9 4     | 11 | 4 4
         ack 5 sack 6-9       | 12 | 4 4
         ack 10               | 13 | 4 4
         ack 11               | 14 | 4.25 4
         ack 12               | 15 | 4.485 4
         ack 13               |    | 4.707 4
         ack 14               |    | 4.707 4
         ack 15               |    | 4.707 4
         ack 16               |    | 4.707 4",
    );
}

/// 10 was sent after 0r and has arrived: 0r is lost. The loss of a retransmission reduces the
/// window again (RFC 5681, section 4.3). With the scoreboard of RFC 6675 only the timer finds it.
#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    let wire = check(
        &params(RACK),
        16,
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
         ack 0 sack 1-9  | 12  | 4 4
         ack 0 sack 1-10 | 0rr | 2 2
         ack 0 sack 1-11 |     | 2 2
         ack 0 sack 1-12 | 13  | 2 2
         ack 13          | 14  | 2 2
         ack 14          | 15  | 2.5 2
         ack 15          |     | 2.9 2
         ack 16          |     | 2.9 2",
    );
    assert_eq!(wire.gauge("timeouts"), 0.0);
}

/// Two SACKed segments are too few for DupThresh: 0 is lost RACK.rtt + RACK.reo_wnd = 100 + 100 / 4
/// ms after it was sent, by the reordering timer.
#[test]
fn the_reordering_timer_finds_a_loss_that_duplicates_do_not() {
    check(
        &params(RACK),
        3,
        Script { lost: &["0"], ..Script::default() },
        "start          | 0 1 2 | 8 64
         ack 0 sack 1   |    | 8 64
         ack 0 sack 1-2 |    | 8 64
         timer 125      | 0r | 2 2
         ack 3          |    | 2 2",
    );
}

/// PTO is twice SRTT after the last acknowledgement (section 7.2); the highest segment is sent
/// again, and its SACK shows that 5 and 6 are lost: ssthresh is max(3 / 2, 2).
#[test]
fn a_probe_finds_a_lost_tail() {
    check(
        &params(RACK),
        8,
        Script { lost: &["5", "6", "7"], ..Script::default() },
        "start        | 0 1 2 3 4 5 6 7 | 8 64
         ack 1        |       | 9 64
         ack 2        |       | 9 64
         ack 3        |       | 9 64
         ack 4        |       | 9 64
         ack 5        |       | 9 64
         timer 300    | 7r    | 9 64
         ack 5 sack 7 | 5r 6r | 2 2
         ack 6 sack 7 |       | 2 2
         ack 8        |       | 2 2",
    );
}

/// A probe that has repaired a loss: without a D-SACK of it, the first acknowledgement of later
/// data reduces the window (section 7.4.2), by the 6 segments in flight.
#[test]
fn a_loss_that_a_probe_has_repaired_reduces_the_window_once() {
    let mut wire = Wire::new(&params(RACK), 8, Script { lost: &["7"], ..Script::default() });
    wire.run(450);
    wire.offer(460, 6);
    wire.run(10_000);
    expect(
        &wire,
        "start     | 0 1 2 3 4 5 6 7 | 8 64
         ack 1     |    | 9 64
         ack 2     |    | 9 64
         ack 3     |    | 9 64
         ack 4     |    | 9 64
         ack 5     |    | 9 64
         ack 6     |    | 9 64
         ack 7     |    | 9 64
         timer 300 | 7r | 9 64
         ack 8     |    | 9 64
         offer 460 | 8 9 10 11 12 13 | 9 64
         ack 9     |    | 3 3
         ack 10    |    | 3.333 3
         ack 11    |    | 3.633 3
         ack 12    |    | 3.908 3
         ack 13    |    | 3.908 3
         ack 14    |    | 3.908 3",
    );
}

/// The acknowledgement of 7 is lost and not the segment: a D-SACK says so, and the window stays.
#[test]
fn a_needless_probe_reduces_nothing() {
    let mut wire = Wire::new(&params(RACK), 8, Script { lost_acks: &[8], ..Script::default() });
    wire.run(450);
    wire.offer(460, 6);
    wire.run(10_000);
    expect(
        &wire,
        "start        | 0 1 2 3 4 5 6 7 | 8 64
         ack 1        |    | 9 64
         ack 2        |    | 9 64
         ack 3        |    | 9 64
         ack 4        |    | 9 64
         ack 5        |    | 9 64
         ack 6        |    | 9 64
         ack 7        |    | 9 64
         timer 300    | 7r | 9 64
         ack 8 sack 7 |    | 9 64
         offer 460    | 8 9 10 11 12 13 | 9 64
         ack 9        |    | 9 64
         ack 10       |    | 9 64
         ack 11       |    | 9 64
         ack 12       |    | 9 64
         ack 13       |    | 9 64
         ack 14       |    | 9 64",
    );
}

/// One segment in flight: its acknowledgement may be delayed by 100 ms (TLP.max_ack_delay). There
/// is one probe until a round trip was measured, and the retransmission timer runs anew from it
/// (section 7.3): SRTT + 4 RTTVAR is below 1 s.
#[test]
fn one_segment_in_flight_waits_for_a_delayed_acknowledgement() {
    let (delayed_acks, minimum_rto) = (Span::from_millis(100), Span::from_secs(1));
    let params = TcpParams { delayed_acks, minimum_rto, ..params(RACK) };
    let mut wire = Wire::new(&params, 8, Script { lost: &["8", "8r"], ..Script::default() });
    wire.run(450);
    wire.offer(460, 1);
    wire.run(10_000);
    expect(
        &wire,
        "start      | 0 1 2 3 4 5 6 7 | 8 64
         ack 2      |     | 9 64
         ack 4      |     | 9 64
         ack 6      |     | 9 64
         ack 8      |     | 9 64
         offer 460  | 8   | 9 64
         timer 760  | 8r  | 9 64
         timer 1760 | 8rr | 1 2
         ack 9      |     | 2 2",
    );
}

/// Before a round trip was measured there is no probe (section 7.3). At the timeout all are lost:
/// they were sent more than RACK.rtt + RACK.reo_wnd ago (section 6.3).
#[test]
fn the_retransmission_timer_finds_a_lost_first_flight() {
    check(
        &params(RACK),
        8,
        Script { lost: &["0", "1", "2", "3", "4", "5", "6", "7"], ..Script::default() },
        "start      | 0 1 2 3 4 5 6 7 | 8 64
         timer 1000 | 0r    | 1 4
         ack 1      | 1r 2r | 2 4
         ack 2      | 3r 4r | 3 4
         ack 3      | 5r 6r | 4 4
         ack 4      | 7r    | 4.25 4
         ack 5      |       | 4.485 4
         ack 6      |       | 4.485 4
         ack 7      |       | 4.485 4
         ack 8      |       | 4.485 4",
    );
}

/// 3 is 20 ms late, and 13, before that is known: the recovery is for nothing. D-SACKs of both,
/// reported as first blocks, restore the windows and widen RACK.reo_wnd to 2 · 100 / 4 ms. From
/// then on three SACKed segments show no loss: 26, which is 60 ms late, is sent again 150 ms after
/// it was sent at 300 ms, and that is undone, too.
#[test]
fn needless_recoveries_are_undone_and_teach_the_reordering_window() {
    check(
        &params(RACK),
        40,
        Script { late: &[("3", 20), ("13", 20), ("26", 60)], ..Script::default() },
        "start                 | 0 1 2 3 4 5 6 7 | 8 64
         ack 1                 | 8 9    | 9 64
         ack 2                 | 10 11  | 10 64
         ack 3                 | 12 13  | 11 64
         ack 3 sack 4          | 14     | 11 64
         ack 3 sack 4-5        | 15     | 11 64
         ack 3 sack 4-6        | 3r     | 5.5 5.5
         ack 3 sack 4-7        |        | 5.5 5.5
         ack 8                 |        | 5.5 5.5
         ack 9                 |        | 5.5 5.5
         ack 10                |        | 5.5 5.5
         ack 11                |        | 5.5 5.5
         ack 12                | 16     | 5.5 5.5
         ack 13                | 17     | 5.5 5.5
         ack 13 sack 14        | 13r 18 | 5.5 5.5
         ack 13 sack 14-15     | 19     | 5.5 5.5
         ack 13 sack 3 14-15   |        | 5.5 5.5
         ack 16                | 20     | 5.5 5.5
         ack 17                | 21     | 5.681 5.5
         ack 18                | 22     | 5.857 5.5
         ack 18 sack 13        | 23 24 25 26 27 28 | 11 64
         ack 19                | 29 30  | 12 64
         ack 20                | 31 32  | 13 64
         ack 21                | 33 34  | 14 64
         ack 22                | 35 36  | 15 64
         ack 23                | 37 38  | 16 64
         ack 24                | 39     | 17 64
         ack 25                |        | 17 64
         ack 26                |        | 17 64
         ack 26 sack 27        |        | 17 64
         ack 26 sack 27-28     |        | 17 64
         ack 26 sack 27-29     |        | 17 64
         ack 26 sack 27-30     |        | 17 64
         ack 26 sack 27-31     |        | 17 64
         ack 26 sack 27-32     |        | 17 64
         ack 26 sack 27-33     |        | 17 64
         ack 26 sack 27-34     |        | 17 64
         timer 450             | 26r    | 7 7
         ack 35                |        | 7 7
         ack 36                |        | 7 7
         ack 37                |        | 7 7
         ack 38                |        | 7 7
         ack 39                |        | 7 7
         ack 40                |        | 7 7
         ack 40 sack 26        |        | 17 64",
    );
}

/// 0 is late and 1 is lost. The acknowledgements behind the third are lost, up to the D-SACK of 0:
/// it does not undo the recovery, since 1 was not sent again yet.
#[test]
fn a_recovery_with_a_loss_is_not_undone() {
    check(
        &params(RACK),
        12,
        Script { lost: &["1"], late: &[("0", 20)], lost_acks: &[4, 5, 6, 7, 8, 9], ..Script::default() },
        "start            | 0 1 2 3 4 5 6 7 | 8 64
         ack 0 sack 2     | 8        | 8 64
         ack 0 sack 2-3   | 9        | 8 64
         ack 0 sack 2-4   | 0r       | 4 4
         ack 1 sack 0 2-9 | 1r 10 11 | 4 4
         ack 10           |          | 4 4
         ack 11           |          | 4 4
         ack 12           |          | 4 4",
    );
}
