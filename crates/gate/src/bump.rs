//! The bump in the wire: waits for what comes first, a frame or a departure, and acts on it.

use crate::clock::{Clock, TICKS_PER_NANOSECOND};
use crate::engine::{Engine, Loss};
use crate::error::GateError;
use crate::handover::{Guard, Handover, Port};
use crate::io::{BATCH, Interface, Receiver, Sender, Side};
use crate::orders::{CircuitCounters, Member, Order, Orders};
use crate::plan::Plan;
use crate::priority::Priority;
use crate::report::{Process, Report};
use crate::waiting::{self, Waiting};
use hdrhistogram::Histogram;
use rustix::thread::set_current_timer_slack;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::{Span, Time};
use tidegate_spec::{GateFile, Io};

/// Bytes of an Ethernet header and of two VLAN tags.
const FRAMING: usize = 14 + 2 * 4;
/// The longest lateness that is told apart, in nanoseconds.
const LATEST: u64 = 100_000_000_000;

/// For how long frames may be left to the kernel's buffer while their link is busy: it holds a hundred
/// times as much.
const PATIENCE: Span = Span::from_millis(5);

/// How often an interface that is down is looked at, and every receiver.
const LOOKING: Span = Span::from_millis(100);

/// A frame that a receiver has got can be read after this time: rings hand them over in blocks.
const SETTLING: Duration = Duration::from_millis(20);

/// What a gate does with frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It forwards them.
    Forward,
    /// It sees what would become of them.
    Observe,
}

/// A gate that runs.
pub(crate) struct Bump {
    /// Dropped first: a bridge takes over before the sockets are closed. `None` when it only observes: the
    /// kernel then goes on forwarding, and nothing is sent.
    handover: Option<Handover>,
    file: Arc<GateFile>,
    indexes: [u32; 2],
    receivers: [Receiver; 2],
    senders: [Sender; 2],
    engine: Engine,
    clock: Clock,
    lateness: [Histogram<u64>; 2],
    missed: [u64; 2],
    /// Whether real-time scheduling was granted.
    real_time: bool,
    /// When to look whether an interface that went down is back, or gone: the kernel says once that it
    /// is down, and not whether it was removed then.
    look_at: Time,
    /// When to look at the receivers again.
    check_at: Time,
}

impl Bump {
    /// Opens both interfaces, and takes over from a bridge. What comes in from then on waits for
    /// [`run`](Self::run).
    ///
    /// # Errors
    /// When an interface is missing, down, held by another gate, or not to be had, or the plan is refused.
    pub(crate) fn open(file: Arc<GateFile>, doing: Doing) -> Result<Bump, GateError> {
        let io = match (doing, file.io) {
            (Doing::Observe, Io::Tap) => {
                let help = "observe interfaces that carry traffic without a gate";
                return Err(GateError::unfit(
                    &file.inside,
                    "without a gate nothing passes a TAP device",
                    help,
                ));
            }
            // To look on, frames must not be taken away.
            (Doing::Observe, Io::Xdp) => Io::Packet,
            (_, io) => io,
        };
        let [inside, outside] = [Side::open(io, &file.inside)?, Side::open(io, &file.outside)?];
        crate::io::check_rates(&file)?;
        let longest = inside.interface.mtu.max(outside.interface.mtu) + FRAMING;
        let engine = Engine::new(Time::ORIGIN, &Plan::of(&file), longest.next_multiple_of(64))?;
        let histogram = || Histogram::new_with_bounds(1, LATEST, 3);
        let (Ok(up), Ok(down)) = (histogram(), histogram()) else {
            return Err(GateError::system("a histogram", io::Error::from(io::ErrorKind::InvalidInput)));
        };
        let port = |name, side: &Side| Port { name, index: side.interface.index };
        let ports = [port(&file.inside, &inside), port(&file.outside, &outside)];
        let handover = match doing {
            Doing::Forward => Some(Handover::prepare(&file, ports)?),
            Doing::Observe => None,
        };
        let mut bump = Bump {
            handover,
            indexes: ports.map(|port| port.index),
            file,
            receivers: [inside.receiver, outside.receiver],
            senders: [outside.sender, inside.sender],
            engine,
            clock: Clock::start(),
            lateness: [up, down],
            missed: [0; 2],
            real_time: false,
            look_at: Time::NEVER,
            check_at: Time::ORIGIN,
        };
        bump.take_over().map_err(|error| GateError::system("taking over from the bridge", error))?;
        Ok(bump)
    }

    /// Forwards until it is told to stop, or for as long as `lasting` says. Having woken up and sent what was due,
    /// it sleeps for at least `nap`.
    ///
    /// # Errors
    /// When an interface is removed, or the system fails to wait.
    pub(crate) fn run(
        &mut self,
        orders: &mut Orders,
        lasting: Option<Span>,
        waiting: Waiting,
        nap: Span,
    ) -> Result<(), GateError> {
        // The kernel may else let a sleeper lie for 50 µs to save a wake-up.
        set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|error| GateError::system("timer slack", error))?;
        let start = self.clock.now();
        let mut priority = Priority::new(waiting == Waiting::RealTime, start, Clock::used());
        self.real_time = priority.was_granted();
        let until = lasting.map_or(Time::NEVER, |lasting| start + lasting);
        let mut more = false;
        loop {
            let now = self.clock.now();
            if now >= until {
                return Ok(());
            }
            priority.adapt(now, Clock::used);
            if now >= self.look_at {
                self.look(now)?;
            }
            if now >= self.check_at {
                self.check(now)?;
            }
            let due = self.engine.next_due().min(until).min(self.look_at).min(self.check_at);
            // What comes in for a link that is busy has to be known at its next departure, not before.
            let patient = due.since(now) <= PATIENCE;
            let watched = Direction::BOTH.map(|direction| !(patient && self.engine.is_busy(direction)));
            if !more && nap > Span::ZERO {
                waiting::nap(nap);
            }
            let span = if more || waiting == Waiting::Busy { Span::ZERO } else { due.since(now + nap) };
            let ready = waiting::wait(&self.receivers, orders, watched, span)?;
            let now = self.clock.now();
            // It came before what is due by now, or may as well have.
            let came = now.min(self.engine.next_due());
            more = false;
            for direction in Direction::BOTH {
                let side = direction as usize;
                if ready[side] || !watched[side] {
                    more |= self.receive(came, direction)? == BATCH;
                }
            }
            self.engine.advance(now);
            for direction in Direction::BOTH {
                self.send(direction);
            }
            if ready[2] {
                if orders.stop_wanted() {
                    return Ok(());
                }
                while let Some(order) = orders.next() {
                    self.obey(order);
                }
            }
        }
    }

    /// An answer that nobody waits for any more is nobody's loss.
    #[cold]
    fn obey(&mut self, order: Order) {
        match order {
            Order::Report(answer) => {
                let _ = answer.send(self.report());
            }
            Order::Members(answer) => {
                let _ = answer.send(self.members());
            }
            Order::Circuits(answer) => {
                let _ = answer.send(self.circuits());
            }
            Order::Apply(file, plan, answer) => {
                let done = self.engine.reconfigure(self.clock.now(), &plan);
                if done.is_ok() {
                    self.file = file;
                }
                let _ = answer.send(done);
            }
        }
    }

    /// From here on frames are this gate's and no longer the bridge's, if there is one.
    fn take_over(&mut self) -> io::Result<()> {
        let Some(guard) = self.handover.as_ref().and_then(|handover| handover.guard.as_ref()) else {
            return Ok(());
        };
        self.receivers.iter().try_for_each(|receiver| guard.hold(receiver.fd()))?;
        std::thread::sleep(SETTLING);
        // What is there has passed the bridge, too. No more of it comes, so this ends.
        for receiver in &mut self.receivers {
            while match receiver.receive(|_| {}) {
                Ok(count) => count > 0,
                Err(error) => matches!(error.raw_os_error(), Some(libc::EINTR | libc::EINVAL)),
            } {}
        }
        guard.take()?;
        self.receivers.iter().try_for_each(|receiver| Guard::release(receiver.fd()))
    }

    /// Takes in what is there, at most [`BATCH`] frames, and says how many there were.
    fn receive(&mut self, came: Time, direction: Direction) -> Result<usize, GateError> {
        let Bump { receivers, engine, .. } = self;
        let received = receivers[direction as usize].receive(|received| match received.whole() {
            Ok(whole) => engine.receive(came, direction, &whole),
            Err(loss) => engine.receive_unfit(direction, loss),
        });
        received.or_else(|error| self.not_received(direction, &error).map(|()| 0))
    }

    #[cold]
    fn not_received(&mut self, direction: Direction, error: &io::Error) -> Result<(), GateError> {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(()),
            // A super-packet of a kind that a virtio-net header cannot describe; the kernel dropped it.
            Some(libc::EINVAL) => {
                self.engine.receive_unfit(direction, Loss::Offload);
                Ok(())
            }
            Some(libc::EBADFD) => Err(GateError::Gone(self.names()[direction as usize].to_owned())),
            Some(libc::ENETDOWN) => {
                self.look_at = self.clock.now();
                Ok(())
            }
            _ => Err(GateError::system(
                format!("receiving from `{}`", self.names()[direction as usize]),
                io::Error::from(error.kind()),
            )),
        }
    }

    fn names(&self) -> [&str; 2] {
        [&self.file.inside, &self.file.outside]
    }

    /// An interface went down: it may be gone, or come back, and then its sockets go on.
    #[cold]
    fn look(&mut self, now: Time) -> Result<(), GateError> {
        self.look_at = Time::NEVER;
        let file = Arc::clone(&self.file);
        for (name, index) in [&file.inside, &file.outside].into_iter().zip(self.indexes) {
            match Interface::find(name) {
                Ok(interface) if interface.index == index && interface.up => {}
                Ok(interface) if interface.index == index => self.look_at = now + LOOKING,
                _ => return Err(GateError::Gone(name.to_owned())),
            }
        }
        Ok(())
    }

    fn check(&mut self, now: Time) -> Result<(), GateError> {
        self.check_at = now + LOOKING;
        let names = [&self.file.inside, &self.file.outside];
        for (name, receiver) in names.into_iter().zip(&mut self.receivers) {
            receiver.check().map_err(|error| GateError::system(format!("receiving from `{name}`"), error))?;
        }
        Ok(())
    }

    /// Hands everything that is due to the kernel.
    fn send(&mut self, direction: Direction) {
        let side = direction as usize;
        loop {
            let leaving = self.engine.leaving(direction);
            let leaving = &leaving[..leaving.len().min(BATCH)];
            if leaving.is_empty() {
                return;
            }
            let now = self.clock.now();
            for departure in leaving {
                let late = now.since(departure.due).ticks() / TICKS_PER_NANOSECOND;
                self.lateness[side].saturating_record(late);
            }
            let frames = leaving.iter().map(|departure| self.engine.frame(*departure));
            let (sent, refused) = match &self.handover {
                None => (leaving.len(), 0),
                Some(_) => match self.senders[side].send(frames) {
                    Ok(sent) => (sent, 0),
                    Err(_) => (0, 1),
                },
            };
            self.engine.left(direction, sent, refused);
        }
    }

    fn circuits(&self) -> Vec<CircuitCounters> {
        let lists = self.file.flows.iter().enumerate();
        let lists = lists.filter_map(|(rule, flow)| Some((rule, flow.circuits.as_ref()?.len() as u32)));
        let counted = lists.flat_map(|(rule, count)| {
            (0..count).map(move |circuit| {
                let counters = Direction::BOTH.map(|direction| self.engine.circuit(direction, rule, circuit));
                CircuitCounters { rule, circuit, counters }
            })
        });
        counted.filter(|one| one.counters.iter().any(|way| way.arrived.packets > 0)).collect()
    }

    /// What came for every flow that was made for each of something.
    pub(crate) fn members(&self) -> Vec<Member> {
        let mut members = Vec::new();
        for direction in Direction::BOTH {
            for rule in 0..self.file.flows.len() {
                let of_rule = self.engine.members(direction, rule).into_iter();
                members.extend(of_rule.map(|(key, arrived)| Member { direction, rule, key, arrived }));
            }
        }
        members
    }

    /// What has been seen so far.
    pub(crate) fn report(&mut self) -> Report {
        for (missed, receiver) in self.missed.iter_mut().zip(&mut self.receivers) {
            *missed += receiver.missed();
        }
        let process = Process {
            seconds: self.clock.now().since(Time::ORIGIN).as_secs_f64(),
            cpu_seconds: Clock::used().as_secs_f64(),
            real_time: self.real_time,
        };
        Report::new(&self.file, &self.engine, &self.lateness, self.missed, process)
    }
}
