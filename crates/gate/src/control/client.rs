//! The client of the control socket.

use crate::error::GateError;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Longest wait for an answer: longer than the gate itself waits for its forwarding thread.
const TIMEOUT: Duration = Duration::from_secs(15);

/// A connection to a running gate.
pub(crate) struct Client {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// # Errors
    /// When no gate listens there, or the socket may not be used.
    pub(crate) fn connect(socket: PathBuf) -> Result<Client, GateError> {
        let connected = UnixStream::connect(&socket).and_then(|stream| {
            stream.set_read_timeout(Some(TIMEOUT))?;
            stream.set_write_timeout(Some(TIMEOUT))?;
            Ok(stream)
        });
        match connected {
            Ok(stream) => Ok(Client { socket, stream: BufReader::new(stream) }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {
                Err(GateError::NotRunning(socket))
            }
            Err(error) => Err(GateError::system(format!("the control socket {}", socket.display()), error)),
        }
    }

    /// Stops the gate and waits until it has stopped.
    ///
    /// # Errors
    /// When the gate does not answer, or does not stop.
    pub(crate) fn stop(&mut self) -> Result<(), GateError> {
        self.ask("stop")?;
        // The gate closes the connection when it has stopped.
        match self.stream.read_line(&mut String::new()) {
            Ok(0) => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(()),
            _ => Err(GateError::NoAnswer),
        }
    }

    /// Sends a request and returns the gate's answer.
    ///
    /// # Errors
    /// When the gate rejects the request or does not answer.
    pub(crate) fn ask(&mut self, request: &str) -> Result<Value, GateError> {
        self.send(&json!({ "ask": request }))
    }

    /// Asks for explanations of what has a name, or of those that waited most.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub(crate) fn explain(&mut self, of: Option<&str>) -> Result<Value, GateError> {
        let request = json!({ "ask": "explain" });
        self.send(&of.map_or(request, |of| json!({ "ask": "explain", "of": of })))
    }

    fn send(&mut self, request: &Value) -> Result<Value, GateError> {
        let failed =
            |error| GateError::system(format!("the control socket {}", self.socket.display()), error);
        let mut line = request.to_string();
        line.push('\n');
        self.stream.get_mut().write_all(line.as_bytes()).map_err(failed)?;
        let mut answer = String::new();
        self.stream.read_line(&mut answer).map_err(failed)?;
        let answer: Value = serde_json::from_str(&answer).map_err(|_| GateError::NoAnswer)?;
        match (answer.get("ok"), answer.get("error").and_then(Value::as_str)) {
            (Some(ok), _) => Ok(ok.clone()),
            (None, Some(error)) => Err(GateError::Rejected(error.to_owned())),
            (None, None) => Err(GateError::NoAnswer),
        }
    }
}
