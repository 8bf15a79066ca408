//! `observe`: measures traffic that the kernel forwards, and suggests reservations.

use super::arguments::Observe;
use super::privileges::drop_privileges;
use crate::error::GateError;
use crate::runtime::WaitMode;
use crate::runtime::commands::{self, CommandSender};
use crate::runtime::forwarder::{Forwarder, Mode};
use crate::sys::log::log;
use crate::telemetry::observer::{self, Observer};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidegate_core::units::Span;

/// Observes until it is stopped; returns the file with the suggested reservations, or JSON.
pub(super) fn run(observe: &Observe) -> Result<String, GateError> {
    let source = observe.source.source();
    let text = std::fs::read_to_string(&source.path).unwrap_or_default();
    let file = Arc::new(observer::with_unmatched_flow(source.load()?));
    let (sender, mut queue) = commands::queue()?;
    sender.stop_on(&[SIGINT, SIGTERM])?;
    let mut forwarder = Forwarder::open(Arc::clone(&file), Mode::Observe)?;
    log(&format!("{}: observing {} and {}", file.name, file.inside, file.outside));
    drop_privileges(WaitMode::Sleep)?;
    let ended = AtomicBool::new(false);
    let (outcome, mut observer) = std::thread::scope(|scope| {
        let observer = scope.spawn(|| sample_every_second(&sender, &ended));
        let outcome = forwarder.run(&mut queue, observe.duration, WaitMode::Sleep, Span::ZERO);
        ended.store(true, Ordering::SeqCst);
        (outcome, observer.join().unwrap_or_default())
    });
    outcome?;
    observer.update(forwarder.report(), forwarder.members());
    log(observer.table(&file).trim_end());
    let name = source.path.display().to_string();
    Ok(match observe.json {
        true => format!("{:#}\n", observer.json(&file)),
        false => observer.file(&file, &text, &name, &source.overrides),
    })
}

/// Samples the forwarder every second until it has ended. The caller takes the last sample.
fn sample_every_second(sender: &CommandSender, ended: &AtomicBool) -> Observer {
    /// Longest time until the end is noticed.
    const STEP: Duration = Duration::from_millis(50);
    let mut observer = Observer::default();
    while !ended.load(Ordering::SeqCst) {
        if let (Some(report), Some(members)) = (sender.report(), sender.members()) {
            observer.update(report, members);
        }
        (0..20).take_while(|_| !ended.load(Ordering::SeqCst)).for_each(|_| std::thread::sleep(STEP));
    }
    observer
}
