//! Many clients, none of them trusted: each has little room, little time, and no way to hold up the others.

#![allow(clippy::disallowed_types, reason = "people live in real time")]

use super::http;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Clients at a time. One more puts out the one whose time is up first.
const MOST_CLIENTS: usize = 32;
/// The longest request, in bytes.
const LONGEST: usize = 16 << 10;
/// A client that neither completes a request nor takes an answer for so long is put out.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a client asks.
pub(crate) enum Question<'q> {
    /// A line at the control socket.
    Line(&'q [u8]),
    /// A request at the metrics address.
    Scrape(http::Request),
}

pub(super) enum Stream {
    Control(UnixStream),
    Metrics(TcpStream),
}

struct Client {
    stream: Stream,
    incoming: Vec<u8>,
    outgoing: Vec<u8>,
    /// When it is put out.
    until: Instant,
    /// Whether it says nothing more: it has, or gets, all the answers it is to have.
    last: bool,
}

/// The listening sockets, and who is connected.
pub(crate) struct Server<'l> {
    control: Option<&'l UnixListener>,
    metrics: Option<&'l TcpListener>,
    clients: Vec<Client>,
}

impl<'l> Server<'l> {
    /// Both listeners have to be non-blocking.
    pub(crate) fn new(control: Option<&'l UnixListener>, metrics: Option<&'l TcpListener>) -> Server<'l> {
        Server { control, metrics, clients: Vec::new() }
    }

    /// Serves until `until`, or until `bell` can be read; `answer` gives the answer to a question.
    pub(crate) fn serve(
        &mut self,
        until: Instant,
        bell: BorrowedFd<'_>,
        mut answer: impl FnMut(Question<'_>) -> Vec<u8>,
    ) {
        loop {
            let now = Instant::now();
            self.clients.retain(|client| client.until > now);
            if now >= until {
                return;
            }
            let next = self.clients.iter().map(|client| client.until).fold(until, Instant::min);
            let ready = self.wait(next.duration_since(now), bell);
            for (client, ready) in self.clients.iter_mut().zip(&ready.clients) {
                if *ready && !client.go_on(&mut answer) {
                    client.until = now;
                }
            }
            if ready.listeners {
                self.accept();
            }
            if ready.bell {
                return;
            }
        }
    }

    fn wait(&self, span: Duration, bell: BorrowedFd<'_>) -> Ready {
        let timeout = Timespec { tv_sec: span.as_secs() as i64, tv_nsec: span.subsec_nanos().into() };
        let mut sources = vec![PollFd::from_borrowed_fd(bell, PollFlags::IN)];
        let control = self.control.map(AsFd::as_fd);
        let listeners = control.into_iter().chain(self.metrics.map(AsFd::as_fd));
        sources.extend(listeners.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let first = sources.len();
        sources.extend(self.clients.iter().map(|client| {
            let flags = if client.outgoing.is_empty() { PollFlags::IN } else { PollFlags::OUT };
            PollFd::from_borrowed_fd(client.fd(), flags)
        }));
        // Interrupted or not: what is ready now is.
        let _ = poll(&mut sources, Some(&timeout));
        let ready: Vec<bool> = sources.iter().map(|source| !source.revents().is_empty()).collect();
        Ready { bell: ready[0], listeners: ready[1..first].contains(&true), clients: ready[first..].to_vec() }
    }

    fn accept(&mut self) {
        let control = || self.control.and_then(|listener| listener.accept().ok());
        let metrics = || self.metrics.and_then(|listener| listener.accept().ok());
        let mut came: Vec<Stream> = Vec::new();
        came.extend(
            std::iter::from_fn(control).take(MOST_CLIENTS).map(|(stream, _)| Stream::Control(stream)),
        );
        came.extend(
            std::iter::from_fn(metrics).take(MOST_CLIENTS).map(|(stream, _)| Stream::Metrics(stream)),
        );
        came.into_iter().for_each(|stream| self.admit(stream));
    }

    /// A new client, if it can be served at all.
    pub(super) fn admit(&mut self, stream: Stream) {
        let set = match &stream {
            Stream::Control(stream) => stream.set_nonblocking(true),
            Stream::Metrics(stream) => stream.set_nonblocking(true),
        };
        if set.is_err() {
            return;
        }
        if self.clients.len() >= MOST_CLIENTS
            && let Some((first, _)) = self.clients.iter().enumerate().min_by_key(|(_, client)| client.until)
        {
            self.clients.swap_remove(first);
        }
        self.clients.push(Client {
            stream,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            until: Instant::now() + PATIENCE,
            last: false,
        });
    }
}

struct Ready {
    bell: bool,
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

    /// Reads and writes what can be. Whether the client stays.
    fn go_on(&mut self, answer: &mut impl FnMut(Question<'_>) -> Vec<u8>) -> bool {
        if !self.write() {
            return false;
        }
        // Whoever has shut its side still takes the answers to what it asked before.
        if self.outgoing.is_empty() && !self.last && !self.read() {
            return false;
        }
        // Answered questions make room for the next one; a client that asks much waits for its answers.
        while self.outgoing.is_empty() {
            match self.question() {
                Found::None => return !self.last && self.incoming.len() < LONGEST,
                Found::Line(length) => {
                    self.outgoing = answer(Question::Line(&self.incoming[..length]));
                    self.incoming.drain(..=length);
                }
                Found::Request(request) => {
                    self.last = true;
                    self.outgoing = answer(Question::Scrape(request));
                    self.incoming.clear();
                }
            }
            self.until = Instant::now() + PATIENCE;
            if !self.write() {
                return false;
            }
        }
        true
    }

    fn question(&self) -> Found {
        match &self.stream {
            Stream::Control(_) => match self.incoming.iter().position(|byte| *byte == b'\n') {
                Some(length) => Found::Line(length),
                None => Found::None,
            },
            Stream::Metrics(_) => http::Request::read(&self.incoming).map_or(Found::None, Found::Request),
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
                    self.last = true;
                    return true;
                }
                Ok(count) => self.incoming.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
            if self.incoming.len() >= LONGEST {
                return true;
            }
        }
    }

    /// Whether the client can be written to.
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
                    self.until = Instant::now() + PATIENCE;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
        true
    }
}

enum Found {
    None,
    /// A line of so many bytes.
    Line(usize),
    Request(http::Request),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Shutdown;

    /// A server that has one client, and the client's end.
    fn one(stream: impl FnOnce(UnixStream) -> Stream) -> (Server<'static>, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut server = Server::new(None, None);
        server.admit(stream(theirs));
        (server, ours)
    }

    /// Looks around once; a line is answered with many times itself, a request with its name.
    fn look(server: &mut Server<'_>) {
        let (mut ring, bell) = UnixStream::pair().unwrap();
        ring.write_all(&[0]).unwrap();
        server.serve(Instant::now() + PATIENCE, bell.as_fd(), |question| match question {
            Question::Line(line) => line.repeat(100_000),
            Question::Scrape(request) => format!("{request:?}").into_bytes(),
        });
    }

    /// All that there is to hear, and whether there is more to come.
    fn hear(client: &mut UnixStream) -> (Vec<u8>, bool) {
        let mut heard = Vec::new();
        let open = client.read_to_end(&mut heard).is_err();
        (heard, open)
    }

    #[test]
    fn who_says_no_more_is_answered() {
        let (mut server, mut client) =
            one(|stream| Stream::Metrics(std::os::fd::OwnedFd::from(stream).into()));
        client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        // One look to answer, one to see to who is done.
        look(&mut server);
        look(&mut server);
        assert_eq!(hear(&mut client), (b"Metrics".to_vec(), false));
        let (mut server, mut client) = one(Stream::Control);
        client.write_all(b"a\nb\nhalf").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut heard = Vec::new();
        for _ in 0..100 {
            look(&mut server);
            heard.extend(hear(&mut client).0);
        }
        assert!(heard == [b"a".repeat(100_000), b"b".repeat(100_000)].concat());
        assert!(server.clients.is_empty());
    }

    /// A question that waited for the answer to the one before needs no further word.
    #[test]
    fn questions_that_come_together_are_all_answered() {
        let (mut server, mut client) = one(Stream::Control);
        client.write_all(b"a\nb\nc\nd\n").unwrap();
        let mut heard = Vec::new();
        for _ in 0..100 {
            look(&mut server);
            heard.extend(hear(&mut client).0);
        }
        let wanted: Vec<u8> = [b"a", b"b", b"c", b"d"].iter().flat_map(|line| line.repeat(100_000)).collect();
        assert!(heard == wanted, "{} bytes of {}", heard.len(), wanted.len());
        assert_eq!(server.clients.len(), 1);
    }
}
