//! The parameters of TCP.

use super::congestion::CongestionControlKind;
use crate::packet::Mark;
use crate::params::{MarkResponse, parameters, words};
use crate::units::Span;

/// ECT(0): the sender of the packet answers to marks (RFC 3168, section 5).
const ECT_0: Mark = Mark::from_ip(0, 0b10);
/// ECT(1): it answers to every mark (RFC 9331, section 4).
const ECT_1: Mark = Mark::from_ip(0, 0b01);

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
        /// Congestion control, which sets the congestion window
        congestion: CongestionControlKind = CongestionControlKind::default(),
        /// Loss recovery: the SACK scoreboard of RFC 6675 (sack), losses by time and tail loss
        /// probes, RFC 8985 (rack), RFC 6582 (newreno), or the fast recovery of 1990 that the first
        /// new acknowledgement ends, RFC 2581 (reno-1990)
        recovery: LossRecovery = LossRecovery::Sack,
        /// Unit in which the window grows: RFC 5681 (bytes), or as in Linux (segments)
        growth: Growth = Growth::Bytes,
        /// End of slow start: at the threshold, RFC 5681 (standard), or also by the growth of round
        /// trips, as in Linux (hystart)
        slow_start: SlowStart = SlowStart::Standard,
        /// Reduction of the window: RFC 5681 (at-once), or over a round trip, RFC 6937 (prr), which
        /// needs `recovery` to be `rack`
        reduction: Reduction = Reduction::AtOnce,
        /// Time stamps (RFC 7323), whose 12 bytes are part of `header`: every acknowledgement
        /// measures a round trip. They need `recovery` to be `rack`
        timestamps: Timestamps = Timestamps::Off,
        /// Handshake before the first data (RFC 9293, section 3.5)
        handshake: Handshake = Handshake::Off,
        /// Explicit congestion notification (RFC 3168): data are sent ECN-capable, and the sender
        /// responds to marks
        ecn: Ecn = Ecn::Off,
        /// Tick of the clock that measures round-trip times and timeouts; 500 ms in the 1990s
        granularity: Span = Span::from_millis(1),
        /// Least retransmission timeout, at least `granularity`; 1 s in RFC 6298
        minimum_rto: Span = Span::from_millis(200),
        /// Quantity that `minimum_rto` limits: the timeout, RFC 6298 (timeout), or the margin in it
        /// for variation, as in Linux (variation)
        rto_floor: RtoFloor = RtoFloor::Timeout,
        /// Time by which timers of `rack` expire later than RFC 8985 asks for; 2 ms in Linux
        timer_slack: Span = Span::ZERO,
        /// Greatest retransmission timeout
        maximum_rto: Span = Span::from_secs(60),
        /// Time for which an acknowledgement is delayed to wait for a second segment, below 500 ms
        /// (RFC 5681, section 4.2); without it, every segment is acknowledged at once
        delayed_acks: Option<Span>,
        /// Acknowledgements at the start of a connection that are not delayed; 16 in Linux
        quick_acks: u32 as Integer(0, 1_000) = 0,
        /// Initial congestion window in segments (RFC 6928); 1 or 2 in the 1990s
        initial_window: u32 as Integer(1, 1_000) = 10,
        /// Receiver's buffer, which limits the data in flight
        receiver_window: u32 as Size = 1_048_576,
        /// Headers of a packet, and the size of an acknowledgement: data are `size` less this
        header: u32 as Size = 40,
    }
}

impl TcpParams {
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
