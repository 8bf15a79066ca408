//! A reserved call beside one sender with very many source addresses, on a real link.

#![allow(clippy::disallowed_types, reason = "the gate and its tests live in real time")]

mod common;

use common::{Gate, INSIDE, Net, OUTSIDE, Place, TempFile};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// Packets of the call, and the time between two: 95 kbit/s in frames of 214 bytes.
const CALLS: u32 = 500;
const EVERY: Duration = Duration::from_millis(18);
const PORT: u16 = 5004;

/// Frames of 1000 bytes from 60,000 random addresses, at 12 Mbit/s, until it is killed.
const FLOOD: &str = "
import random, socket, struct, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(('a0', 0))
random.seed(7)
ethernet = bytes.fromhex('0200000000030200000000010800')
print('ready', flush=True)
start, sent = time.monotonic(), 0
while True:
    due = (time.monotonic() - start) * 1500
    while sent < due:
        source = struct.pack('!I', 0x0b000000 + random.randrange(60000))
        head = struct.pack('!BBHHHBBH', 0x45, 0, 986, 0, 0, 64, 17, 0) + source + bytes([192, 0, 2, 1])
        udp = struct.pack('!HHHH', 9, 9, 966, 0)
        out.send(ethernet + head + udp + bytes(958))
        sent += 1
    time.sleep(0.002)
";

/// The file's bound for the call, 1 Mbit/s of 10: its own line takes 1.7 ms, and a longest frame
/// and one of the hosts' class 1.2 ms each. Delay added by the processor is reported, not judged.
#[test]
#[ignore = "needs root and network namespaces"]
fn a_reserved_call_loses_nothing_to_sixty_thousand_addresses() {
    let net = Net::new();
    let flows = format!(
        "[[flow]]\nname = \"call\"\nmatch = {{ protocol = \"udp\", outside_port = {PORT} }}\nreserve = \"1mbit\"\n\
         [[flow]]\nname = \"hosts\"\nmatch = {{ inside = \"0.0.0.0/0\" }}\neach = \"host\"\nreserve = \"100kbit\"\n"
    );
    let gate = Gate::start(&net, TempFile::gate("10mbit", "10mbit", &flows));
    let mut flood = net.command(Place::Inside, "python3", &["-c", FLOOD]).spawn().unwrap();
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
    flood.wait().unwrap();
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
}
