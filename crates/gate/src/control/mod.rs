//! The control thread: it answers requests at the control socket, serves metrics, reloads the file,
//! and logs warnings, while another thread forwards.
//!
//! The protocol: a request is a line of JSON with `ask` ("status", "circuits", "explain",
//! "reload" or "stop"), and for "explain" `of`, a name, if not all are asked about.
//! Its answer is a line of JSON with `ok` or `error`.

#![allow(clippy::disallowed_types, reason = "clients wait in real time")]

pub(crate) mod client;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod handler;
mod http;
mod server;
pub(crate) mod socket;

pub(crate) use handler::RequestHandler;

use crate::error::GateError;
use crate::sys::log::log;
use crate::sys::privileges;
use server::Server;
use signal_hook::consts::SIGHUP;
use socket::ControlSocket;
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tidegate_formats::GateFile;

/// Interval at which rates are computed and warnings logged.
const PERIOD: Duration = Duration::from_secs(1);

/// The listening sockets, opened before privileges are dropped.
pub(crate) struct Listeners {
    control: ControlSocket,
    metrics: Option<TcpListener>,
    /// Readable after SIGHUP; at its end when the thread is to stop.
    hang_up: UnixStream,
}

impl Listeners {
    /// # Errors
    /// When the gate's name or its metrics port is in use, or the socket cannot be made.
    pub(crate) fn open(file: &GateFile) -> Result<Listeners, GateError> {
        let control = ControlSocket::listen(file)?;
        let metrics = match file.operation.metrics {
            None => None,
            Some(address) => {
                let failed = |error| GateError::system(format!("metrics at {address}"), error);
                let listener = TcpListener::bind(address).map_err(failed)?;
                listener.set_nonblocking(true).map_err(failed)?;
                Some(listener)
            }
        };
        let failed = |error| GateError::system("waiting for signals", error);
        let (signalled, hang_up) = UnixStream::pair().map_err(failed)?;
        hang_up.set_nonblocking(true).map_err(failed)?;
        signal_hook::low_level::pipe::register(SIGHUP, signalled).map_err(failed)?;
        Ok(Listeners { control, metrics, hang_up })
    }
}

/// The control thread, while it runs.
pub(crate) struct ControlThread {
    thread: JoinHandle<()>,
    close: UnixStream,
}

impl ControlThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub(crate) fn start(listeners: Listeners, handler: RequestHandler) -> Result<ControlThread, GateError> {
        let failed = |error| GateError::system("a thread for the control socket", error);
        let close = listeners.hang_up.try_clone().map_err(failed)?;
        let work = move || serve(&listeners, handler);
        let thread = std::thread::Builder::new().name("control".into()).spawn(work).map_err(failed)?;
        Ok(ControlThread { thread, close })
    }

    /// Stops the thread, whose end removes the socket's file.
    pub(crate) fn stop(self) {
        let _ = self.close.shutdown(std::net::Shutdown::Read);
        let _ = self.thread.join();
    }
}

fn serve(listeners: &Listeners, mut handler: RequestHandler) {
    if let Err(error) = privileges::drop_all(false) {
        log(&format!("{}: dropping privileges: {error}", handler.name()));
        return handler.stop();
    }
    let mut server = Server::new(Some(&listeners.control.listener), listeners.metrics.as_ref());
    let mut next = Instant::now();
    loop {
        let now = Instant::now();
        if now >= next {
            next = now + PERIOD;
            handler.update_rates();
        }
        server.serve(next, listeners.hang_up.as_fd(), |request| handler.handle(request));
        let mut reload = false;
        loop {
            match (&listeners.hang_up).read(&mut [0; 64]) {
                Ok(0) => return,
                Ok(_) => reload = true,
                Err(_) => break,
            }
        }
        if reload {
            // The outcome is logged; nobody waits for an answer.
            let _ = handler.reload_and_log();
        }
    }
}
