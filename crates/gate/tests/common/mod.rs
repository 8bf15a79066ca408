//! Network namespaces with a gate between them, made and removed by the test that uses them.

#![allow(dead_code, reason = "each test file uses a part of this")]

pub mod machine;

use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub const INSIDE: &str = "10.7.0.1";
pub const OUTSIDE: &str = "10.7.0.2";
pub const INSIDE6: &str = "fd07::1";
pub const OUTSIDE6: &str = "fd07::2";

static COUNT: AtomicU32 = AtomicU32::new(0);

/// Three namespaces in a row: `inside`, the gate's own with interfaces `gi` and `go`, `outside`.
pub struct Net {
    id: String,
}

/// A place in the row.
#[derive(Clone, Copy)]
pub enum Place {
    Inside,
    Gate,
    Outside,
}

impl Place {
    /// The interface of a host.
    pub fn interface(self) -> &'static str {
        match self {
            Place::Outside => "b0",
            _ => "a0",
        }
    }
}

impl Net {
    /// Makes a new row.
    ///
    /// # Panics
    /// Where network namespaces cannot be made: tests that need them are ignored unless they are
    /// requested, as `permitted.sh` does.
    pub fn new() -> Net {
        let net = Net::bare();
        let gate = net.name(Place::Gate);
        for (own, place) in [("gi", Place::Inside), ("go", Place::Outside)] {
            let (far, namespace) = (place.interface(), net.name(place));
            ip(&format!("-n {gate} link add {own} type veth peer name {far} netns {namespace}"));
            ip(&format!("-n {gate} link set {own} up"));
            net.address(place);
        }
        net
    }

    /// A new row without interfaces.
    pub fn bare() -> Net {
        let net = Net { id: format!("tg{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)) };
        for place in [Place::Inside, Place::Gate, Place::Outside] {
            ip(&format!("netns add {}", net.name(place)));
        }
        net
    }

    /// Gives a host's interface its addresses, and sets it up.
    pub fn address(&self, place: Place) {
        let (namespace, interface) = (self.name(place), place.interface());
        let (four, six) = match place {
            Place::Outside => (OUTSIDE, OUTSIDE6),
            _ => (INSIDE, INSIDE6),
        };
        ip(&format!("-n {namespace} addr add {four}/24 dev {interface}"));
        if std::path::Path::new("/proc/net/if_inet6").exists() {
            ip(&format!("-n {namespace} addr add {six}/64 dev {interface} nodad"));
        }
        ip(&format!("-n {namespace} link set {interface} up"));
    }

    pub fn name(&self, place: Place) -> String {
        let place = match place {
            Place::Inside => "i",
            Place::Gate => "g",
            Place::Outside => "o",
        };
        format!("{}{place}", self.id)
    }

    /// A command in a namespace.
    pub fn command(&self, place: Place, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(place), program]).args(args);
        command
    }

    pub fn output(&self, place: Place, program: &str, args: &[&str]) -> Output {
        self.command(place, program, args).output().unwrap()
    }

    /// Runs `work` on a separate thread in a namespace; sockets opened there stay there.
    pub fn spawn<T: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = File::open(format!("/run/netns/{}", self.name(place))).unwrap();
        std::thread::spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        })
    }

    /// Receives UDP at an address of a namespace, on a thread of its own. The socket is open when
    /// this returns, and its buffer holds seconds of a test's packets, so that none is lost while
    /// the thread waits for a processor. A receive fails when no packet has arrived for `patience`.
    pub fn receive<T: Send + 'static>(
        &self,
        place: Place,
        address: (&str, u16),
        patience: Duration,
        work: impl FnOnce(UdpSocket) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let address = (address.0.to_owned(), address.1);
        let (ready, open) = std::sync::mpsc::channel();
        let thread = self.spawn(place, move || {
            let socket = UdpSocket::bind((address.0.as_str(), address.1)).unwrap();
            set_socket_recv_buffer_size_force(&socket, 1 << 26).unwrap();
            socket.set_read_timeout(Some(patience)).unwrap();
            ready.send(()).unwrap();
            work(socket)
        });
        open.recv().unwrap();
        thread
    }

    /// Returns true if a ping comes back from the far side.
    pub fn ping(&self, count: u32) -> bool {
        let count = count.to_string();
        self.output(Place::Inside, "ping", &["-q", "-c", &count, "-i", "0.05", "-W", "2", OUTSIDE])
            .status
            .success()
    }

    /// Switches off the offloads that AF_XDP cannot carry out: at the gate's interfaces, and `far`
    /// at the hosts'.
    pub fn switch_off_offloads(&self, far: &[&str]) {
        let near: &[&str] = &["gro", "off", "lro", "off", "rxvlan", "off"];
        let gate = Place::Gate;
        for (place, interface, features) in
            [(gate, "gi", near), (gate, "go", near), (Place::Inside, "a0", far), (Place::Outside, "b0", far)]
        {
            // A feature that cannot be changed is off.
            let set = self.output(place, "ethtool", &[&["-K", interface], features].concat());
            assert_ne!(set.status.code(), Some(127), "these tests need ethtool");
        }
    }

    /// Packet sockets in the gate's namespace.
    pub fn packet_sockets(&self) -> usize {
        let table = self.output(Place::Gate, "cat", &["/proc/net/packet"]);
        String::from_utf8_lossy(&table.stdout).lines().count() - 1
    }

    /// TCP segments that a namespace has received with a wrong checksum.
    pub fn checksum_errors(&self, place: Place) -> u64 {
        let table = self.output(place, "cat", &["/proc/net/snmp"]);
        let text = String::from_utf8_lossy(&table.stdout);
        let rows: Vec<Vec<&str>> = text
            .lines()
            .filter(|line| line.starts_with("Tcp:"))
            .map(|line| line.split(' ').collect())
            .collect();
        let column = rows[0].iter().position(|name| *name == "InCsumErrors").unwrap();
        rows[1][column].parse().unwrap()
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for place in [Place::Inside, Place::Gate, Place::Outside] {
            let _ = Command::new("ip").args(["netns", "del", &self.name(place)]).output();
        }
    }
}

/// Runs `ip`, which has to succeed.
pub fn ip(args: &str) {
    let done = Command::new("ip").args(args.split(' ')).output().unwrap();
    assert!(done.status.success(), "ip {args}: {}", String::from_utf8_lossy(&done.stderr));
}

/// Features switched off at a host, so that it leaves no part of a frame to its card.
pub const NONE_LEFT: [&str; 4] = ["tx", "off", "txvlan", "off"];

pub const BINARY: &str = env!("CARGO_BIN_EXE_tidegate-gate");

/// A copy of the binary that every user can execute, removed when dropped: the build may be where
/// others have no access.
pub struct SharedBinary(PathBuf);

impl SharedBinary {
    pub fn copy() -> SharedBinary {
        let name = format!("tidegate-gate-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::copy(BINARY, &path).unwrap();
        SharedBinary(path)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for SharedBinary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A gate file between `gi` and `go`, removed when dropped.
pub struct TempFile(pub PathBuf);

impl TempFile {
    pub fn new(text: &str) -> TempFile {
        let name = format!("tidegate-{}-{}.toml", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
        TempFile(path)
    }

    pub fn gate(up: &str, down: &str, rest: &str) -> TempFile {
        let name = format!("test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        TempFile::new(&format!(
            "version = 1\nname = \"{name}\"\n\
             gate = {{ inside = \"gi\", outside = \"go\", up = \"{up}\", down = \"{down}\" }}\n{rest}"
        ))
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Pseudo-random bytes (xorshift) with a long period.
pub fn content(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// A running gate; it is killed when dropped.
pub struct Gate {
    process: Child,
    messages: BufReader<std::process::ChildStderr>,
    _file: TempFile,
}

impl Gate {
    /// Starts a gate and waits until it forwards. It ends by itself after half a minute, so that no
    /// test hangs.
    pub fn start(net: &Net, file: TempFile) -> Gate {
        Gate::start_with(net, file, &[])
    }

    /// [`start`](Self::start) with more arguments.
    pub fn start_with(net: &Net, file: TempFile, more: &[&str]) -> Gate {
        Gate::start_for(net, file, Duration::from_secs(30), more)
    }

    /// [`start_with`](Self::start_with) for another duration.
    pub fn start_for(net: &Net, file: TempFile, lasting: Duration, more: &[&str]) -> Gate {
        let lasting = format!("{}s", lasting.as_secs());
        let args = [&["up", file.path(), "--json", "--for", &lasting], more].concat();
        let mut command = net.command(Place::Gate, BINARY, &args);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut messages = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        assert!(line.starts_with("test-") && line.contains(" at "), "{line}");
        Gate { process, messages, _file: file }
    }

    /// The process's id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Waits until the gate has ended; returns its exit status, its report and its log.
    pub fn wait(mut self) -> (ExitStatus, String, String) {
        let (mut printed, mut log) = (String::new(), String::new());
        self.process.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.messages.read_to_string(&mut log).unwrap();
        (self.process.wait().unwrap(), printed, log)
    }

    /// Stops the gate as an operator would, checks that every frame is accounted for, and returns
    /// its report.
    pub fn stop(self) -> Value {
        self.signal(Signal::TERM);
        let (status, printed, log) = self.wait();
        assert!(status.success(), "{log}");
        let report: Value = serde_json::from_str(&printed).unwrap();
        for direction in ["up", "down"] {
            let one = &report["directions"][direction];
            let of = |key: &str| one[key].as_u64().unwrap();
            assert_eq!(of("received"), of("sent") + of("dropped") + of("held"), "{one:#}");
            let drops: u64 =
                one["drops"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
            assert_eq!(drops, of("dropped"));
        }
        report
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
