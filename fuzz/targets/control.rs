//! Clients of the control socket and of the metrics, which send anything in any pieces, and read
//! the answers or do not.
//!
//! A client that sends lines and reads the answers gets exactly the answers to them, in their
//! order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use tidegate_fuzz::Bytes;
use tidegate_gate::fuzzing::ControlServer;

const FILE: &str =
    "version = 1\ngate = { inside = \"a\", outside = \"b\", up = \"1mbit\", down = \"20mbit\" }\n";
/// A request of this length is refused.
const LONGEST: usize = 16 << 10;
/// Maximum number of clients at a time.
const MOST: usize = 32;

struct Client {
    stream: UnixStream,
    metrics: bool,
    said: Vec<u8>,
    heard: Vec<u8>,
}

impl Client {
    fn hear(&mut self) {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = self.stream.read(&mut bytes) {
            self.heard.extend(&bytes[..count]);
        }
    }

    /// The expected answers to the bytes that the client has sent.
    fn wanted(&self, server: &mut ControlServer) -> Vec<u8> {
        if self.metrics {
            return server.scrape(&self.said).unwrap_or_default();
        }
        let lines = self.said.split_inclusive(|byte| *byte == b'\n');
        let complete = lines.filter_map(|line| line.strip_suffix(b"\n"));
        complete.flat_map(|line| server.answer(line)).collect()
    }
}

fn come(server: &mut ControlServer, metrics: bool) -> Client {
    let (stream, other) = UnixStream::pair().expect("descriptors");
    stream.set_nonblocking(true).expect("a socket");
    server.connect(other, metrics);
    Client { stream, metrics, said: Vec::new(), heard: Vec::new() }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let mut server = ControlServer::open(FILE);
    let mut clients = [false, false, true].map(|metrics| come(&mut server, metrics));
    let mut came = clients.len();
    for _ in 0..500 {
        if bytes.is_empty() {
            break;
        }
        let client = &mut clients[bytes.below(3)];
        match bytes.below(8) {
            0..=2 => {
                let length = bytes.byte().into();
                let piece = bytes.take(length);
                let written = client.stream.write(piece).unwrap_or(0);
                client.said.extend(&piece[..written]);
            }
            3 => {
                // More of these requests than any client needs.
                let length = bytes.below(16);
                let (piece, times) = (bytes.take(length), usize::from(bytes.byte()) * 16);
                let piece = piece.repeat(times);
                let written = client.stream.write(&piece).unwrap_or(0);
                client.said.extend(&piece[..written]);
            }
            4 => client.hear(),
            5 => _ = client.stream.shutdown(Shutdown::Write),
            // One client more than the maximum disconnects another one, as it should.
            6 if came < MOST => {
                came += 1;
                *client = come(&mut server, client.metrics);
            }
            _ => server.step(),
        }
    }
    for client in &mut clients {
        // Enough steps to write all answers and read all requests.
        for _ in 0..client.said.len() + 8 {
            let before = client.heard.len();
            server.step();
            client.hear();
            if client.heard.len() == before {
                break;
            }
        }
        let wanted = client.wanted(&mut server);
        let starts = wanted.starts_with(&client.heard);
        assert!(starts, "{:?} was answered with {:?}", client.said, client.heard);
        if client.said.len() < LONGEST {
            assert_eq!(client.heard.len(), wanted.len(), "{:?} was not answered to the end", client.said);
        }
    }
});
