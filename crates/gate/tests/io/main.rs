//! Every kind of input and output: frames that go in come out, byte for byte, and nothing else
//! does.

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "xdp")]
mod af_xdp;
mod tap;
mod veth;

use common::{Gate, Net, OUTSIDE, OUTSIDE6, Place, TempFile, content};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;

/// Starts a gate between both hosts, at this rate, with the input and output that `io` names.
fn start(io: &str, rate: &str, rest: &str) -> (Net, Gate) {
    let net = Net::new();
    let gate = Gate::start_with(&net, TempFile::gate(rate, rate, rest), &["--set", &format!("gate.io={io}")]);
    (net, gate)
}

/// Sends a file each way at once between two addresses of the hosts.
fn exchange(net: &Net, address: &'static str) {
    const LENGTH: usize = 20_000_000;
    let (ready, listening) = std::sync::mpsc::channel();
    let exchange = |mut stream: TcpStream, own: u64, other: u64| {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut reader = stream.try_clone().unwrap();
        let read = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).unwrap();
            bytes
        });
        stream.write_all(&content(own, LENGTH)).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        read.join().unwrap() == content(other, LENGTH)
    };
    let server = net.spawn(Place::Outside, move || {
        let listener = TcpListener::bind((address, 80)).unwrap();
        ready.send(()).unwrap();
        exchange(listener.accept().unwrap().0, 1, 2)
    });
    listening.recv().unwrap();
    let client = net.spawn(Place::Inside, move || exchange(TcpStream::connect((address, 80)).unwrap(), 2, 1));
    assert!(client.join().unwrap(), "what came down is not what was sent");
    assert!(server.join().unwrap(), "what went up is not what was sent");
}

/// Files both ways at once, over IPv4 and IPv6, whatever the interfaces' offloads are.
fn tcp_passes_whole(net: &Net, gate: Gate) -> Value {
    assert!(net.ping(1));
    exchange(net, OUTSIDE);
    exchange(net, OUTSIDE6);
    let report = gate.stop();
    for direction in ["up", "down"] {
        assert_eq!(report["directions"][direction]["drops"]["offload"], 0, "{report:#}");
    }
    assert_eq!([net.checksum_errors(Place::Inside), net.checksum_errors(Place::Outside)], [0, 0]);
    report
}

/// `frames` is Python that makes frames. It precedes `see`, which reports that it is ready and then
/// the frames seen outside, and `send`, which sends the frames from inside. Both get the arguments.
/// Returns the output of `see`.
fn seen_of_sent(net: &Net, frames: &str, send: &str, see: &str, arguments: &[&str]) -> String {
    let python = |place, script: &str| {
        let mut command = net.command(place, "python3", &["-c", &format!("{frames}{script}")]);
        command.args(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut watcher = python(Place::Outside, see);
    let mut ready = [0; 6];
    watcher.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    assert!(python(Place::Inside, send).wait().unwrap().success());
    let seen = watcher.wait_with_output().unwrap();
    let (said, wrong) = (String::from_utf8_lossy(&seen.stdout), String::from_utf8_lossy(&seen.stderr));
    assert!(seen.status.success(), "{said}{wrong}");
    said.trim().to_owned()
}

/// Frames with one tag and two, of IPv4 with and without fragments, IPv6 with and without
/// extensions, LLC and unknown protocols, each of every length: they come out unchanged, and those
/// of a flow in order. They are sent one at a time, and then at once, when frames of different
/// flows come out in the scheduler's order.
fn frames_pass_unchanged(net: &Net, gate: Gate) {
    const FRAMES: &str = "
import itertools, random
random.seed(7)
tags = ['', '81006007', '88a8200181006007']
kinds = ['88b5', '0026424203', '0800450000%04x1234200040fd0000c0000201c0000202',
         '0800450000%04x1234006440fd0000c0000201c0000202', '86dd60000000%04x2c4020010db8' + '00' * 11 + '01' +
         '20010db8' + '00' * 11 + '02' + '3b00000112345678', '86dd60000000%04x3b4020010db8' + '00' * 11 + '01' +
         '20010db8' + '00' * 11 + '02']
frames = []
for length, tag, kind in itertools.product([60, 61, 64, 590, 1513, 1514], tags, kinds):
    head = '02000000000302' + '00' * 4 + '01' + tag + (kind % (length - 14) if '%' in kind else kind)
    head = bytes.fromhex(head)
    # A packet socket sends 4 bytes more than the MTU allows only behind an 802.1Q tag.
    longest = 1518 if tag.startswith('8100') else 1514
    size = min(length + len(tag) // 2, longest)
    frames.append(head + random.randbytes(max(0, size - len(head))))
";
    const SEND: &str = "
import socket, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(('a0', 0))
for pause in (0.001, 0):
    for frame in frames:
        out.send(frame)
        time.sleep(pause)
";
    const SEE: &str = "
import socket, struct
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
end.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)
end.setsockopt(263, 8, 1)
end.setsockopt(263, 1, struct.pack('iHH8s', socket.if_nametoindex('b0'), 1, 0, bytes(8)))
end.bind(('b0', 3))
end.settimeout(3)
print('ready', flush=True)
seen = []
try:
    while len(seen) < 2 * len(frames):
        frame, [(_, _, auxiliary)], _, _ = end.recvmsg(65536, 64)
        status, _, _, _, _, tag, protocol = struct.unpack('IIIHHHH', auxiliary)
        if status & 16:
            frame = frame[:12] + struct.pack('!HH', protocol, tag) + frame[12:]
        if frame[6:12] == frames[0][6:12]:
            seen.append(frame)
except TimeoutError:
    pass
# Frames with tag 7 are of one flow, and others of one for each kind.
flow_of = lambda frame: 7 if frame[12:14] in (b'\\x81\\x00', b'\\x88\\xa8') else frame[12:14]
sent = frames + frames
for flow in set(map(flow_of, sent)):
    of_flow = lambda which: [frame for frame in which if flow_of(frame) == flow]
    for n, (want, got) in enumerate(zip(of_flow(sent), of_flow(seen))):
        assert want == got, f'{flow}, {n}: {want.hex()} became {got.hex()}'
print(len(seen), 'of', len(sent))
";
    assert_eq!(seen_of_sent(net, FRAMES, SEND, SEE, &[]), "216 of 216");
    // The hosts' own packets, in fragments.
    for (address, count) in [(OUTSIDE, "5"), (OUTSIDE6, "5")] {
        let args = ["-q", "-c", count, "-i", "0.05", "-W", "2", "-s", "4000", address];
        let ping = net.output(Place::Inside, "ping", &args);
        assert!(ping.status.success(), "{}", String::from_utf8_lossy(&ping.stdout));
    }
    let report = gate.stop();
    let tagged = &report["directions"]["up"]["flows"][0];
    assert_eq!(tagged["sent_packets"], 144, "{report:#}");
}

/// Segments of three TCP connections and datagrams of three flows, which the gate finds 180 at once,
/// because it is stopped while they are sent. They come out as they went in, each flow's in order:
/// the gate joins those that follow each other, and the device segments them. Where it does not,
/// super-packets of each connection and of two of the flows come out; the datagrams of the third have
/// no checksum. One frame in twenty has a wrong checksum, and keeps it.
fn segments_leave_as_they_came(io: &str, segmented: bool) {
    const FRAMES: &str = "
import random, struct
random.seed(9)
def total(data):
    data += bytes(len(data) % 2)
    value = sum(struct.unpack(f'!{len(data) // 2}H', data))
    while value > 65535:
        value = (value >> 16) + (value & 65535)
    return value
ethernet = bytes.fromhex('020000000003020000000001')
four = (bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
six = (bytes.fromhex('20010db8' + '00' * 11 + '01'), bytes.fromhex('20010db8' + '00' * 11 + '02'))
def frame(number, flow, payload):
    source, far = six if flow in (2, 4) else four
    if flow < 3:
        protocol, field = 6, 16
        flags = 0x18 if number % 40 == 39 else 0x10
        packet = struct.pack('!HHIIBBHHH', 1000 + flow, 80, number * 1400, 5, 5 << 4, flags, 99, 0, 0) + payload
    else:
        protocol, field = 17, 6
        packet = struct.pack('!HHHH', 1000 + flow, 80, 8 + len(payload), 0) + payload
    value = 65535 - total(source + far + struct.pack('!HH', protocol, len(packet)) + packet)
    wrong = number % 20 == 7
    packet = packet[:field] + struct.pack('!H', value ^ wrong) + packet[field + 2:]
    if source in six:
        ip = struct.pack('!IHBB', 6 << 28, len(packet), protocol, 64) + source + far
        return ethernet + bytes([0x86, 0xdd]) + ip + packet
    ip = struct.pack('!BBHHHBBH', 0x45, 0, 20 + len(packet), number, 0x4000, 64, protocol, 0) + source + far
    ip = ip[:10] + struct.pack('!H', 65535 - total(ip)) + ip[12:]
    return ethernet + bytes([8, 0]) + ip + packet
udp = ethernet + bytes.fromhex('0800' '450000640001400040110000c0000201c0000202' '0fa00fa1005000004142')
frames = []
for number in range(150):
    # A shorter datagram is the last of its super-packet.
    lengths = [1400] * 3 + [1372 if number % 9 else 700] * 2
    frames += [frame(number, flow, random.randbytes(length)) for flow, length in enumerate(lengths)]
    frames.append(udp + number.to_bytes(4) + bytes(70))
# It is found alone: no frame is moved behind it.
last = udp + bytes([1] * 74)
frames.append(last)
flow_of = lambda frame: frame[12:14] + (frame[54:58] if frame[12] == 0x86 else frame[34:38])
";
    const SEND: &str = "
import os, signal, socket, sys, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(('a0', 0))
gate = int(sys.argv[1])
for at in range(0, len(frames), 180):
    os.kill(gate, signal.SIGSTOP)
    for frame in frames[at:at + 180]:
        out.send(frame)
    os.kill(gate, signal.SIGCONT)
    time.sleep(0.02)
";
    const SEE: &str = "
import socket, sys
end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
end.setsockopt(socket.SOL_SOCKET, 33, 1 << 25)
end.bind(('b0', 3))
end.settimeout(3)
print('ready', flush=True)
seen = {}
try:
    frame = b''
    while frame != last:
        frame = end.recv(70000)
        if frame[:12] == ethernet:
            seen.setdefault(flow_of(frame), []).append(frame)
except TimeoutError:
    pass
if 'segmented' in sys.argv:
    want = {}
    for frame in frames:
        want.setdefault(flow_of(frame), []).append(frame)
    for flow in want:
        assert want[flow] == seen.get(flow), (flow, len(seen.get(flow, [])))
longest = {flow: max(map(len, seen[flow])) for flow in seen}
del longest[flow_of(last)]
assert len(longest) == 5, longest
print((max if 'segmented' in sys.argv else min)(longest.values()))
";
    let net = Net::new();
    if segmented {
        let off = ["-K", "go", "tso", "off", "gso", "off", "tx-udp-segmentation", "off"];
        assert!(net.output(Place::Gate, "ethtool", &off).status.success());
    }
    // The line takes all frames that the gate finds at once.
    let file = TempFile::gate("10gbit", "10gbit", "");
    let gate = Gate::start_with(&net, file, &["--set", &format!("gate.io={io}")]);
    let (id, how) = (gate.id().to_string(), if segmented { "segmented" } else { "joined" });
    let longest: usize = seen_of_sent(&net, FRAMES, SEND, SEE, &[&id, how]).parse().unwrap();
    println!("{io}, {how}: longest {longest} bytes");
    assert!(if segmented { longest <= 1514 } else { longest > 2 * 1372 });
    let report = gate.stop();
    let up = &report["directions"]["up"];
    // A super-packet counts as the frames that it is made of.
    assert!(up["sent"].as_u64().unwrap() >= 900 && up["drops"]["device"] == 0, "{up:#}");
}

/// A super-packet of a kind that a virtio-net header cannot describe (UDP fragmentation offload) is
/// lost, but nothing that comes a while after it.
fn an_indescribable_frame_does_no_harm(io: &str) {
    const SCRIPT: &str = "
import fcntl, os, struct, subprocess, time
tap = os.open('/dev/net/tun', os.O_RDWR)
fcntl.ioctl(tap, 0x400454ca, struct.pack('16sH22x', b'gt', 0x2 | 0x1000 | 0x4000))
subprocess.run(['ip', 'link', 'set', 'gt', 'up'], check=True)
print('ready', flush=True)
input()
ethernet = bytes.fromhex('020000000002020000000001')
ip = bytes.fromhex('4500%04x1234000040110000c0000201c0000202' % 4028)
odd = struct.pack('<BBHHHH', 1, 3, 42, 1480, 34, 6) + ethernet + bytes([8, 0]) + ip + struct.pack('!HHHH', 1, 2, 4008, 0)
plain = bytes(10) + ethernet + bytes.fromhex('88b5') + bytes(50)
for n in range(120):
    os.write(tap, plain if n != 10 else odd + bytes(4000))
    time.sleep(0.01)
print('sent', flush=True)
input()
";
    let net = Net::new();
    let mut script = net.command(Place::Gate, "python3", &["-c", SCRIPT]);
    let mut script = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    script.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let io = format!("gate.io={io}");
    let more = ["--set", "gate.inside=gt", "--set", &io];
    let gate = Gate::start_with(&net, TempFile::gate("10mbit", "10mbit", ""), &more);
    script.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    script.stdout.as_mut().unwrap().read_exact(&mut ready[..5]).unwrap();
    let report = gate.stop();
    script.stdin.as_mut().unwrap().write_all(b"end\n").unwrap();
    assert!(script.wait().unwrap().success());
    let up = &report["directions"]["up"];
    assert!((70..120).contains(&up["sent"].as_u64().unwrap()), "{up:#}");
    let lost = up["missed"].as_u64().unwrap() + up["drops"]["offload"].as_u64().unwrap();
    assert!((1..50).contains(&lost), "{up:#}");
}

/// The part of a file beyond its rates: frames with tag 7 have a flow of their own.
const TAGGED: &str = "[[flow]]\nname = \"seven\"\nmatch = { vlan = 7 }\n";
