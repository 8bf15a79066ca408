//! Notifies the service manager that a gate forwards, and that it still does (sd_notify(3)).

#![allow(clippy::disallowed_types, reason = "a service manager waits in real time")]

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// Notifies the service manager that has started this process, if one has.
pub(crate) struct Notifier {
    socket: Option<UnixDatagram>,
    /// Interval between watchdog notifications, and the time of the next one; `None` without a
    /// watchdog.
    watchdog: Option<(Duration, Instant)>,
}

impl Notifier {
    /// Reads NOTIFY_SOCKET, WATCHDOG_PID and WATCHDOG_USEC.
    pub(crate) fn from_environment() -> Notifier {
        let socket = env::var("NOTIFY_SOCKET").ok().and_then(|name| connected(&name));
        let own = env::var("WATCHDOG_PID").map_or(true, |id| id == std::process::id().to_string());
        let micros = env::var("WATCHDOG_USEC").ok().and_then(|micros| micros.parse().ok()).filter(|_| own);
        // Twice as often as required.
        let watchdog = micros.map(|micros: u64| (Duration::from_micros(micros / 2), Instant::now()));
        Notifier { socket, watchdog }
    }

    /// Reports that the gate forwards from now on.
    pub(crate) fn ready(&self) {
        self.send("READY=1");
    }

    /// Reports that the gate still forwards; to be called several times a second by the forwarding
    /// thread.
    pub(crate) fn alive(&mut self) {
        let Some((every, next)) = &mut self.watchdog else { return };
        let now = Instant::now();
        if now >= *next {
            *next = now + *every;
            self.send("WATCHDOG=1");
        }
    }

    /// Ignores failures: a manager that cannot be notified starts the gate again, or does not wait
    /// for it.
    fn send(&self, state: &str) {
        if let Some(socket) = &self.socket {
            let _ = socket.send(state.as_bytes());
        }
    }
}

/// A socket that sends to this one: a path, or an abstract name behind an `@`.
fn connected(name: &str) -> Option<UnixDatagram> {
    let address = match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.set_nonblocking(true).ok()?;
    socket.connect_addr(&address.ok()?).ok()?;
    Some(socket)
}
