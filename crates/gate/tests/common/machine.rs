//! Pauses of the machine, which no program on it can make up for: another virtual machine had its
//! processors.

#![allow(
    unsafe_code,
    clippy::disallowed_types,
    reason = "the machine is watched in real time, by the system's own calls"
)]

use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Maximum number of times that a disturbed run is repeated.
const REPEATS: u32 = 2;

/// A thread on each processor, before all others, that only notes how late it wakes up.
pub struct Machine {
    stop: Arc<AtomicBool>,
    latest: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Machine {
    pub fn watch() -> Machine {
        let (stop, latest) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..processors).map(|processor| {
            let (stop, latest) = (Arc::clone(&stop), Arc::clone(&latest));
            std::thread::spawn(move || note(processor, &stop, &latest))
        });
        let threads = threads.collect();
        Machine { stop, latest, threads }
    }

    /// The longest pause of any processor since the start.
    pub fn longest_pause(self) -> Duration {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        Duration::from_nanos(self.latest.load(Ordering::Relaxed))
    }
}

fn note(processor: usize, stop: &AtomicBool, latest: &AtomicU64) {
    let mut set = CpuSet::new();
    set.set(processor);
    // Where this is refused, a processor that is busy looks like one that pauses.
    let _ = sched_setaffinity(None, &set);
    let first = libc::sched_param { sched_priority: 99 };
    // SAFETY: the kernel reads `first`.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first) };
    let nap = Duration::from_millis(1);
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        std::thread::sleep(nap);
        latest.fetch_max(begun.elapsed().saturating_sub(nap).as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Runs `run` until the machine paused for no longer than `most` in it; `None` when it did in every
/// run.
pub fn undisturbed<T>(most: Duration, mut run: impl FnMut() -> T) -> Option<T> {
    for _ in 0..=REPEATS {
        let machine = Machine::watch();
        let outcome = run();
        let pause = machine.longest_pause();
        if pause <= most {
            return Some(outcome);
        }
        println!("inconclusive: the machine paused for {pause:?}");
    }
    None
}
