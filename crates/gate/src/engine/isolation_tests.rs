//! Shares of hosts of both sides in a circuit.

use super::tests::{Bench, file_with_circuits, udp};
use super::*;

/// The parts that conversations of hosts inside and outside, all backlogged, have of a circuit of 20
/// Mbit/s in the direction down.
fn parts(within: &str, conversations: &[[u8; 2]]) -> Vec<f64> {
    let text = format!(
        "version = 1\nswitch = {{ buffer = \"20000p\" }}\n\
         gate = {{ inside = \"a\", outside = \"b\", up = \"100mbit\", down = \"100mbit\", overhead = 24 }}\n\
         [[flow]]\nname = \"circuits\"\ncircuits = \"circuits.csv\"\nwithin = \"{within}\"\n"
    );
    let list = "name,addresses,down_ceiling\na,10.0.0.0/24,20mbit\n";
    let mut bench = Bench::of(&Plan::of(&file_with_circuits(&text, list)));
    let mut bytes = vec![0; conversations.len()];
    for millisecond in 0..3000 {
        let at = Time::ORIGIN + Span::from_millis(millisecond);
        while bench.engine.next_event(Direction::Down) < at {
            bench.now = bench.engine.next_event(Direction::Down);
            bench.engine.advance(bench.now, usize::MAX);
            let departures = bench.engine.departures(Direction::Down).to_vec();
            for frame in departures.iter().map(|one| bench.engine.frame(Direction::Down, *one)) {
                let [inside, outside] = [frame[33], frame[29]];
                let whose = conversations.iter().position(|one| *one == [inside, outside]).unwrap();
                bytes[whose] += if millisecond > 1000 { frame.len() } else { 0 };
            }
            bench.engine.complete(Direction::Down, departures.len(), 0);
        }
        bench.now = at;
        for [inside, outside] in conversations {
            let mut frame = udp(5, 1400);
            frame[26..34].copy_from_slice(&[192, 0, 2, *outside, 10, 0, 0, *inside]);
            // CoDel takes some; the queues of all stay filled.
            (0..3).for_each(|_| bench.receive(Direction::Down, &frame));
        }
    }
    bench.check_identity();
    let all: usize = bytes.iter().sum();
    bytes.iter().map(|bytes| *bytes as f64 / all as f64).collect()
}

/// A server outside that sends to many inside has what another has with one conversation, and a host
/// inside to which many send has that, too; with other values of `within` one of them has more.
#[test]
fn hosts_of_both_sides_share_a_circuit() {
    let to_many: Vec<[u8; 2]> = (1..=8).map(|host| [host, 1]).collect();
    let of_many: Vec<[u8; 2]> = (11..=18).map(|server| [20, server]).collect();
    let pair = vec![[30, 30]];
    let conversations = [to_many, of_many, pair].concat();
    let shares = |within: &str| {
        let parts = parts(within, &conversations);
        [&parts[..8], &parts[8..16], &parts[16..]].map(|group| group.iter().sum::<f64>())
    };
    let near = |real: [f64; 3], right: [f64; 3]| real.iter().zip(right).all(|(a, b)| (a - b).abs() < 0.01);
    let third = 1.0 / 3.0;
    for (within, right) in [
        ("triple-isolate", [third; 3]),
        ("host, 5-tuple", [0.8, 0.1, 0.1]),
        ("5-tuple", [8.0 / 17.0, 8.0 / 17.0, 1.0 / 17.0]),
    ] {
        let real = shares(within);
        assert!(near(real, right), "{within}: {real:?}, {right:?}");
    }
}
