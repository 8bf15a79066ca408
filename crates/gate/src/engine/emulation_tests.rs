use super::tests::{Bench, PLAIN, file, udp};
use super::*;
use std::sync::Arc;
use tidegate_core::link::{GilbertElliott, Loss, LossState, Pace, Trace};
use tidegate_core::packet::Mark;
use tidegate_core::units::Rate;

fn at(milliseconds: u64) -> Time {
    Time::ORIGIN + Span::from_millis(milliseconds)
}

/// A gate with a trace in the direction up, and `rest` in its file.
fn traced(opportunities: &[u32], rest: &str) -> Bench {
    let mut plan = Plan::of(&file(&format!("emulate = {{ up = {{}} }}\n{rest}")));
    let trace = Trace::new(opportunities).unwrap();
    plan.lines[0].rate = Rate::from_bits_per_second(trace.mean_bits_per_second().round() as u64).unwrap();
    plan.lines[0].pace = Pace::Trace(Arc::new(trace));
    Bench::of(&plan)
}

/// 976 bytes and 24 of overhead at 8 Mbit/s: a frame comes out a millisecond and the delay after
/// its first bit.
#[test]
fn a_delay_comes_after_the_last_bit() {
    let mut bench = Bench::new("emulate = { up = { delay = \"30ms\" } }");
    for _ in 0..3 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    bench.receive(Direction::Down, &udp(1, 934));
    assert_eq!(bench.wake(at(0), Direction::Down), [(at(0), 976)]);
    assert_eq!(bench.wake(at(20), Direction::Up), []);
    bench.check_identity();
    assert_eq!((bench.engine.held(Direction::Up), bench.engine.next_due()), (3, at(31)));
    assert_eq!(bench.wake(at(32), Direction::Up), [(at(31), 976), (at(32), 976)]);
    bench.check_identity();
    assert_eq!(bench.wake(at(40), Direction::Up), [(at(33), 976)]);
    assert_eq!((bench.engine.held(Direction::Up), bench.engine.next_due()), (0, Time::NEVER));
}

/// A gate that wakes up late stamps a frame before the event that it is late for. The frame is
/// still on the emulated link from the time when it was read, and never for less than its delay.
#[test]
fn no_frame_is_early_at_a_late_gate() {
    let mut rng = Rng::named(1, "late gate");
    let mut bench = Bench::new("emulate = { up = { delay = \"3ms\" } }");
    let (mut read, mut out) = (std::collections::VecDeque::new(), 0);
    for _ in 0..20_000 {
        // 934 bytes take a millisecond: up to two in a row, at times when something is overdue.
        bench.now += Span::from_micros(rng.below(4000));
        let arrived = bench.now.min(bench.engine.next_event(Direction::Up));
        for _ in 0..rng.below(3) {
            let frame = udp(1, 934);
            let at = Arrival { switch: arrived, ..Arrival::at(bench.now) };
            bench.engine.receive(at, Direction::Up, &Offloaded::new(&PLAIN, &frame, 0).unwrap());
            read.push_back(bench.now);
        }
        for (due, _) in bench.wake(bench.now, Direction::Up) {
            let earliest = read.pop_front().unwrap() + Span::from_millis(4);
            assert!(due >= earliest, "{due:?} before {earliest:?}");
            out += 1;
        }
    }
    assert!(out > 15_000, "{out}");
}

#[test]
fn what_is_lost_is_counted_and_its_place_is_free() {
    let mut bench = Bench::new("emulate = { up = { loss = 0.3, delay = \"5ms\" } }");
    let mut out = 0;
    for step in 0..20_000 {
        bench.receive(Direction::Up, &udp(1, 934));
        out += bench.wake(at(step), Direction::Up).len();
        if step % 100 == 0 {
            bench.check_identity();
        }
    }
    bench.check_identity();
    let drops: Vec<_> =
        bench.engine.counters(Direction::Up).drops().filter(|(_, count)| *count > 0).collect();
    let [("emulated-loss", lost)] = drops[..] else { panic!("{drops:?}") };
    // 99.9 % interval of the binomial.
    let half = 3.29 * (20_000.0 * 0.3 * 0.7_f64).sqrt();
    assert!((lost as f64 - 6000.0).abs() < half, "{lost}");
    assert!(out as u64 + lost >= 19_990);
}

/// A frame a millisecond comes out or is lost, as the core's chain says for the stream of the
/// direction. Without a fault of its own, the gate has the closed forms of the chain: runs of
/// losses of 1/r on average with the variance (1 − r)/r².
/// A seed draws the same losses again, another one others; a reload with another seed begins that
/// one's.
#[test]
fn losses_have_a_seed() {
    let plan = |seed: u64| Plan::of(&file(&format!("emulate = {{ seed = {seed}, up = {{ loss = 0.3 }} }}")));
    let lost = |bench: &mut Bench| -> Vec<bool> {
        let start = bench.now;
        let passes = |step: u64| {
            bench.receive(Direction::Up, &udp(1, 934));
            bench.wake(start + Span::from_millis(2 * step), Direction::Up).is_empty()
        };
        (1..=200).map(passes).collect()
    };
    let mut bench = Bench::of(&plan(1));
    let first = lost(&mut bench);
    assert_eq!(first, lost(&mut Bench::new("emulate = { up = { loss = 0.3 } }")));
    let second = lost(&mut Bench::of(&plan(2)));
    assert_ne!(first, second);
    bench.engine.reconfigure(bench.now, &plan(2)).unwrap();
    assert_eq!(lost(&mut bench), second);
}

#[test]
fn losses_in_bursts_are_those_of_the_chain() {
    const FRAMES: u64 = 100_000;
    let rules = "loss = { kind = \"gilbert-elliott\", to_bad = 0.02, to_good = 0.2 }";
    let mut bench = Bench::new(&format!("emulate = {{ up = {{ {rules} }} }}"));
    let fates: Vec<bool> = (0..FRAMES)
        .map(|step| {
            bench.now = at(step);
            bench.receive(Direction::Up, &udp(1, 934));
            bench.wake(at(step + 1), Direction::Up).is_empty()
        })
        .collect();
    bench.check_identity();
    let chain = GilbertElliott { to_bad: 0.02, to_good: 0.2, loss_in_good: 0.0, loss_in_bad: 1.0 };
    let (loss, mut state) = (Loss::in_bursts(chain).unwrap(), LossState::default());
    let mut rng = Rng::named(1, "link/up");
    let expected: Vec<bool> = (0..FRAMES).map(|_| loss.takes(&mut state, &mut rng)).collect();
    assert_eq!(fates, expected);
    let runs: Vec<usize> =
        fates.chunk_by(|one, next| one == next).filter(|run| run[0]).map(<[_]>::len).collect();
    let (count, lost) = (runs.len() as f64, runs.iter().sum::<usize>() as f64);
    // 99.9 % interval of the mean of geometric lengths.
    let half = 3.29 * (0.8 / (0.2 * 0.2 * count)).sqrt();
    assert!((lost / count - 5.0).abs() < half, "{lost} lost in {count} runs");
}

/// Frames of 1000 bytes (976 and the overhead of 24), two of which share an opportunity in part.
#[test]
fn a_trace_says_when_frames_go() {
    let mut bench = traced(&[4, 10], "");
    for _ in 0..4 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    assert_eq!(bench.engine.next_due(), at(4));
    assert!(bench.engine.is_busy(Direction::Up));
    // 1000 at 4 ms and half of the next; its rest and another at 10; 14: the last.
    let sent = bench.wake(at(17), Direction::Up);
    assert_eq!(sent, [at(4), at(10), at(10), at(14)].map(|due| (due, 976)));
    bench.check_identity();
    assert_eq!(bench.engine.next_due(), Time::NEVER);
    // No opportunity is requested until a frame waits; the first then is at 24 ms.
    bench.wake(at(22), Direction::Up);
    bench.receive(Direction::Up, &udp(1, 934));
    assert_eq!(bench.wake(at(30), Direction::Up), [(at(24), 976)]);
    assert_eq!(bench.engine.counters(Direction::Up).stalls, 0);
}

/// A process that was suspended loses the opportunities that it cannot make up for, and counts
/// them.
#[test]
fn opportunities_that_were_slept_through_are_lost() {
    let mut bench = traced(&[1], "switch = { buffer = \"5000p\" }");
    for _ in 0..1000 {
        bench.receive(Direction::Up, &udp(1, 1434));
    }
    let sent = bench.wake(at(500), Direction::Up);
    assert_eq!(sent.len(), 21);
    assert!(sent.iter().all(|(due, _)| *due >= at(480)));
    let counters = bench.engine.counters(Direction::Up);
    assert_eq!((counters.stalls, counters.stalled), (1, Span::from_millis(479)));
    bench.check_identity();
}

/// Another plan makes the link shorter: frames on the way come out before those that follow.
#[test]
fn a_shorter_link_keeps_the_order() {
    let mut bench = Bench::new("emulate = { up = { delay = \"50ms\" } }");
    bench.receive(Direction::Up, &udp(1, 934));
    bench.wake(at(10), Direction::Up);
    for rest in ["emulate = { up = { delay = \"1ms\" } }", ""] {
        bench.engine.reconfigure(bench.now, &Plan::of(&file(rest))).unwrap();
        bench.receive(Direction::Up, &udp(1, 834));
        assert_eq!(bench.wake(bench.now + Span::from_millis(5), Direction::Up), []);
        bench.check_identity();
    }
    let lengths: Vec<_> = bench.wake(at(51), Direction::Up);
    assert_eq!(lengths, [(at(51), 976), (at(51), 876), (at(51), 876)]);
    bench.receive(Direction::Up, &udp(1, 834));
    assert_eq!(bench.wake(at(51), Direction::Up), [(at(51), 876)]);
}

/// A trace continues where it was when something else is changed, and starts from its beginning
/// when it is new.
#[test]
fn a_trace_that_stays_goes_on() {
    let mut bench = traced(&[100], "");
    bench.wake(at(30), Direction::Up);
    let mut plan = Plan::of(&file("emulate = { up = { delay = \"1ms\" } }"));
    for (trace, due) in [([100], 101), ([50], 81)] {
        plan.lines[0].pace = Pace::Trace(Arc::new(Trace::new(trace).unwrap()));
        bench.engine.reconfigure(bench.now, &plan).unwrap();
        bench.receive(Direction::Up, &udp(1, 934));
        assert_eq!(bench.engine.next_due(), at(due - 1), "{trace:?}");
        if due == 81 {
            assert_eq!(bench.wake(at(90), Direction::Up).first(), Some(&(at(due), 976)));
        }
    }
}

/// While the link is down, frames wait; the rest of the one that was being sent follows when it is
/// up again.
#[test]
fn an_outage_holds_frames() {
    let outage = "change = [{ at = \"2ms\", state = \"down\" }, { at = \"9ms\", state = \"up\" }]";
    let mut bench = Bench::new(&format!("emulate = {{ up = {{ delay = \"0s\", {outage} }} }}"));
    // A millisecond each at 8 Mbit/s.
    for _ in 0..4 {
        bench.receive(Direction::Up, &udp(1, 934));
    }
    let sent = bench.wake(at(15), Direction::Up);
    assert_eq!(sent, [at(1), at(2), at(10), at(11)].map(|due| (due, 976)));
    bench.check_identity();
}

#[test]
fn a_rules_codepoint_is_set_as_its_frames_leave() {
    let mut bench =
        Bench::new("[[flow]]\nname = \"a\"\nmatch = { inside_port = 1, dscp = 0 }\nset_dscp = 46\n");
    let (mine, other) = (udp(1, 100), udp(2, 100));
    bench.receive(Direction::Up, &mine);
    bench.receive(Direction::Up, &other);
    bench.engine.advance(at(5), usize::MAX);
    let frames: Vec<Vec<u8>> = bench
        .engine
        .departures(Direction::Up)
        .iter()
        .map(|one| bench.engine.frame(Direction::Up, *one).to_vec())
        .collect();
    let [first, second] = &frames[..] else { panic!("{frames:?}") };
    let mut expected = mine;
    crate::frame::rewrite::write_mark(&mut expected, Mark::NONE.with_dscp(46));
    assert_eq!((first, second), (&expected, &other));
    assert_eq!(Headers::read(LinkType::Ethernet, first).ip.map(|ip| (ip.dscp, ip.ecn)), Some((46, 0)));
}
