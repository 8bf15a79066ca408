//! The parameters of TCP.

use super::congestion::{CongestionControl, CongestionControlKind};
use crate::packet::Mark;
use crate::params::{MarkResponse, parameters, words};
use crate::units::Span;

/// ECT(0): the sender of the packet answers to marks (RFC 3168, section 5).
const ECT_0: Mark = Mark::from_ip(0, 0b10);
/// ECT(1): it answers to every mark (RFC 9331, section 4).
const ECT_1: Mark = Mark::from_ip(0, 0b01);

words! {
    /// The source of the defaults of other keys.
    pub enum Stack {
        /// Linux 6.1 as it is set by default
        Linux = "linux",
        /// RFC 5681 and its companions: bytes, no time stamps, no handshake, nothing delayed
        Rfc = "rfc",
    }
}

words! {
    /// Loss recovery: detection and repair of losses.
    pub enum LossRecovery {
        /// The SACK scoreboard (RFC 2018, RFC 6675)
        Sack = "sack",
        /// Losses by time, with probes of the tail (RACK-TLP, RFC 8985)
        Rack = "rack",
        /// Fast recovery that goes on at partial acknowledgements (RFC 6582)
        NewReno = "newreno",
        /// Fast recovery that the first new acknowledgement ends (RFC 2581)
        Reno1990 = "reno-1990",
    }
}

impl LossRecovery {
    /// Returns true if the receiver reports data that have arrived out of order.
    pub(super) fn uses_sack(self) -> bool {
        matches!(self, LossRecovery::Sack | LossRecovery::Rack)
    }

    /// Returns true if the receiver reports data that have arrived twice (D-SACK, RFC 2883).
    pub(super) fn uses_dsack(self) -> bool {
        self == LossRecovery::Rack
    }
}

words! {
    /// Details of `rack` in which Linux departs from RFC 8985.
    pub enum RackForm {
        /// A segment is late against the round trip of the transmission that left last (section 6.2), and
        /// an acknowledgement of new data restarts the retransmission timer (section 8)
        Rfc = "rfc",
        /// Against that of the last segment acknowledged, or SACKed without one; with the reordering or
        /// the probe timer running, the timeout counts from the first segment's last transmission
        Linux = "linux",
    }
}

words! {
    /// Detection of needless timeouts: F-RTO (RFC 5682).
    pub enum Frto {
        /// New data follow the first acknowledgement after a timeout, and tell whether it was needless
        On = "on",
        /// All that counts as lost is sent again
        Off = "off",
    }
}

words! {
    /// Unit in which the window grows.
    pub enum Growth {
        /// Bytes, at most a segment for each acknowledgement in slow start (RFC 5681)
        Bytes = "bytes",
        /// Whole segments, for all that an acknowledgement reports, as Linux counts
        Segments = "segments",
    }
}

words! {
    /// The end of slow start.
    pub enum SlowStart {
        /// At the slow start threshold (RFC 5681)
        Standard = "standard",
        /// Also when the round trip grows, or acknowledgements span half of it: HyStart as in Linux
        Hystart = "hystart",
    }
}

words! {
    /// The way in which a loss or a mark reduces the window.
    pub enum Reduction {
        /// At once
        AtOnce = "at-once",
        /// Over a round trip, by what has arrived: proportional rate reduction (RFC 6937)
        Prr = "prr",
    }
}

words! {
    /// Time stamps (RFC 7323).
    pub enum Timestamps {
        /// Every acknowledgement of new data measures a round trip
        On = "on",
        /// One segment is measured at a time, and none that was sent again
        Off = "off",
    }
}

words! {
    /// The quantity that `minimum_rto` limits.
    pub enum RtoFloor {
        /// The retransmission timeout (RFC 6298)
        Timeout = "timeout",
        /// The margin for the variation of round trips, as in Linux: the timeout is longer than a
        /// round trip by at least `minimum_rto`
        Variation = "variation",
    }
}

words! {
    /// The opening of a connection.
    pub enum Handshake {
        /// A round trip of a packet of `header` bytes comes before the first data (RFC 9293)
        On = "on",
        /// The first packet has data
        Off = "off",
    }
}

words! {
    /// The acknowledgement of a segment that ends what the application has written (PSH).
    pub enum PushAcks {
        /// It is not delayed, as in Linux for an application that reads at once
        On = "on",
        /// It is delayed as any other
        Off = "off",
    }
}

words! {
    /// The window that the receiver advertises.
    pub enum Autotuning {
        /// It opens with the data that arrive, as far as the buffer for those of a round trip has
        /// room, as in Linux (`tcp_moderate_rcvbuf`)
        On = "on",
        /// It is always the full `receiver_window`
        Off = "off",
    }
}

words! {
    /// ECN capability of both ends (RFC 3168).
    pub enum Ecn {
        /// Both ends are ECN-capable
        On = "on",
        /// Neither end is ECN-capable
        Off = "off",
    }
}

parameters! {
    /// Parameters of TCP.
    pub struct TcpParams {
        /// Defaults of the keys below: Linux 6.1 (linux), or the RFCs, with their default in each key's
        /// help (rfc)
        stack: Stack = Stack::Linux,
        /// Congestion control, which sets the congestion window
        congestion: CongestionControlKind = CongestionControlKind::default(),
        /// Loss recovery: losses by time and tail loss probes, RFC 8985 (rack), the SACK scoreboard of
        /// RFC 6675 (sack, the RFCs' default), RFC 6582 (newreno), or the fast recovery of 1990 that
        /// the first new acknowledgement ends, RFC 2581 (reno-1990)
        recovery: LossRecovery = LossRecovery::Rack,
        /// Details of `rack`: as in Linux 6.1 (linux), or RFC 8985 (rfc, the RFCs' default)
        rack_form: RackForm = RackForm::Linux,
        /// New data after the first acknowledgement that follows a timeout, to see whether it was needless:
        /// F-RTO, RFC 5682. It needs `recovery` to be `rack`, and is off by default without it and in the
        /// RFCs
        frto: Frto = Frto::On,
        /// Unit in which the window grows: as in Linux (segments), or RFC 5681 (bytes, the RFCs'
        /// default, and that of a congestion control which counts no segments)
        growth: Growth = Growth::Segments,
        /// End of slow start: also by the growth of round trips, as in Linux with CUBIC (hystart), or
        /// at the threshold only, RFC 5681 (standard, the RFCs' default, and that of other controls)
        slow_start: SlowStart = SlowStart::Hystart,
        /// Reduction of the window: over a round trip, RFC 6937 (prr), which needs `recovery` to be
        /// `rack`, or RFC 5681 (at-once, the RFCs' default, and that without `rack`)
        reduction: Reduction = Reduction::Prr,
        /// Time stamps (RFC 7323), whose 12 bytes are part of `header`: every acknowledgement
        /// measures a round trip. They need `recovery` to be `rack`, and are off by default without it
        /// and in the RFCs
        timestamps: Timestamps = Timestamps::On,
        /// Handshake before the first data (RFC 9293, section 3.5); the RFCs' default is off
        handshake: Handshake = Handshake::On,
        /// Explicit congestion notification (RFC 3168): data are sent ECN-capable, and the sender
        /// responds to marks
        ecn: Ecn = Ecn::Off,
        /// Tick of the clock that measures round-trip times and timeouts; 500 ms in the 1990s
        granularity: Span = Span::from_millis(1),
        /// Least retransmission timeout, at least `granularity`; 1 s in RFC 6298
        minimum_rto: Span = Span::from_millis(200),
        /// Quantity that `minimum_rto` limits: the margin in the timeout for variation, as in Linux
        /// (variation), or the timeout, RFC 6298 (timeout, the RFCs' default)
        rto_floor: RtoFloor = RtoFloor::Variation,
        /// Time by which timers of `rack` expire later than RFC 8985 asks for; the RFCs' default is 0
        timer_slack: Span = Span::from_millis(2),
        /// Greatest retransmission timeout
        maximum_rto: Span = Span::from_secs(60),
        /// Time for which an acknowledgement is delayed to wait for a second segment, below 500 ms
        /// (RFC 5681, section 4.2); with 0, the RFCs' default, every segment is acknowledged at once
        delayed_acks: Span = Span::from_millis(40),
        /// Acknowledgements in a row that are not delayed: at the start of a connection, after a gap of
        /// more than a timeout, and when data come twice, as in Linux; two at a mark that begins an
        /// echo. The RFCs' default is 0
        quick_acks: u32 as Integer(0, 1_000) = 16,
        /// Time for which acknowledgements of data behind a gap are held back from the fourth on, to
        /// report several segments at once, as in Linux (`tcp_comp_sack_delay_ns`); at most a twentieth
        /// of the round trip. With 0, the RFCs' default, or without `delayed_acks`, none is
        compressed_sacks: Span = Span::from_millis(1),
        /// Acknowledgement at once of a segment that ends what the application has written (PSH), as
        /// in Linux for an application that reads at once; the RFCs' default is off
        push_acks: PushAcks = PushAcks::On,
        /// Initial congestion window in segments (RFC 6928); 1 or 2 in the 1990s
        initial_window: u32 as Integer(1, 1_000) = 10,
        /// Window that the receiver advertises: it opens with what arrives, up to `receiver_window`, and
        /// a segment that opens it is acknowledged at once, as in Linux (on), or it is always
        /// `receiver_window`, the RFCs' default (off)
        autotuning: Autotuning = Autotuning::On,
        /// Limit of the data in flight: what Linux's memory for sending holds in segments of 1,448
        /// bytes, or the receiver's buffer, by the RFCs' default 1 MiB
        receiver_window: u32 as Size = 2_027_200,
        /// Headers of a packet, and the size of an acknowledgement: data are `size` less this; 40 bytes
        /// by default without time stamps
        header: u32 as Size = 52,
    }
}

impl TcpParams {
    /// Gives the keys that are not given the defaults of the stack, as far as the recovery and the
    /// congestion control go with them.
    pub(super) fn with_defaults(mut self, is_given: &dyn Fn(&str) -> bool) -> TcpParams {
        let rfc = self.stack == Stack::Rfc;
        let open = |key: &str, differs: bool| differs && !is_given(key);
        if open("recovery", rfc) {
            self.recovery = LossRecovery::Sack;
        }
        let by_time = self.recovery == LossRecovery::Rack;
        let control = self.congestion.build();
        if open("growth", rfc || !control.clone().is_ok_and(|mut control| control.count_segments())) {
            self.growth = Growth::Bytes;
        }
        if open("slow_start", rfc || !control.is_ok_and(|control| control.has_hystart())) {
            self.slow_start = SlowStart::Standard;
        }
        if open("rack_form", rfc || !by_time) {
            self.rack_form = RackForm::Rfc;
        }
        if open("frto", rfc || !by_time) {
            self.frto = Frto::Off;
        }
        if open("reduction", rfc || !by_time) {
            self.reduction = Reduction::AtOnce;
        }
        if open("timestamps", rfc || !by_time) {
            self.timestamps = Timestamps::Off;
        }
        if open("handshake", rfc) {
            self.handshake = Handshake::Off;
        }
        if open("rto_floor", rfc) {
            self.rto_floor = RtoFloor::Timeout;
        }
        if open("timer_slack", rfc) {
            self.timer_slack = Span::ZERO;
        }
        if open("delayed_acks", rfc) {
            self.delayed_acks = Span::ZERO;
        }
        if open("quick_acks", rfc) {
            self.quick_acks = 0;
        }
        if open("compressed_sacks", rfc) {
            self.compressed_sacks = Span::ZERO;
        }
        if open("autotuning", rfc) {
            self.autotuning = Autotuning::Off;
        }
        if open("push_acks", rfc) {
            self.push_acks = PushAcks::Off;
        }
        if open("receiver_window", rfc) {
            self.receiver_window = 1_048_576;
        }
        if open("header", self.timestamps == Timestamps::Off) {
            self.header = 40;
        }
        self
    }

    /// Returns true if acknowledgements count the packets that came marked (RFC 9768).
    pub(super) fn counts_marks(&self) -> bool {
        self.congestion.mark_response() == MarkResponse::Each
    }

    /// The mark of packets that are ECN-capable.
    pub(super) fn capable(&self) -> Mark {
        if self.counts_marks() { ECT_1 } else { ECT_0 }
    }

    /// Returns true if all packets are ECN-capable, as those of controls that need ECN are in Linux:
    /// retransmissions, acknowledgements and those that open a connection as well.
    pub(super) fn marks_all(&self) -> bool {
        self.negotiates_ecn() && self.congestion.mark_response() != MarkResponse::Loss
    }

    /// Returns true if both ends are ECN-capable.
    pub(super) fn negotiates_ecn(&self) -> bool {
        self.ecn == Ecn::On
    }

    /// Data in a packet of `size` bytes (SMSS).
    pub(super) fn segment_size(&self, size: u32) -> u32 {
        size.saturating_sub(self.header).max(1)
    }
}
