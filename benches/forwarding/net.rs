//! Two hosts and the gate between them, in network namespaces of their own.

use rustix::thread::{CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// Namespaces: `a` with a0, `g` in the middle with gi and go, `b` with b0.
pub struct Net(String);

/// Runs `ip`; returns true if it succeeded.
fn ip(words: &str) -> bool {
    let done = Command::new("ip").args(words.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

impl Net {
    /// Returns `None` where it is not permitted; without links when a gate is going to make them.
    pub fn new(links: bool) -> Option<Net> {
        let net = Net(format!("tgf{}", std::process::id()));
        for one in ["a", "g", "b"] {
            if !ip(&format!("netns add {}{one}", net.0)) {
                return None;
            }
        }
        for (own, far, host) in [("gi", "a0", "a"), ("go", "b0", "b")].into_iter().filter(|_| links) {
            net.ip("g", &format!("link add {own} type veth peer name {far} netns {}{host}", net.0));
            net.ip("g", &format!("link set {own} up"));
            net.ip(host, &format!("link set {far} up"));
        }
        Some(net)
    }

    pub fn name(&self, one: &str) -> String {
        format!("{}{one}", self.0)
    }

    /// Runs `ip` in one of them.
    pub fn ip(&self, one: &str, words: &str) {
        assert!(ip(&format!("-n {}{one} {words}", self.0)), "ip {words}");
    }

    /// Gives a gate's devices to the hosts.
    pub fn hand_over(&self) {
        for (own, far, host) in [("gi", "a0", "a"), ("go", "b0", "b")] {
            self.ip("g", &format!("link set {own} netns {} name {far}", self.name(host)));
            self.ip(host, &format!("link set {far} up"));
        }
    }

    /// Makes the kernel forward as a bridge; if `steered`, on another processor than the sender's.
    pub fn bridge(&self, steered: bool) {
        self.ip("g", "link add bridge type bridge");
        self.ip("g", "link set bridge up");
        for port in ["gi", "go"] {
            self.ip("g", &format!("link set {port} master bridge"));
        }
        if steered {
            let set = "echo 2 > /sys/class/net/gi/queues/rx-0/rps_cpus";
            let done = Command::new("ip").args(["netns", "exec", &self.name("g"), "sh", "-c", set]).status();
            assert!(done.is_ok_and(|status| status.success()), "receive packet steering");
        }
    }

    /// Switches off offloads that AF_XDP does not report.
    pub fn plain(&self) {
        for port in ["gi", "go"] {
            let off = ["ethtool", "-K", port, "gro", "off", "lro", "off", "rxvlan", "off"];
            let mut command = Command::new("ip");
            // Offloads that cannot be changed are off.
            let _ = command.args(["netns", "exec", &self.name("g")]).args(off).output();
        }
    }

    /// Runs `work` on a thread in one of them, on one processor.
    pub fn spawn<T: Send + 'static>(
        &self,
        one: &str,
        processor: usize,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let namespace = File::open(format!("/run/netns/{}", self.name(one))).expect("a namespace");
        std::thread::spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("setns");
            let mut processors = CpuSet::new();
            processors.set(processor);
            sched_setaffinity(None, &processors).expect("a processor");
            work()
        })
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        for one in ["a", "g", "b"] {
            ip(&format!("netns del {}{one}", self.0));
        }
    }
}
