//! Operation of a running gate: requests, reloads, monitoring and misuse.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

#[path = "../common/mod.rs"]
mod common;

mod reloads;
mod requests;

use common::{BINARY, INSIDE, Net, OUTSIDE, Place, TempFile};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A gate file whose control socket is beside it.
fn file(rates: [&str; 2], rest: &str) -> (TempFile, PathBuf) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("tidegate-{}-{}.sock", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let socket = std::env::temp_dir().join(name);
    let control = format!("control = {{ socket = \"{}\" }}\n{rest}", socket.display());
    (TempFile::gate(rates[0], rates[1], &control), socket)
}

fn gate(args: &[&str]) -> Output {
    Command::new(BINARY).args(args).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn refused(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8(output.stderr.clone()).unwrap()
}

const FLOWS: &str = "port = { scheduler = \"virtual-clock\" }\n\
                     [[flow]]\nname = \"voice\"\nmatch = { outside_port = 9 }\nreserve = \"80kbit\"\n\
                     [[flow]]\nname = \"bulk\"\nmatch = { outside_port = 10 }\nreserve = \"100kbit\"\n";

/// Numbered packets to a port outside: `count` of them, `gap` apart.
fn send(net: &Net, port: u16, payload: usize, count: u32, gap: Duration) -> std::thread::JoinHandle<()> {
    net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((INSIDE, port)).unwrap();
        let mut bytes = vec![0; payload];
        for number in 0..count {
            bytes[..4].copy_from_slice(&number.to_be_bytes());
            let _ = socket.send_to(&bytes, (OUTSIDE, port));
            std::thread::sleep(gap);
        }
    })
}

/// The numbers that arrived at a port outside, until none arrived for two seconds.
fn numbers(net: &Net, port: u16) -> std::thread::JoinHandle<Vec<u32>> {
    net.receive(Place::Outside, (OUTSIDE, port), Duration::from_secs(2), |socket| {
        let (mut bytes, mut numbers) = ([0; 2048], Vec::new());
        while let Ok(length) = socket.recv(&mut bytes) {
            assert!(length >= 4);
            numbers.push(u32::from_be_bytes(bytes[..4].try_into().unwrap()));
        }
        numbers
    })
}
