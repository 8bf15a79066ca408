use super::*;
use std::net::Shutdown;

/// A server that has one client, and the client's end.
fn one(stream: impl FnOnce(UnixStream) -> Stream) -> (Server<'static>, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let mut server = Server::new(None, None);
    server.connect(stream(theirs));
    (server, ours)
}

/// Serves once; a line is answered by many copies of itself, a request by its name.
fn serve_once(server: &mut Server<'_>) {
    let (mut waker, wakeup) = UnixStream::pair().unwrap();
    waker.write_all(&[0]).unwrap();
    server.serve(Instant::now() + TIMEOUT, wakeup.as_fd(), |request| match request {
        Request::Line(line) => line.repeat(100_000),
        Request::Scrape(request) => format!("{request:?}").into_bytes(),
    });
}

/// All bytes received, and whether the connection is open.
fn read_all(client: &mut UnixStream) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let open = client.read_to_end(&mut bytes).is_err();
    (bytes, open)
}

#[test]
fn a_client_that_shuts_down_its_side_is_answered() {
    let (mut server, mut client) = one(|stream| Stream::Metrics(std::os::fd::OwnedFd::from(stream).into()));
    client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    // The first call answers, the second disconnects.
    serve_once(&mut server);
    serve_once(&mut server);
    assert_eq!(read_all(&mut client), (b"Metrics".to_vec(), false));
    let (mut server, mut client) = one(Stream::Control);
    client.write_all(b"a\nb\nhalf").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut bytes = Vec::new();
    for _ in 0..100 {
        serve_once(&mut server);
        bytes.extend(read_all(&mut client).0);
    }
    assert!(bytes == [b"a".repeat(100_000), b"b".repeat(100_000)].concat());
    assert!(server.clients.is_empty());
}

/// A request that waited for the answer to the previous one is answered without a further request.
#[test]
fn requests_that_come_together_are_all_answered() {
    let (mut server, mut client) = one(Stream::Control);
    client.write_all(b"a\nb\nc\nd\n").unwrap();
    let mut bytes = Vec::new();
    for _ in 0..100 {
        serve_once(&mut server);
        bytes.extend(read_all(&mut client).0);
    }
    let wanted: Vec<u8> = [b"a", b"b", b"c", b"d"].iter().flat_map(|line| line.repeat(100_000)).collect();
    assert!(bytes == wanted, "{} bytes of {}", bytes.len(), wanted.len());
    assert_eq!(server.clients.len(), 1);
}

/// Clients that scrape metrics, in any number, keep no one from the control socket.
#[test]
fn scrapers_do_not_disconnect_an_operator() {
    let (mut server, _operator) = one(Stream::Control);
    let mut scrapers = Vec::new();
    for _ in 0..2 * MAX_CLIENTS {
        let (ours, theirs) = UnixStream::pair().unwrap();
        server.connect(Stream::Metrics(std::os::fd::OwnedFd::from(theirs).into()));
        scrapers.push(ours);
    }
    let control = |client: &Client| matches!(client.stream, Stream::Control(_));
    assert_eq!(server.clients.iter().filter(|client| control(client)).count(), 1);
    assert_eq!(server.clients.len(), 1 + MAX_CLIENTS);
}
