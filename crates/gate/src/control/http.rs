//! As much of HTTP/1.1 (RFC 9112) as a scrape takes: one request, one answer, and the connection is closed.

/// Headers that are looked at; a request with more is refused.
const MOST_HEADERS: usize = 64;

/// What a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// The metrics.
    Metrics,
    /// Something that is not here.
    NotFound,
    /// Another method than GET.
    NotAllowed,
    /// It is no HTTP.
    Bad,
}

impl Request {
    /// Reads a request's head; `None` while it is not complete.
    pub(crate) fn read(bytes: &[u8]) -> Option<Request> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Partial) => None,
            Err(_) => Some(Request::Bad),
            Ok(httparse::Status::Complete(_)) => {
                let path = request.path.unwrap_or_default();
                let path = path.split_once('?').map_or(path, |(path, _)| path);
                Some(match (request.method, path) {
                    (Some("GET"), "/metrics") => Request::Metrics,
                    (Some("GET"), _) => Request::NotFound,
                    _ => Request::NotAllowed,
                })
            }
        }
    }

    /// The whole answer; `metrics` is asked for only when they are wanted, and may have none.
    pub(crate) fn answer(self, metrics: impl FnOnce() -> Option<String>) -> Vec<u8> {
        const TEXT: &str = "text/plain; charset=utf-8";
        const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let (status, kind, body) = match self {
            Request::Metrics => match metrics() {
                Some(text) => ("200 OK", OPEN_METRICS, text),
                None => ("503 Service Unavailable", TEXT, "the gate does not answer\n".to_owned()),
            },
            Request::NotFound => ("404 Not Found", TEXT, "metrics are at /metrics\n".to_owned()),
            Request::NotAllowed => ("405 Method Not Allowed", TEXT, "only GET\n".to_owned()),
            Request::Bad => ("400 Bad Request", TEXT, "this is no HTTP request\n".to_owned()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let read = |text: &str| Request::read(text.as_bytes());
        assert_eq!(read("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Some(Request::Metrics));
        assert_eq!(read("GET /metrics?a=b HTTP/1.0\r\n\r\n"), Some(Request::Metrics));
        assert_eq!(read("GET / HTTP/1.1\r\n\r\n"), Some(Request::NotFound));
        assert_eq!(read("POST /metrics HTTP/1.1\r\n\r\n"), Some(Request::NotAllowed));
        assert_eq!(read("\u{0}\u{1}nonsense\r\n\r\n"), Some(Request::Bad));
        assert_eq!(read("GET /metrics HTT"), None);
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
        assert_eq!(read(&many), Some(Request::Bad));
        let answer = String::from_utf8(Request::NotFound.answer(|| None)).unwrap();
        assert!(answer.starts_with("HTTP/1.1 404") && answer.ends_with("metrics are at /metrics\n"));
    }
}
