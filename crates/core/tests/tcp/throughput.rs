//! The square-root law (Mathis, Semke, Mahdavi and Ott 1997): with one of N packets lost, at
//! regular intervals, and every segment acknowledged, SACK carries √(3 N / 2) segments a round
//! trip.
//!
//! The law is that of large windows. A recovery takes a round trip without growth, and only whole
//! segments are sent: one loss of 300 gives 12 % less, one of 100 gives 19 % less.

use crate::wire::{CUBIC, DATA, SACK, SIZE, Setting, params, setup};
use std::collections::VecDeque;
use tidegate_core::endpoint::tcp::{Segment, Sender, TcpParams};
use tidegate_core::endpoint::{Action, Endpoint, HostCx, Payload, Transport};
use tidegate_core::packet::{BodyId, Packet};
use tidegate_core::params::PolicyParams;
use tidegate_core::units::{Span, Time};

const ROUND_TRIP: Span = Span::from_millis(100);

/// Segments a round trip that arrive in order, with each `nth` packet of data lost, after a tenth
/// of the time.
fn carried(setting: Setting, nth: u64, round_trips: u64) -> f64 {
    let params = TcpParams { receiver_window: 10_000 * DATA as u32, ..params(setting) };
    let made = params.make().unwrap();
    let mut sender = Sender::new(&made, Time::NEVER, SIZE);
    sender.offer(u64::MAX);
    let mut receiver = made.receiver(setup(), SIZE);
    let mut flying: VecDeque<(Time, usize, Segment)> = VecDeque::new();
    let (mut timer, mut sent, mut measured) = (Time::ORIGIN, 0, 0.0);
    for (share, sign) in [(1, -1.0), (10, 1.0)] {
        let until = Time::ORIGIN + Span::from_ticks(ROUND_TRIP.ticks() * round_trips * share / 10);
        loop {
            let arrival = flying.front().map_or(Time::NEVER, |(at, ..)| *at);
            let now = arrival.min(timer);
            if now > until {
                break;
            }
            let mut out = Vec::new();
            let mut cx = HostCx { now, out: &mut out };
            let to = if arrival <= timer {
                let (_, to, segment) = flying.pop_front().unwrap();
                let packet = Packet::new(BodyId(0), SIZE);
                match to {
                    0 => timer = sender.receive(&mut cx, &packet, &Payload::Tcp(segment)),
                    _ => assert_eq!(receiver.receive(&mut cx, &packet, &Payload::Tcp(segment)), Time::NEVER),
                }
                1 - to
            } else {
                timer = sender.wake(&mut cx);
                1
            };
            for action in out {
                let Action::Send { payload: Payload::Tcp(segment), .. } = action else {
                    panic!("{action:?}")
                };
                sent += to as u64;
                if to == 0 || !sent.is_multiple_of(nth) {
                    flying.push_back((now + Span::from_ticks(ROUND_TRIP.ticks() / 2), to, segment));
                }
            }
        }
        receiver.gauges(&mut |_, delivered| measured += sign * delivered);
    }
    measured / DATA as f64 / (round_trips as f64 * 0.9)
}

#[test]
fn sack_keeps_the_square_root_law() {
    for nth in [500, 1000, 3000] {
        let expected = (1.5 * nth as f64).sqrt();
        let measured = carried(SACK, nth, 4000);
        assert!((measured / expected - 1.0).abs() < 0.1, "1 of {nth}: {measured} of {expected}");
    }
}

/// The throughput of the Reno-friendly region is that of Reno (RFC 9438, section 4.3), and no loss
/// rate gives less.
#[test]
fn cubic_carries_no_less() {
    for nth in [100, 1000] {
        let (sack, cubic) = (carried(SACK, nth, 2000), carried(CUBIC, nth, 2000));
        assert!(cubic > 0.95 * sack, "1 of {nth}: {cubic}, {sack}");
    }
}
