//! The control thread's work without the thread: the same server and the same desk, step by step.

use super::server::{Question, Server, Stream};
use super::{Desk, http};
use crate::orders;
use crate::source::Source;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_spec::GateFile;

/// A server with the desk behind it. The gate itself does not answer, and its file cannot be read again.
pub struct Reception {
    server: Server<'static>,
    desk: Desk,
    /// Can be read, so that the server returns after every look around.
    bell: UnixStream,
    _ring: UnixStream,
}

impl Reception {
    /// Nobody is there yet.
    ///
    /// # Panics
    /// When the text is no gate file, or the system has no descriptors left.
    pub fn open(text: &str) -> Reception {
        let file = GateFile::parse(text, "fuzz.toml", &[]).expect("a gate file");
        let source = Source { path: "/nowhere/fuzz.toml".into(), sets: Vec::new() };
        let (caller, orders) = orders::line().expect("descriptors");
        drop(orders);
        let (mut ring, bell) = UnixStream::pair().expect("descriptors");
        ring.write_all(&[0]).expect("room for a byte");
        let desk = Desk::new(caller, source, Arc::new(file));
        Reception { server: Server::new(None, None), desk, bell, _ring: ring }
    }

    /// A client comes to the control socket, or to the metrics.
    pub fn admit(&mut self, client: UnixStream, metrics: bool) {
        self.server.admit(match metrics {
            // What is done with it is done with any stream.
            true => Stream::Metrics(TcpStream::from(OwnedFd::from(client))),
            false => Stream::Control(client),
        });
    }

    /// Reads, answers and writes what can be, once for every client.
    pub fn look(&mut self) {
        let Reception { server, desk, bell, .. } = self;
        server
            .serve(Instant::now() + Duration::from_secs(60), bell.as_fd(), |question| desk.answer(question));
    }

    /// What a line at the control socket is answered with.
    pub fn answer(&mut self, line: &[u8]) -> Vec<u8> {
        self.desk.answer(Question::Line(line))
    }

    /// What a request for metrics is answered with; `None` while it is not complete.
    pub fn scrape(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        http::Request::read(bytes).map(|request| self.desk.answer(Question::Scrape(request)))
    }
}
