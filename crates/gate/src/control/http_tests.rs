use super::*;

#[test]
fn requests_are_told_apart() {
    let read = |text: &str| HttpRequest::parse(text.as_bytes());
    assert_eq!(read("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Some(HttpRequest::Metrics));
    assert_eq!(read("GET /metrics?a=b HTTP/1.0\r\n\r\n"), Some(HttpRequest::Metrics));
    assert_eq!(read("GET / HTTP/1.1\r\n\r\n"), Some(HttpRequest::NotFound));
    assert_eq!(read("POST /metrics HTTP/1.1\r\n\r\n"), Some(HttpRequest::NotAllowed));
    assert_eq!(read("\u{0}\u{1}nonsense\r\n\r\n"), Some(HttpRequest::Bad));
    assert_eq!(read("GET /metrics HTT"), None);
    let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(65));
    assert_eq!(read(&many), Some(HttpRequest::Bad));
    let answer = String::from_utf8(HttpRequest::NotFound.respond(|| None)).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404") && answer.ends_with("metrics are at /metrics\n"));
}
