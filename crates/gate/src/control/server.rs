//! The server of the control socket and the metrics address. No client is trusted: each is limited
//! in memory and time, and none delays the others.

#![allow(clippy::disallowed_types, reason = "clients wait in real time")]

use super::http::HttpRequest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::mem::discriminant;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Maximum number of clients at each listening socket. For one more, the client of that socket with
/// the earliest deadline is disconnected: clients that scrape metrics never keep an operator out.
const MAX_CLIENTS: usize = 32;
/// The longest request, in bytes.
const MAX_REQUEST: usize = 16 << 10;
/// A client that neither completes a request nor takes an answer within this time is disconnected.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A client's request.
pub(super) enum Request<'q> {
    /// A line at the control socket.
    Line(&'q [u8]),
    /// A request at the metrics address.
    Scrape(HttpRequest),
}

/// A connection to one of the listening sockets.
pub(super) enum Stream {
    Control(UnixStream),
    Metrics(TcpStream),
}

struct Client {
    stream: Stream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// Time at which the client is disconnected.
    deadline: Instant,
    /// True if the client sends no more requests: it is disconnected after the answer to the last
    /// one.
    closing: bool,
}

/// The listening sockets and the connected clients.
pub(super) struct Server<'l> {
    control: Option<&'l UnixListener>,
    metrics: Option<&'l TcpListener>,
    clients: Vec<Client>,
}

impl<'l> Server<'l> {
    /// Both listeners have to be non-blocking.
    pub(super) fn new(control: Option<&'l UnixListener>, metrics: Option<&'l TcpListener>) -> Server<'l> {
        Server { control, metrics, clients: Vec::new() }
    }

    /// Serves until `until`, or until `wakeup` is readable; `answer` returns the bytes that answer
    /// a request.
    pub(super) fn serve(
        &mut self,
        until: Instant,
        wakeup: BorrowedFd<'_>,
        mut answer: impl FnMut(Request<'_>) -> Vec<u8>,
    ) {
        loop {
            let now = Instant::now();
            self.clients.retain(|client| client.deadline > now);
            if now >= until {
                return;
            }
            let next = self.clients.iter().map(|client| client.deadline).fold(until, Instant::min);
            let ready = self.wait(next.duration_since(now), wakeup);
            for (client, ready) in self.clients.iter_mut().zip(&ready.clients) {
                if *ready && !client.serve(&mut answer) {
                    client.deadline = now;
                }
            }
            if ready.listeners {
                self.accept();
            }
            if ready.wakeup {
                return;
            }
        }
    }

    fn wait(&self, span: Duration, wakeup: BorrowedFd<'_>) -> Ready {
        let timeout = Timespec { tv_sec: span.as_secs() as i64, tv_nsec: span.subsec_nanos().into() };
        let mut sources = vec![PollFd::from_borrowed_fd(wakeup, PollFlags::IN)];
        let control = self.control.map(AsFd::as_fd);
        let listeners = control.into_iter().chain(self.metrics.map(AsFd::as_fd));
        sources.extend(listeners.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let first = sources.len();
        sources.extend(self.clients.iter().map(|client| {
            let flags = if client.outgoing.is_empty() { PollFlags::IN } else { PollFlags::OUT };
            PollFd::from_borrowed_fd(client.fd(), flags)
        }));
        // When a signal interrupts the call, nothing is ready.
        let _ = poll(&mut sources, Some(&timeout));
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        Ready {
            wakeup: ready[0],
            listeners: ready[1..first].contains(&true),
            clients: ready[first..].to_vec(),
        }
    }

    fn accept(&mut self) {
        let control = || self.control.and_then(|listener| listener.accept().ok());
        let metrics = || self.metrics.and_then(|listener| listener.accept().ok());
        let mut accepted: Vec<Stream> = Vec::new();
        accepted
            .extend(std::iter::from_fn(control).take(MAX_CLIENTS).map(|(stream, _)| Stream::Control(stream)));
        accepted
            .extend(std::iter::from_fn(metrics).take(MAX_CLIENTS).map(|(stream, _)| Stream::Metrics(stream)));
        accepted.into_iter().for_each(|stream| self.connect(stream));
    }

    /// Adds a client.
    pub(super) fn connect(&mut self, stream: Stream) {
        let set = match &stream {
            Stream::Control(stream) => stream.set_nonblocking(true),
            Stream::Metrics(stream) => stream.set_nonblocking(true),
        };
        if set.is_err() {
            return;
        }
        let alike = |client: &Client| discriminant(&client.stream) == discriminant(&stream);
        if self.clients.iter().filter(|client| alike(client)).count() >= MAX_CLIENTS {
            let clients = self.clients.iter().enumerate().filter(|(_, client)| alike(client));
            if let Some((first, _)) = clients.min_by_key(|(_, client)| client.deadline) {
                self.clients.swap_remove(first);
            }
        }
        self.clients.push(Client {
            stream,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            deadline: Instant::now() + TIMEOUT,
            closing: false,
        });
    }
}

struct Ready {
    wakeup: bool,
    listeners: bool,
    clients: Vec<bool>,
}

impl Client {
    fn fd(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Control(stream) => stream.as_fd(),
            Stream::Metrics(stream) => stream.as_fd(),
        }
    }

    /// Reads requests and writes answers as far as possible. Returns true if the client stays
    /// connected.
    fn serve(&mut self, answer: &mut impl FnMut(Request<'_>) -> Vec<u8>) -> bool {
        if !self.write() {
            return false;
        }
        // A client that has shut down its side still takes the answers to its requests.
        if self.outgoing.is_empty() && !self.closing && !self.read() {
            return false;
        }
        // The next request is answered once the previous answer is written.
        while self.outgoing.is_empty() {
            match self.parse() {
                Parsed::None => return !self.closing && self.incoming.len() < MAX_REQUEST,
                Parsed::Line(length) => {
                    self.outgoing = answer(Request::Line(&self.incoming[..length]));
                    self.incoming.drain(..=length);
                }
                Parsed::Http(request) => {
                    self.closing = true;
                    self.outgoing = answer(Request::Scrape(request));
                    self.incoming.clear();
                }
            }
            self.deadline = Instant::now() + TIMEOUT;
            if !self.write() {
                return false;
            }
        }
        true
    }

    fn parse(&self) -> Parsed {
        match &self.stream {
            Stream::Control(_) => match self.incoming.iter().position(|byte| *byte == b'\n') {
                Some(length) => Parsed::Line(length),
                None => Parsed::None,
            },
            Stream::Metrics(_) => HttpRequest::parse(&self.incoming).map_or(Parsed::None, Parsed::Http),
        }
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        loop {
            let read = match &mut self.stream {
                Stream::Control(stream) => stream.read(&mut bytes),
                Stream::Metrics(stream) => stream.read(&mut bytes),
            };
            match read {
                Ok(0) => {
                    self.closing = true;
                    return true;
                }
                Ok(count) => self.incoming.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if self.incoming.len() >= MAX_REQUEST {
                return true;
            }
        }
    }

    /// Writes as much of the answer as possible. Returns true if the client stays connected.
    fn write(&mut self) -> bool {
        while !self.outgoing.is_empty() {
            let written = match &mut self.stream {
                Stream::Control(stream) => stream.write(&self.outgoing),
                Stream::Metrics(stream) => stream.write(&self.outgoing),
            };
            match written {
                Ok(0) => return false,
                Ok(count) => {
                    self.outgoing.drain(..count);
                    self.deadline = Instant::now() + TIMEOUT;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }
}

/// The result of parsing a client's input so far.
enum Parsed {
    /// No complete request.
    None,
    /// A line of this many bytes.
    Line(usize),
    Http(HttpRequest),
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
