//! The control thread's server and request handler without the thread, step by step.

use super::RequestHandler;
use super::http::HttpRequest;
use super::server::{Request, Server, Stream};
use crate::config::source::Source;
use crate::runtime::commands;
use std::io::Write;
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_formats::GateFile;

/// A server with its request handler. The forwarder does not answer, and the file cannot be read
/// again.
pub struct ControlServer {
    server: Server<'static>,
    handler: RequestHandler,
    /// Readable, so that the server returns after every step.
    wakeup: UnixStream,
    _waker: UnixStream,
}

impl ControlServer {
    /// A server without clients.
    ///
    /// # Panics
    /// When the text is no gate file, or the system has no descriptors left.
    pub fn open(text: &str) -> ControlServer {
        let file = GateFile::parse(text, "fuzz.toml", &[]).expect("a gate file");
        let source = Source { path: "/nowhere/fuzz.toml".into(), text: None, overrides: Vec::new() };
        let (sender, queue) = commands::queue().expect("descriptors");
        drop(queue);
        let (mut waker, wakeup) = UnixStream::pair().expect("descriptors");
        waker.write_all(&[0]).expect("room for a byte");
        let handler = RequestHandler::new(sender, source, None, Arc::new(file));
        ControlServer { server: Server::new(None, None), handler, wakeup, _waker: waker }
    }

    /// Connects a client to the control socket, or to the metrics address.
    pub fn connect(&mut self, client: UnixStream, metrics: bool) {
        self.server.connect(match metrics {
            // The server uses a TCP stream as it would any other.
            true => Stream::Metrics(TcpStream::from(OwnedFd::from(client))),
            false => Stream::Control(client),
        });
    }

    /// Reads requests and writes answers as far as possible, once for every client.
    pub fn step(&mut self) {
        let ControlServer { server, handler, wakeup, .. } = self;
        let until = Instant::now() + Duration::from_secs(60);
        server.serve(until, wakeup.as_fd(), |request| handler.handle(request));
    }

    /// The answer to a line at the control socket.
    pub fn answer(&mut self, line: &[u8]) -> Vec<u8> {
        self.handler.handle(Request::Line(line))
    }

    /// The response to a request at the metrics address; `None` while it is incomplete.
    pub fn scrape(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        HttpRequest::parse(bytes).map(|request| self.handler.handle(Request::Scrape(request)))
    }
}
