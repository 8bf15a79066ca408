//! Forwarding loop of a bump-in-the-wire bridge: frames go from one interface to the other through
//! the engine.

mod departures;
mod promised;
mod receiving;
mod reports;
mod waiting;

use super::batching::Batching;
use super::commands::{Command, CommandQueue};
use super::reading;
use super::sending::{Division, SendingThread};
use super::share::Share;
use super::wait::{Pause, WaitMode};
use crate::config::link_speed;
use crate::config::plan::Plan;
use crate::engine::Engine;
use crate::error::GateError;
use crate::failover::{DuplicateFilter, Failover, Port};
use crate::io::{Receiver, Sender, Side};
use crate::sys::clock::Clock;
use crate::sys::interface::Interface;
use crate::sys::log::log;
use crate::sys::notify::Notifier;
use crate::sys::real_time::RealTime;
use hdrhistogram::Histogram;
use rustix::thread::set_current_timer_slack;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::{Span, Time};
use tidegate_formats::{GateFile, Io};

/// Length in bytes of an Ethernet header with two VLAN tags.
const HEADER_ROOM: usize = 14 + 2 * 4;
/// Interval between checks of the receivers, and of an interface that is down.
const CHECK_INTERVAL: Span = Span::from_millis(100);
/// Interval between checks of the interfaces' MTUs and names: no event reports that these changed.
const PROPERTY_CHECK_INTERVAL: Span = Span::from_secs(1);

/// Time after which every frame that a receiver has got can be read: rings hand frames over in
/// blocks.
const DRAIN_DELAY: Duration = Duration::from_millis(20);

/// Forwarding or observing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Frames are forwarded.
    Forward,
    /// The kernel forwards; copies of the frames go through the engine and are not sent.
    Observe,
}

/// A gate with open interfaces.
pub(crate) struct Forwarder {
    /// The first field, so that it is dropped first: the bridge takes over before the sockets are
    /// closed. `None` in [`Mode::Observe`].
    failover: Option<Failover>,
    file: Arc<GateFile>,
    indexes: [u32; 2],
    receivers: [Receiver; 2],
    /// Time at which each receiver was last read to its end.
    all_read_at: [Time; 2],
    senders: [Sender; 2],
    /// Threads that may send beside `senders`.
    threads: [Option<SendingThread>; 2],
    /// The conversations whose frames these send.
    shares: [Share; 2],
    /// True while `threads` send.
    divided: bool,
    engine: Engine,
    clock: Clock,
    /// Time from when a frame was due until it was handed to the kernel, in nanoseconds; of a frame
    /// that was too old when it was read, its age.
    lateness: [Histogram<u64>; 2],
    /// Frames that the kernel dropped before they were read.
    missed: [u64; 2],
    /// True if real-time scheduling was granted.
    real_time: bool,
    /// Time of the next check whether an interface that went down is up again or removed. The
    /// kernel reports once that it is down, but not whether it is removed later.
    interface_check_at: Time,
    receiver_check_at: Time,
    /// The larger of both interfaces' MTUs at the start: longer frames fit no buffer.
    mtu: usize,
    /// Current MTU of each interface, if it is larger than `mtu`.
    raised_mtus: [Option<usize>; 2],
    /// Current name of each interface, if it is not that of the file.
    renamed: [Option<String>; 2],
    property_check_at: Time,
}

impl Forwarder {
    /// Opens both interfaces and takes over from the bridge. Frames that come in from then on are
    /// kept for [`run`](Self::run).
    ///
    /// # Errors
    /// When an interface is missing, down, used by another gate or unsuitable, or the engine
    /// refuses the plan.
    pub(crate) fn open(file: Arc<GateFile>, mode: Mode) -> Result<Forwarder, GateError> {
        let io = match (mode, file.io) {
            (Mode::Observe, Io::Tap) => {
                let help = "observe interfaces that carry traffic without a gate";
                return Err(GateError::unsuitable(
                    &file.inside,
                    "without a gate nothing passes a TAP device",
                    help,
                ));
            }
            // AF_XDP takes frames away from the kernel, and observing must not.
            (Mode::Observe, Io::Xdp) => Io::Packet,
            (_, io) => io,
        };
        let rules = promised::rules(&file);
        let open = |name: &str, direction| Side::open(io, name, &rules[direction as usize], direction);
        Forwarder::with(Arc::clone(&file), mode, open)
    }

    /// A gate whose interfaces `open` opens.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn with(
        file: Arc<GateFile>,
        mode: Mode,
        open: impl Fn(&str, Direction) -> Result<Side, GateError>,
    ) -> Result<Forwarder, GateError> {
        let [inside, outside] = [open(&file.inside, Direction::Up)?, open(&file.outside, Direction::Down)?];
        link_speed::check_rates(&file)?;
        let mtu = inside.interface.mtu.max(outside.interface.mtu);
        let longest = mtu + HEADER_ROOM;
        let engine = Engine::new(Time::ORIGIN, &Plan::of(&file), longest.next_multiple_of(64))?;
        let lateness = [reading::lateness()?, reading::lateness()?];
        let port = |name, side: &Side| Port { name, index: side.interface.index };
        let ports = [port(&file.inside, &inside), port(&file.outside, &outside)];
        let failover = match mode {
            Mode::Forward => Some(Failover::prepare(&file, ports)?),
            Mode::Observe => None,
        };
        let mut forwarder = Forwarder {
            failover,
            indexes: ports.map(|port| port.index),
            file,
            receivers: [inside.receiver, outside.receiver],
            all_read_at: [Time::ORIGIN; 2],
            senders: [outside.sender, inside.sender],
            threads: [None, None],
            shares: [Share::new(Time::ORIGIN), Share::new(Time::ORIGIN)],
            divided: false,
            engine,
            clock: Clock::start(),
            lateness,
            missed: [0; 2],
            real_time: false,
            interface_check_at: Time::NEVER,
            receiver_check_at: Time::ORIGIN,
            mtu,
            raised_mtus: [None; 2],
            renamed: [None, None],
            property_check_at: Time::ORIGIN,
        };
        forwarder.take_over().map_err(|error| GateError::system("taking over from the bridge", error))?;
        Ok(forwarder)
    }

    /// Forwards until a stop is requested, or for `duration`. If `coalesce` is above zero, the
    /// forwarder sleeps for at least that long each time that it has sent all due frames.
    ///
    /// # Errors
    /// When an interface is removed, or the system fails to wait.
    pub(crate) fn run(
        &mut self,
        commands: &mut CommandQueue,
        duration: Option<Span>,
        wait_mode: WaitMode,
        coalesce: Span,
    ) -> Result<(), GateError> {
        // By default the kernel may delay a wake-up by 50 µs to join it with others.
        set_current_timer_slack(NonZeroU64::new(1))
            .map_err(|error| GateError::system("timer slack", error))?;
        self.start_threads()?;
        let start = self.clock.now();
        let mut division = Division::new(start);
        let mut scheduling = RealTime::request(wait_mode == WaitMode::RealTime, start, Clock::thread_time());
        self.real_time = scheduling.was_granted();
        let mut manager = Notifier::from_environment();
        manager.ready();
        let until = duration.map_or(Time::NEVER, |duration| start + duration);
        let (mut more, mut held, mut waiting) = ([false; 2], false, [0; 2]);
        let mut batching = Batching::new(start);
        loop {
            let now = self.clock.now();
            if now >= until {
                break;
            }
            scheduling.adapt(now, Clock::thread_time);
            self.divided = division.adapt(now, Clock::thread_time, self.threads.iter().flatten());
            if now >= self.interface_check_at {
                self.check_interfaces(now)?;
            }
            if now >= self.receiver_check_at {
                self.check_receivers(now)?;
                manager.alive();
            }
            let most = self.most_due();
            let blocked = waiting.map(|waiting| waiting >= most);
            let more_now = held || [0, 1].iter().any(|side| more[*side] && !blocked[*side]);
            let idle = !more_now && wait_mode != WaitMode::Busy;
            let waits = waiting != [0; 2];
            let pause = Pause { idle, waits, blocked, coalesce, until };
            let ready = self.wait(commands, &mut batching, now, pause)?;
            let now = self.clock.now();
            for direction in Direction::BOTH {
                let side = direction as usize;
                if ready.receivers[side] {
                    more[side] = self.receive(direction)?;
                } else if !blocked[side] {
                    more[side] = false;
                }
            }
            held = self.engine.advance(now, most);
            for direction in Direction::BOTH {
                self.send(direction);
            }
            waiting = Direction::BOTH.map(|direction| self.engine.departures(direction).len());
            held &= waiting == [0; 2];
            if ready.commands {
                if commands.stop_requested() {
                    break;
                }
                while let Some(command) = commands.next() {
                    self.execute(command);
                }
            }
        }
        // Frames that were handed over are still sent and counted.
        for direction in Direction::BOTH {
            self.collect(direction, true);
        }
        Ok(())
    }

    /// Executes a command. Its sender may no longer wait for the answer.
    #[cold]
    fn execute(&mut self, command: Command) {
        match command {
            Command::Report(answer) => {
                let _ = answer.send(self.report());
            }
            Command::Members(answer) => {
                let _ = answer.send(self.members());
            }
            Command::Circuits(from, answer) => {
                let _ = answer.send(self.circuits(from));
            }
            Command::Explain(asked, answer) => {
                let _ = answer.send(self.engine.explain(asked, &self.file));
            }
            Command::Reconfigure(file, plan, answer) => {
                let outcome = self.engine.reconfigure(self.clock.now(), &plan);
                if outcome.is_ok() {
                    self.file = file;
                    self.select_by_rules();
                }
                let _ = answer.send(outcome);
            }
        }
    }

    /// Selects the frames of promised flows by the rules of the file.
    fn select_by_rules(&mut self) {
        for (receiver, rules) in self.receivers.iter_mut().zip(promised::rules(&self.file)) {
            if let Err(error) = receiver.select_by(&rules) {
                log(&format!("warning: selecting the frames of promised flows: {error}"));
            }
        }
    }

    /// Takes over from the bridge, if there is one: from here on the gate forwards, and the bridge
    /// sees no frame.
    fn take_over(&mut self) -> io::Result<()> {
        let Some(filter) = self.failover.as_ref().and_then(|failover| failover.duplicate_filter.as_ref())
        else {
            return Ok(());
        };
        let sockets = || self.receivers.iter().flat_map(Receiver::sockets);
        sockets().try_for_each(|socket| filter.filter(socket))?;
        std::thread::sleep(DRAIN_DELAY);
        // The bridge has forwarded the frames that the sockets hold. The filter lets no more in, so
        // the loop ends.
        for receiver in &mut self.receivers {
            while match receiver.receive(|_| {}) {
                Ok(_) => true,
                Err(error) => matches!(error.raw_os_error(), Some(libc::EINTR | libc::EINVAL)),
            } {}
        }
        filter.activate()?;
        self.receivers.iter().flat_map(Receiver::sockets).try_for_each(DuplicateFilter::unfilter)
    }

    fn names(&self) -> [&str; 2] {
        [&self.file.inside, &self.file.outside]
    }

    /// Checks both interfaces after one went down. Its sockets still work when it comes up again.
    #[cold]
    fn check_interfaces(&mut self, now: Time) -> Result<(), GateError> {
        self.interface_check_at = Time::NEVER;
        let file = Arc::clone(&self.file);
        for (name, index) in [&file.inside, &file.outside].into_iter().zip(self.indexes) {
            match Interface::at(index) {
                Ok((_, interface)) if interface.up => {}
                Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
                    return Err(GateError::InterfaceRemoved(name.to_owned()));
                }
                _ => self.interface_check_at = now + CHECK_INTERVAL,
            }
        }
        Ok(())
    }

    fn check_receivers(&mut self, now: Time) -> Result<(), GateError> {
        self.receiver_check_at = now + CHECK_INTERVAL;
        if now >= self.property_check_at {
            self.property_check_at = now + PROPERTY_CHECK_INTERVAL;
            self.check_properties();
        }
        let names = [&self.file.inside, &self.file.outside];
        for (name, receiver) in names.into_iter().zip(&mut self.receivers) {
            receiver.check().map_err(|error| GateError::system(format!("receiving from `{name}`"), error))?;
        }
        Ok(())
    }

    /// Records the interfaces whose MTU is larger than the one that the gate was started for, and
    /// those that were renamed: sockets and locks follow an interface, not its name.
    #[cold]
    fn check_properties(&mut self) {
        let names = [&self.file.inside, &self.file.outside];
        for (side, (stated, index)) in names.into_iter().zip(self.indexes).enumerate() {
            let Ok((name, interface)) = Interface::at(index) else { continue };
            self.raised_mtus[side] = Some(interface.mtu).filter(|mtu| *mtu > self.mtu);
            self.renamed[side] = Some(name).filter(|name| name != stated);
        }
    }
}
