use super::super::{ScheduleError, TraceFlow};
use super::load;
use tidegate_core::units::Span;

/// Returns packets at 0, 1 and 4 s of two flows: the mean gap is 2 s.
fn flow() -> TraceFlow {
    load("t", b"time,size,flow\n10,100,a\n11,200,b\n14,300,a\n").unwrap().flows[0].clone()
}

fn seconds(flow: &TraceFlow, speed: f64, repeat: u64) -> Vec<(f64, u32)> {
    flow.schedule(speed, repeat).unwrap().map(|(time, bytes)| (time.as_secs_f64(), bytes)).collect()
}

#[test]
fn once_and_again() {
    assert_eq!(seconds(&flow(), 1.0, 0), []);
    assert_eq!(seconds(&flow(), 1.0, 1), [(0.0, 100), (4.0, 300)]);
    assert_eq!(seconds(&flow(), 1.0, 2), [(0.0, 100), (4.0, 300), (6.0, 100), (10.0, 300)]);
}

#[test]
fn faster_and_slower() {
    assert_eq!(seconds(&flow(), 2.0, 2), [(0.0, 100), (2.0, 300), (3.0, 100), (5.0, 300)]);
    assert_eq!(seconds(&flow(), 0.5, 1), [(0.0, 100), (8.0, 300)]);
}

#[test]
fn without_end_it_stops_where_time_does() {
    // A period of 1.5 × 10⁸ s: the second repetition's last packet no longer fits.
    let long = load("t", b"0 100\n50000000 100\n100000000 100\n").unwrap().flows[0].clone();
    assert_eq!(seconds(&long, 1.0, u64::MAX).len(), 4);
    assert_eq!(flow().schedule(1.0, u64::MAX).unwrap().take(1000).count(), 1000);
}

#[test]
fn what_cannot_be_played() {
    for speed in [0.0, -1.0, f64::INFINITY] {
        assert_eq!(flow().schedule(speed, 1).unwrap_err(), ScheduleError::Speed(speed));
    }
    assert!(flow().schedule(f64::NAN, 1).is_err());
    let one = load("t", b"5 100\n").unwrap().flows[0].clone();
    assert_eq!(one.schedule(1.0, 2).unwrap_err(), ScheduleError::NoPeriod);
    assert_eq!(one.schedule(1.0, 1).unwrap().collect::<Vec<_>>(), [(Span::ZERO, 100)]);
}
