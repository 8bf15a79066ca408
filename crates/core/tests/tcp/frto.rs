//! Needless timeouts (RFC 5682): a delay of the whole path, and a loss of the whole flight.

use crate::wire::{DATA, RACK, SIZE, params};
use tidegate_core::endpoint::tcp::{
    Block, Frto, Growth, LossRecovery, Reduction, Segment, Sender, TcpParams, Timestamps,
};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::units::{Span, Time};

/// A sender with a window of eight segments, whose first flight has waited for its timeout.
struct Case {
    sender: Sender,
    due: Time,
}

impl Case {
    fn new(frto: Frto) -> Case {
        let params = TcpParams {
            recovery: LossRecovery::Rack,
            growth: Growth::Segments,
            reduction: Reduction::Prr,
            timestamps: Timestamps::On,
            frto,
            ..params(RACK)
        };
        let mut sender = Sender::new(&params.make().unwrap(), Time::NEVER, SIZE);
        sender.offer(u64::MAX);
        let mut case = Case { sender, due: Time::ORIGIN };
        assert_eq!(case.wait(), (0..8).collect::<Vec<_>>());
        assert_eq!(case.wait(), [0], "the timeout");
        assert_eq!((case.gauge("cwnd"), case.gauge("ssthresh")), (1.0, 4.0));
        case
    }

    /// Lets the timer expire. Returns the segments sent.
    fn wait(&mut self) -> Vec<u64> {
        self.call(self.due, None)
    }

    /// The segments sent at an acknowledgement of `segments` segments, with these SACKed.
    fn answer(&mut self, after: u64, segments: u64, sacked: Option<(u64, u64)>) -> Vec<u64> {
        let mut segment = Segment { acknowledgement: segments * DATA, window: 1 << 20, ..Segment::default() };
        if let Some((start, end)) = sacked {
            segment.sack[0] = Block { start: start * DATA, end: end * DATA };
        }
        self.call(Time::ORIGIN + Span::from_millis(after), Some(segment))
    }

    fn call(&mut self, now: Time, came: Option<Segment>) -> Vec<u64> {
        let mut out = Vec::new();
        let mut cx = HostCx { now, out: &mut out };
        self.due = match came {
            None => self.sender.wake(&mut cx),
            Some(segment) => self.sender.receive(&mut cx, &Packet::new(BodyId(0), 1), &Payload::Tcp(segment)),
        };
        let number = |action| {
            let Action::Send { payload: Payload::Tcp(segment), .. } = action else { panic!("{action:?}") };
            segment.sequence / DATA
        };
        out.into_iter().map(number).collect()
    }

    fn gauge(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.sender.gauges(&mut |gauge, value| found = if gauge == name { value } else { found });
        found
    }
}

/// All acknowledgements are late: the second one is for a segment that was sent once.
#[test]
fn a_delay_leaves_the_windows_as_they_were() {
    let mut case = Case::new(Frto::On);
    assert_eq!(case.answer(1100, 1, None), [8, 9], "step 2b");
    assert_eq!(case.answer(1101, 2, None), [10], "step 3b: the windows are as before, and grow");
    assert_eq!(case.answer(1102, 3, None), [11, 12]);
    assert_eq!((case.gauge("retransmissions"), case.gauge("timeouts")), (1.0, 1.0));
    assert!(case.gauge("cwnd") >= 8.0 && case.gauge("ssthresh") > 8.0);
}

/// The segment is sent again twice before anything comes back.
#[test]
fn a_longer_delay_leaves_the_windows_as_they_were_too() {
    let mut case = Case::new(Frto::On);
    assert_eq!(case.wait(), [0], "the second timeout");
    assert_eq!(case.answer(5000, 1, None), [8, 9]);
    assert_eq!(case.answer(5001, 2, None), [10]);
    assert_eq!((case.gauge("retransmissions"), case.gauge("timeouts")), (2.0, 2.0));
    assert!(case.gauge("cwnd") >= 8.0 && case.gauge("ssthresh") > 8.0);
}

#[test]
fn without_it_a_delay_sends_the_flight_again() {
    let mut case = Case::new(Frto::Off);
    assert_eq!(case.answer(1100, 1, None), [1, 2]);
    assert_eq!(case.gauge("ssthresh"), 4.0);
}

/// Nothing but the retransmission has arrived: new data show the gap, and the flight is sent again.
#[test]
fn a_loss_is_repaired_from_the_second_acknowledgement_on() {
    let mut case = Case::new(Frto::On);
    assert_eq!(case.answer(1100, 1, None), [8, 9], "step 2b");
    assert_eq!(case.answer(1200, 1, Some((8, 9))), [1], "step 3a");
    assert_eq!(case.answer(1201, 1, Some((8, 10))), [2]);
    assert_eq!((case.gauge("timeouts"), case.gauge("ssthresh")), (1.0, 4.0));
}

/// An acknowledgement of segments that were sent once is as good as two.
#[test]
fn an_acknowledgement_of_all_shows_a_delay() {
    let mut case = Case::new(Frto::On);
    assert_eq!(case.answer(1100, 8, None), (8..24).collect::<Vec<_>>(), "and the window grows");
    assert_eq!(case.gauge("retransmissions"), 1.0);
}
