//! Frames a second of a gate on one processor and on two.

use crate::net::Net;
use crate::{HOSTS, file, frame};
use rustix::thread::{CpuSet, sched_setaffinity};
use tidegate_core::units::Span;
use tidegate_gate::null_gate;

const ROUNDS: usize = 5;

/// Frames that come in a direction, or in both.
#[derive(Clone, Copy)]
struct Traffic {
    name: &'static str,
    file: &'static str,
    both: bool,
    /// Frames of each host that come one behind the other, with checksums: they can be joined.
    in_a_row: u16,
}

const TRAFFIC: [Traffic; 5] = [
    Traffic { name: "one direction, one queue", file: "fifo", both: false, in_a_row: 1 },
    Traffic { name: "one direction, a queue for each host", file: "hosts", both: false, in_a_row: 1 },
    Traffic { name: "the same, in both directions", file: "hosts", both: true, in_a_row: 1 },
    Traffic { name: "one direction, the gate without a file", file: "households", both: false, in_a_row: 1 },
    Traffic { name: "eight datagrams of a flow in a row", file: "hosts", both: false, in_a_row: 8 },
];

/// Frames from the hosts inside, or to them.
fn frames(traffic: Traffic, up: bool) -> Vec<Vec<u8>> {
    let joined = traffic.in_a_row > 1;
    let one = |(host, ix): (u8, u16)| {
        let (inside, outside) = ([10, 7, 1, host], [10, 7, 2, 1]);
        let (from, to) = if up { (inside, outside) } else { (outside, inside) };
        frame(from, to, if joined { ix } else { 0 }, joined)
    };
    (0..HOSTS).flat_map(|host| (0..traffic.in_a_row).map(move |ix| (host, ix))).map(one).collect()
}

/// Frames a second that a gate on so many processors sends.
fn run(net: &Net, traffic: Traffic, processors: usize, seconds: u64) -> Result<f64, String> {
    let work = move || {
        let mut set = CpuSet::new();
        // The last ones: interrupts are the first one's.
        (0..2).rev().take(processors).for_each(|processor| set.set(processor));
        sched_setaffinity(None, &set).map_err(|error| error.to_string())?;
        let file = file(traffic.file, "10gbit")?;
        let up = frames(traffic, true);
        let down = if traffic.both { frames(traffic, false) } else { Vec::new() };
        null_gate::send(file, &[up, down], Span::from_secs(seconds)).map_err(|error| error.to_string())
    };
    let (sent, report) = net.spawn("g", 1, work).join().map_err(|_| "a gate ended".to_owned())??;
    if std::env::var_os("NULL_DEVICE_REPORT").is_some() {
        println!("{report}");
    }
    Ok(sent.iter().sum::<u64>() as f64 / seconds as f64)
}

/// Prints a table.
pub fn compare(seconds: u64, only: &str) -> Result<(), String> {
    let Some(net) = Net::new(true) else {
        println!("skipped: network namespaces take root and iproute2");
        return Ok(());
    };
    println!("| traffic | one processor, frames/s | two | ratio | of each pair of runs |");
    println!("| --- | ---: | ---: | ---: | --- |");
    for traffic in TRAFFIC.into_iter().filter(|traffic| traffic.name.contains(only)) {
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            pairs.push([run(&net, traffic, 1, seconds)?, run(&net, traffic, 2, seconds)?]);
        }
        let median = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        let of = |which: usize| median(pairs.iter().map(|pair| pair[which]).collect());
        let ratios: Vec<f64> = pairs.iter().map(|[one, two]| two / one).collect();
        let each: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
        println!(
            "| {} | {:.0} | {:.0} | {:.2} | {} |",
            traffic.name,
            of(0),
            of(1),
            median(ratios),
            each.join(", ")
        );
    }
    Ok(())
}
