//! System call filter: the calls that a gate makes once everything is open (seccomp(2)).
//!
//! Frames come from anywhere, so an error in the code that reads them must be of no use to an
//! attacker: a call that is not on the list fails with `EPERM`. The gate starts no program, mounts
//! no file system, traces no other process and loads no program into the kernel.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;

/// The calls that forwarding, reports, reloads and the end of the process need.
#[rustfmt::skip]
const CALLS: &[libc::c_long] = &[
    // Frames, clients and waiting.
    libc::SYS_read, libc::SYS_readv, libc::SYS_write, libc::SYS_writev, libc::SYS_ppoll, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2,
    libc::SYS_ioctl,
    libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_sendmmsg, libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_recvmmsg,
    libc::SYS_accept4, libc::SYS_connect, libc::SYS_shutdown, libc::SYS_getsockopt, libc::SYS_setsockopt, libc::SYS_getsockname,
    libc::SYS_close, libc::SYS_fcntl,
    // Time, and the scheduling of this process.
    libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep, libc::SYS_sched_setscheduler,
    libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_getpid, libc::SYS_gettid, libc::SYS_tgkill,
    // The control thread drops the privileges that the forwarding thread has kept.
    libc::SYS_prlimit64, libc::SYS_capget, libc::SYS_capset,
    // Memory and threads.
    libc::SYS_brk, libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_mprotect, libc::SYS_madvise,
    libc::SYS_futex, libc::SYS_clone, libc::SYS_clone3, libc::SYS_set_robust_list, libc::SYS_rseq, libc::SYS_prctl,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_restart_syscall, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_getrandom,
    // Files: the gate's own on a reload, the last good one, its control socket at the end.
    libc::SYS_openat, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek, libc::SYS_getcwd,
    libc::SYS_copy_file_range, libc::SYS_sendfile, libc::SYS_ftruncate, libc::SYS_fchmod, libc::SYS_mkdirat,
    libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_unlinkat, libc::SYS_readlinkat,
];

/// Calls that have older numbers in addition to those above, which the C library uses.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER_CALLS: &[libc::c_long] = &[
    libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_open, libc::SYS_stat, libc::SYS_lstat, libc::SYS_mkdir, libc::SYS_rename, libc::SYS_unlink,
    libc::SYS_readlink, libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_CALLS: &[libc::c_long] = &[];

/// Calls that are allowed only with certain first arguments: a socket to query interfaces or to
/// notify the service manager, and a change of a value in a map of the duplicate filter.
const WITH_ARGUMENT: [(libc::c_long, &[u64]); 2] = [
    (libc::SYS_socket, &[libc::AF_INET as u64, libc::AF_UNIX as u64]),
    (libc::SYS_bpf, &[crate::sys::bpf::MAP_UPDATE_ELEM as u64]),
];

/// Applies the filter permanently to this thread and to those that it starts from now on. Returns
/// whether there is a filter for this architecture.
///
/// # Errors
/// When the kernel has no such filters.
pub(crate) fn apply() -> Result<bool, seccompiler::Error> {
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let program: BpfProgram = filter(architecture)?.try_into()?;
    seccompiler::apply_filter(&program).map(|()| true)
}

fn filter(architecture: TargetArch) -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().chain(OLDER_CALLS).map(|call| (*call, Vec::new())).collect();
    for (call, values) in WITH_ARGUMENT {
        let with = |value: &u64| {
            let first = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, *value)?;
            SeccompRule::new(vec![first])
        };
        rules.insert(call, values.iter().map(with).collect::<Result<_, _>>()?);
    }
    SeccompFilter::new(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow, architecture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind::PermissionDenied;

    /// Under the filter, files are read and threads are started, but programs and other sockets are
    /// not.
    #[test]
    fn what_a_gate_never_does_is_refused() {
        let filtered = std::thread::spawn(|| {
            assert!(apply().unwrap());
            assert!(std::fs::read_to_string("/proc/self/status").unwrap().contains("Seccomp:\t"));
            assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
            assert!(std::net::UdpSocket::bind("127.0.0.1:0").is_err());
            let refused = [
                std::process::Command::new("/bin/true").spawn().map(drop),
                std::net::UdpSocket::bind("[::1]:0").map(drop),
                std::os::unix::fs::symlink("/", "/tmp/tidegate-seccomp").map(drop),
            ];
            refused.map(|outcome| outcome.unwrap_err().kind())
        });
        assert_eq!(filtered.join().unwrap(), [PermissionDenied; 3]);
    }
}
