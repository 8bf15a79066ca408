//! A reserved call beside one sender with one to very many source addresses, on a real link.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use std::net::UdpSocket;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Packets of the call, and the time between two: 95 kbit/s in frames of 214 bytes.
const CALLS: u32 = 500;
const EVERY: Duration = Duration::from_millis(18);
const PORT: u16 = 5004;

/// Frames of as many addresses as its first argument says, each in its turn, at 12 Mbit/s until it
/// is killed. It says so when all have had their turn.
const FLOOD: &str = "
import random, socket, struct, sys, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(('a0', 0))
addresses, length = int(sys.argv[1]), int(sys.argv[2])
order = list(range(addresses))
random.Random(7).shuffle(order)
ethernet = bytes.fromhex('0200000000030200000000010800')
begin = struct.pack('!BBHHHBBH', 0x45, 0, length - 14, 0, 0, 64, 17, 0)
end = bytes([192, 0, 2, 1]) + struct.pack('!HHHH', 9, 9, length - 34, 0) + bytes(length - 42)
start, sent = time.monotonic(), 0
while True:
    due = (time.monotonic() - start) * 12e6 / 8 / length
    while sent < due:
        source = struct.pack('!I', 0x0b000000 + order[sent % addresses])
        out.send(ethernet + begin + source + end)
        sent += 1
        if sent == addresses:
            print('all', flush=True)
    time.sleep(0.002)
";

#[test]
#[ignore = "needs root and network namespaces"]
fn a_reserved_call_loses_nothing_to_one_other_address() {
    call_beside(1, 1000);
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_reserved_call_loses_nothing_to_a_hundred_addresses() {
    call_beside(100, 1000);
}

#[test]
#[ignore = "needs root and network namespaces"]
fn a_reserved_call_loses_nothing_to_a_hundred_thousand_addresses() {
    call_beside(100_000, 100);
}

/// The file's bound for the call, 1 Mbit/s of 10: its own line takes 1.7 ms, and a longest frame
/// and one of the hosts' class 1.2 ms each. Nine packets of ten are to keep it: the processor, which is
/// shared, delays others, and their delays are printed.
fn call_beside(addresses: u32, length: u32) {
    let net = Net::new();
    let flows = format!(
        "[[flow]]\nname = \"call\"\nmatch = {{ protocol = \"udp\", outside_port = {PORT} }}\nreserve = \"1mbit\"\n\
         [[flow]]\nname = \"hosts\"\nmatch = {{ inside = \"0.0.0.0/0\" }}\neach = \"host\"\nreserve = \"100kbit\"\n"
    );
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", &flows));
    let mut flood = net
        .command(Place::Inside, "python3", &["-c", FLOOD, &addresses.to_string(), &length.to_string()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let start = Instant::now();
    let got = net.receive(Place::Outside, (OUTSIDE, PORT), Duration::from_secs(1), move |socket| {
        let (mut bytes, mut delays) = ([0; 2048], Vec::new());
        while socket.recv(&mut bytes).is_ok() {
            let sent = Duration::from_nanos(u64::from_be_bytes(bytes[..8].try_into().unwrap()));
            delays.push(start.elapsed().saturating_sub(sent));
        }
        delays
    });
    let call = net.spawn(Place::Inside, move || {
        let socket = UdpSocket::bind((INSIDE, PORT)).unwrap();
        for number in 0..CALLS {
            std::thread::sleep((EVERY * number).saturating_sub(start.elapsed()));
            let mut packet = [0; 172];
            packet[..8].copy_from_slice(&(start.elapsed().as_nanos() as u64).to_be_bytes());
            socket.send_to(&packet, (OUTSIDE, PORT)).unwrap();
        }
    });
    call.join().unwrap();
    let mut delays = got.join().unwrap();
    flood.kill().unwrap();
    assert_eq!(flood.wait_with_output().unwrap().stdout, b"all\n", "not every address has sent");
    let report = gate.stop();
    let [call, hosts] = [0, 1].map(|flow| &report["directions"]["up"]["flows"][flow]);
    delays.sort_unstable();
    println!(
        "{} of {CALLS} came through, in {:?} at the median, {:?} in 99 of 100 and {:?} at most; {} frames of others were \
         dropped; lateness of the gate {}",
        delays.len(),
        delays[delays.len() / 2],
        delays[delays.len() * 99 / 100],
        delays[delays.len() - 1],
        hosts["dropped_packets"],
        report["directions"]["up"]["lateness"]
    );
    assert!(hosts["dropped_packets"].as_u64().unwrap() > 100, "the link was not full: {hosts:#}");
    assert_eq!(call["dropped_packets"], 0, "{call:#}");
    assert_eq!(delays.len(), CALLS as usize, "{call:#}");
    assert!(delays[delays.len() * 9 / 10] <= Duration::from_micros(4_100), "{delays:?}");
}
