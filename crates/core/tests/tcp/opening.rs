//! The handshake: what opens a connection, and what is asked for when it is sent again.

use crate::wire::{DATA, SACK, SIZE, congestion, params, setup};
use tidegate_core::endpoint::tcp::{Ecn, Handshake, LossRecovery, Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload, Transport};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::units::{Span, Time};

/// Opens a connection whose first `lost` opening segments are lost: its packets are these, the
/// acknowledgement of the answer, and a segment of data. Returns for each packet that
/// leaves whether it opens the connection and whether it is ECN-capable.
fn sent(control: &str, lost: usize) -> Vec<(bool, bool)> {
    let params =
        TcpParams { ecn: Ecn::On, handshake: Handshake::On, congestion: congestion(control), ..params(SACK) };
    let made = params.make().unwrap();
    let mut sender = Sender::new(&made, Time::NEVER, SIZE);
    sender.offer(DATA);
    let (mut out, mut at) = (Vec::new(), Time::ORIGIN);
    for _ in 0..=lost {
        at = sender.wake(&mut HostCx { now: at, out: &mut out });
    }
    let answer = Segment { opens: true, ..Segment::default() };
    let cx = &mut HostCx { now: at.before(Span::from_millis(500)), out: &mut out };
    sender.receive(cx, &Packet::new(BodyId(0), 1), &Payload::Tcp(answer));
    out.iter()
        .map(|action| match action {
            Action::Send { payload: Payload::Tcp(segment), mark, .. } => {
                (segment.opens, mark.is_ecn_capable())
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn data_are_ecn_capable_and_the_opening_segment_is_not() {
    assert_eq!(sent("reno", 0), [(true, false), (false, false), (false, true)]);
}

/// The kernel sends all packets of a connection with DCTCP as ECN-capable ones.
#[test]
fn with_dctcp_the_opening_segment_is_ecn_capable() {
    assert_eq!(sent("dctcp", 0), [(true, true), (false, true), (false, true)]);
}

/// Acknowledgements, and the answer to the opening segment, are ECN-capable where all packets are: a
/// queue that marks from a step on would drop them.
#[test]
fn acknowledgements_are_capable_where_all_packets_are() {
    for (name, ecn, expected) in [
        ("reno", Ecn::On, 0),
        ("bbr", Ecn::On, 0),
        ("dctcp", Ecn::On, 0b10),
        ("dctcp", Ecn::Off, 0),
        ("prague", Ecn::On, 0b01),
    ] {
        let params = TcpParams {
            congestion: congestion(name),
            ecn,
            handshake: Handshake::On,
            recovery: LossRecovery::Rack,
            ..params(SACK)
        };
        let mut receiver = params.make().unwrap().receiver(setup(), SIZE);
        let mut out = Vec::new();
        for (opens, length) in [(true, 0), (false, DATA as u32), (false, DATA as u32)] {
            let cx = &mut HostCx { now: Time::ORIGIN, out: &mut out };
            let segment = Segment { opens, length, ..Segment::default() };
            receiver.receive(cx, &Packet::new(BodyId(0), 1), &Payload::Tcp(segment));
        }
        assert!(out.len() > 1, "{name}");
        for action in &out {
            assert!(
                matches!(action, Action::Send { mark, .. } if mark.ecn() == expected),
                "{name}: {action:?}"
            );
        }
    }
}

/// RFC 3168, section 6.1.1.1.
#[test]
fn a_connection_opened_again_has_no_ecn() {
    assert_eq!(sent("reno", 1), [(true, false), (true, false), (false, false), (false, false)]);
    let packets = [(true, true), (true, false), (true, false), (false, false), (false, false)];
    assert_eq!(sent("dctcp", 2), packets);
}

/// RFC 9331, section 4: all of its packets ask for an L4S queue, and it needs what answers to each
/// mark and tells losses by time.
#[test]
fn with_prague_packets_have_ect_1() {
    let prague = TcpParams {
        congestion: congestion("prague"),
        ecn: Ecn::On,
        recovery: LossRecovery::Rack,
        handshake: Handshake::On,
        ..params(SACK)
    };
    assert!(prague.check().is_ok());
    let mut sender = Sender::new(&prague.make().unwrap(), Time::NEVER, SIZE);
    sender.offer(DATA);
    let mut out = Vec::new();
    sender.wake(&mut HostCx { now: Time::ORIGIN, out: &mut out });
    let cx = &mut HostCx { now: Time::ORIGIN + Span::from_millis(10), out: &mut out };
    let answer = Segment { opens: true, ..Segment::default() };
    sender.receive(cx, &Packet::new(BodyId(0), 1), &Payload::Tcp(answer));
    assert!(out.len() > 1);
    for action in out {
        assert!(matches!(action, Action::Send { mark, .. } if mark.ecn() == 0b01), "{action:?}");
    }
    for (less, needs) in [
        (TcpParams { ecn: Ecn::Off, ..prague.clone() }, "ecn = \"on\""),
        (TcpParams { recovery: LossRecovery::Sack, ..prague }, "recovery = \"rack\""),
    ] {
        let fault = less.check().unwrap_err();
        assert!(fault.message.contains(needs), "{}", fault.message);
    }
}
