//! Policies of a gate for queueing disciplines of Linux.

/// The port of a gate whose queues have policies of their own, and a class with classes in it.
pub(super) const PORT: &str = "wf2q-plus";
/// The default of a port and of a class, where it has to be stated.
pub(super) const USUAL: &str = "wf2q-plus + codel(scope=flow)";
/// Classes by their `prio`.
pub(super) const BY_PRIO: &str = "strict-priority";
/// Turns among hosts, and CoDel.
pub(super) const HOSTS_IN_LINUX: &str = "drr(form=linux) + codel(scope=flow, form=linux)";

/// A line of packets with a limit, as `100p`.
pub(super) fn line(limit: &str) -> String {
    format!("fifo + drop-tail(limit={limit})")
}

/// SFQ as in Linux.
pub(super) fn sfq_in_linux(quantum: u64) -> String {
    format!("drr(quantum={quantum}B, form=linux)")
}

/// SFQ: turns among conversations.
pub(super) fn sfq(quantum: u64) -> String {
    format!("drr(quantum={quantum}B)")
}

/// FQ-CoDel with these parameters.
pub(super) fn fq_codel(parameters: &[String]) -> String {
    match parameters {
        [] => "fq-codel".to_owned(),
        some => format!("fq-codel({})", some.join(", ")),
    }
}

/// FQ-CoDel as in Linux with these parameters.
pub(super) fn fq_codel_in_linux(parameters: &[String]) -> String {
    fq_codel(&[&["form=linux".to_owned()], parameters].concat())
}
