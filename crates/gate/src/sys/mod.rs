//! Services of the operating system: clock, log, scheduling, privileges, interfaces, system calls.

pub(crate) mod bpf;
pub(crate) mod calls;
pub(crate) mod clock;
pub(crate) mod interface;
pub(crate) mod log;
pub(crate) mod memory;
pub(crate) mod notify;
pub(crate) mod privileges;
pub(crate) mod real_time;
pub(crate) mod run_folder;
pub(crate) mod seccomp;
