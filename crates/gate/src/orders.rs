//! What the thread that forwards is asked for by the one that talks to people.

use crate::error::GateError;
use crate::plan::Plan;
use crate::report::Report;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tidegate_core::classifier::rules::{Direction, Key};
use tidegate_core::contract::Refused;
use tidegate_core::stats::Count;
use tidegate_core::switch::FlowCounters;
use tidegate_spec::GateFile;

/// How long an answer may take: the other thread is never away for so long, unless it is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// A flow that was made at its first packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) direction: Direction,
    /// Its rule's place in the file.
    pub(crate) rule: usize,
    pub(crate) key: Key,
    /// What came for it so far, on the wire.
    pub(crate) arrived: Count,
}

/// A circuit that has had packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CircuitCounters {
    /// Its rule's place in the file, and its number in the list.
    pub(crate) rule: usize,
    pub(crate) circuit: u32,
    /// Of each direction, up first.
    pub(crate) counters: [FlowCounters; 2],
}

/// Something to do between two frames.
pub(crate) enum Order {
    /// Say what was seen so far.
    Report(Sender<Report>),
    /// Say what came for every flow that a rule has made for each of something.
    Members(Sender<Vec<Member>>),
    /// Say what every circuit has sent and lost.
    Circuits(Sender<Vec<CircuitCounters>>),
    /// Go on with another file.
    Apply(Arc<GateFile>, Box<Plan>, Sender<Result<(), Refused>>),
}

/// Where orders come in, and the wish to stop.
pub(crate) struct Orders {
    orders: Receiver<Order>,
    bell: UnixStream,
    /// Held, so that the bell stays a bell when nobody can ring it any more.
    _ring: UnixStream,
    stop: Arc<AtomicBool>,
}

/// Gives orders. Each end that rings the bell has its own.
pub(crate) struct Caller {
    orders: Sender<Order>,
    bell: UnixStream,
    stop: Arc<AtomicBool>,
}

/// Both ends of a new line.
///
/// # Errors
/// When the system has no descriptors left.
pub(crate) fn line() -> Result<(Caller, Orders), GateError> {
    let failed = |error| GateError::system("a line between threads", error);
    let (ring, bell) = UnixStream::pair().map_err(failed)?;
    for end in [&ring, &bell] {
        end.set_nonblocking(true).map_err(failed)?;
    }
    let (sender, orders) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let held = ring.try_clone().map_err(failed)?;
    Ok((
        Caller { orders: sender, bell: ring, stop: Arc::clone(&stop) },
        Orders { orders, bell, _ring: held, stop },
    ))
}

impl Orders {
    /// Can be read when there is something to see to.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Whether to stop. The bell is quiet afterwards, until it is rung again.
    pub(crate) fn stop_wanted(&mut self) -> bool {
        while matches!(self.bell.read(&mut [0; 64]), Ok(64)) {}
        self.stop.load(Ordering::SeqCst)
    }

    /// The next order, if there is one.
    pub(crate) fn next(&self) -> Option<Order> {
        self.orders.try_recv().ok()
    }
}

impl Caller {
    /// Sends SIGTERM and SIGINT down this line.
    ///
    /// # Errors
    /// When the system does not take a signal handler.
    pub(crate) fn stop_on(&self, signals: &[i32]) -> Result<(), GateError> {
        let failed = |error| GateError::system("waiting for signals", error);
        for signal in signals {
            // The wish first, then the bell: handlers run in the order of their registration.
            signal_hook::flag::register(*signal, Arc::clone(&self.stop)).map_err(failed)?;
            let bell = self.bell.try_clone().map_err(failed)?;
            signal_hook::low_level::pipe::register(*signal, bell).map_err(failed)?;
        }
        Ok(())
    }

    /// Asks the gate to stop.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ring();
    }

    fn ring(&self) {
        // A bell that is full has been rung.
        let _ = (&self.bell).write(&[0]);
    }

    /// What was seen so far; `None` when the gate does not answer.
    pub(crate) fn report(&self) -> Option<Report> {
        let (sender, answer) = channel();
        self.orders.send(Order::Report(sender)).ok()?;
        self.ring();
        answer.recv_timeout(PATIENCE).ok()
    }

    /// What came for every flow made for each of something; `None` when the gate does not answer.
    pub(crate) fn members(&self) -> Option<Vec<Member>> {
        let (sender, answer) = channel();
        self.orders.send(Order::Members(sender)).ok()?;
        self.ring();
        answer.recv_timeout(PATIENCE).ok()
    }

    /// What every circuit that has had packets has sent and lost; `None` when the gate does not answer.
    pub(crate) fn circuits(&self) -> Option<Vec<CircuitCounters>> {
        let (sender, answer) = channel();
        self.orders.send(Order::Circuits(sender)).ok()?;
        self.ring();
        answer.recv_timeout(PATIENCE).ok()
    }

    /// Has another file applied; `None` when the gate does not answer.
    pub(crate) fn apply(&self, file: Arc<GateFile>, plan: Plan) -> Option<Result<(), Refused>> {
        let (sender, answer) = channel();
        self.orders.send(Order::Apply(file, Box::new(plan), sender)).ok()?;
        self.ring();
        answer.recv_timeout(PATIENCE).ok()
    }
}
