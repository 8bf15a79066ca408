//! The part of HTTP/1.1 (RFC 9112) that a scrape needs: one request, one response, and the
//! connection is closed.

/// Maximum number of header fields of a request; a request with more is refused.
const MAX_HEADERS: usize = 64;

/// A request, classified by its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpRequest {
    /// GET of the metrics.
    Metrics,
    /// GET of a path that does not exist.
    NotFound,
    /// Another method than GET.
    NotAllowed,
    /// Not HTTP.
    Bad,
}

impl HttpRequest {
    /// Parses a request's head; `None` while it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Option<HttpRequest> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(httparse::Status::Partial) => None,
            Err(_) => Some(HttpRequest::Bad),
            Ok(httparse::Status::Complete(_)) => {
                let path = request.path.unwrap_or_default();
                let path = path.split_once('?').map_or(path, |(path, _)| path);
                Some(match (request.method, path) {
                    (Some("GET"), "/metrics") => HttpRequest::Metrics,
                    (Some("GET"), _) => HttpRequest::NotFound,
                    _ => HttpRequest::NotAllowed,
                })
            }
        }
    }

    /// The whole response. `metrics` is called only for [`HttpRequest::Metrics`]; it returns `None`
    /// when the gate does not answer.
    pub(crate) fn respond(self, metrics: impl FnOnce() -> Option<String>) -> Vec<u8> {
        const TEXT: &str = "text/plain; charset=utf-8";
        const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let (status, kind, body) = match self {
            HttpRequest::Metrics => match metrics() {
                Some(text) => ("200 OK", OPEN_METRICS, text),
                None => ("503 Service Unavailable", TEXT, "the gate does not answer\n".to_owned()),
            },
            HttpRequest::NotFound => ("404 Not Found", TEXT, "metrics are at /metrics\n".to_owned()),
            HttpRequest::NotAllowed => ("405 Method Not Allowed", TEXT, "only GET\n".to_owned()),
            HttpRequest::Bad => ("400 Bad Request", TEXT, "this is not an HTTP request\n".to_owned()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        [head.into_bytes(), body.into_bytes()].concat()
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
