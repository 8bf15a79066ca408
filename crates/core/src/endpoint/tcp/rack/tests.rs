//! RACK against the pseudocode of RFC 8985, section 6, written out segment by segment.

use super::*;
use crate::endpoint::tcp::segment::MAX_BLOCKS;
use crate::rng::Rng;

const EXACT: Expiry = Expiry { form: RackForm::Rfc, slack: Span::ZERO, tick: Span::ZERO };

const MSS: u64 = 100;

/// A segment as the pseudocode has it.
#[derive(Clone, Debug)]
struct Segment {
    end_seq: u64,
    xmit_ts: Option<Time>,
    retransmitted: bool,
    lost: bool,
    sacked: bool,
}

/// The pseudocode's variables. Every segment has MSS bytes, and segment n begins at byte n · MSS.
#[derive(Default)]
struct Text {
    segments: Vec<Segment>,
    una: usize,
    rtts: Vec<Span>,
    xmit_ts: Option<Time>,
    end_seq: u64,
    rtt: Span,
    fack: u64,
    reordering_seen: bool,
    reo_wnd: Span,
}

fn sent_after(t1: Time, seq1: u64, t2: Time, seq2: u64) -> bool {
    t1 > t2 || t1 == t2 && seq1 > seq2
}

impl Text {
    fn transmit(&mut self, n: usize, now: Time) {
        if n == self.segments.len() {
            let end_seq = (n as u64 + 1) * MSS;
            self.segments.push(Segment {
                end_seq,
                xmit_ts: Some(now),
                retransmitted: false,
                lost: false,
                sacked: false,
            });
        } else {
            let segment = &mut self.segments[n];
            (segment.xmit_ts, segment.retransmitted, segment.lost) = (Some(now), true, false);
        }
    }

    fn min_rtt(&self) -> Span {
        self.rtts.iter().copied().min().unwrap_or(Span::ZERO)
    }

    /// Steps 1 to 3; `newly` are the segments newly acknowledged or SACKed, in order, each with the
    /// time of its last transmission.
    fn update(&mut self, newly: &[usize], now: Time) {
        let mut best: Option<(Time, u64)> = None;
        for n in newly {
            let Segment { end_seq, retransmitted, xmit_ts, .. } = self.segments[*n].clone();
            if end_seq > self.fack {
                self.fack = end_seq;
            } else if end_seq < self.fack && !retransmitted {
                self.reordering_seen = true;
            }
            let xmit_ts = xmit_ts.unwrap();
            let rtt = now.since(xmit_ts);
            if retransmitted && !self.rtts.is_empty() && rtt < self.min_rtt() {
                continue;
            }
            if !retransmitted {
                self.rtts.push(rtt);
            }
            if best.is_none_or(|(ts, seq)| sent_after(xmit_ts, end_seq, ts, seq)) {
                best = Some((xmit_ts, end_seq));
            }
        }
        if let Some((xmit_ts, end_seq)) = best {
            self.rtt = now.since(xmit_ts);
            if self.xmit_ts.is_none_or(|ts| sent_after(xmit_ts, end_seq, ts, self.end_seq)) {
                (self.xmit_ts, self.end_seq) = (Some(xmit_ts), end_seq);
            }
        }
    }

    fn outstanding(&self) -> impl Iterator<Item = usize> {
        (self.una..self.segments.len()).filter(|n| !self.segments[*n].sacked)
    }

    fn segs_sacked(&self) -> usize {
        self.segments[self.una..].iter().filter(|segment| segment.sacked).count()
    }

    fn update_reo_wnd(&self, srtt: Span, is_recovering: bool) -> Span {
        if !self.reordering_seen && (is_recovering || self.segs_sacked() >= 3) {
            return Span::ZERO;
        }
        Span::from_ticks(self.min_rtt().ticks() / 4).min(srtt)
    }

    /// RACK_detect_loss(); returns the timeout.
    fn detect_loss(&mut self, now: Time, srtt: Span, is_recovering: bool) -> Span {
        let mut timeout = Span::ZERO;
        self.reo_wnd = self.update_reo_wnd(srtt, is_recovering);
        for n in self.outstanding().collect::<Vec<_>>() {
            let segment = &mut self.segments[n];
            let (Some(rack), Some(sent)) = (self.xmit_ts, segment.xmit_ts) else { continue };
            if segment.lost || !sent_after(rack, self.end_seq, sent, segment.end_seq) {
                continue;
            }
            let until = sent + self.rtt + self.reo_wnd;
            if until <= now {
                segment.lost = true;
            } else {
                timeout = timeout.max(until.since(now));
            }
        }
        timeout
    }

    /// RACK_mark_losses_on_RTO().
    fn mark_losses_on_rto(&mut self, now: Time, srtt: Span) {
        self.reo_wnd = self.update_reo_wnd(srtt, true);
        for n in self.outstanding().collect::<Vec<_>>() {
            let segment = &mut self.segments[n];
            let until = segment.xmit_ts.unwrap() + self.rtt + self.reo_wnd;
            segment.lost |= n == self.una || until <= now;
        }
    }
}

/// Number of occurrences of each kind of event.
#[derive(Debug, Default)]
struct Seen {
    lost: usize,
    again: usize,
    reordered: usize,
    waited: usize,
    timeouts: usize,
}

/// Compares both at random sends, losses, arrivals in any order and timeouts.
fn compare(seed: u64, seen: &mut Seen) {
    let mut rng = Rng::named(seed, "rack");
    let (mut rack, mut text) = (Rack::new(EXACT, Span::ZERO), Text::default());
    let srtt = Span::from_millis(5 + rng.below(60));
    let (most_late, loss) = (rng.below(30_000), rng.unit() * 0.3);
    let mut now = Time::ORIGIN;
    // Segments in flight: arrival time, and index of the segment.
    let mut flying: Vec<(Time, usize)> = Vec::new();
    let mut has: BTreeSet<usize> = BTreeSet::new();
    for _ in 0..400 {
        now += Span::from_micros(1 + rng.below(4000));
        let arrived: Vec<usize> = flying.iter().filter(|(at, _)| *at <= now).map(|(_, n)| *n).collect();
        flying.retain(|(at, _)| *at > now);
        has.extend(&arrived);
        let una = (0..).find(|n| !has.contains(n)).unwrap();
        let is_recovering = rng.chance(0.3);
        if !arrived.is_empty() && rng.chance(0.9) {
            // Blocks of any three segments that have arrived, in any order.
            let beyond: Vec<usize> = has.range(una..).copied().collect();
            let count = rng.below(1 + MAX_BLOCKS as u64).min(beyond.len() as u64);
            let some: Vec<usize> =
                (0..count).map(|_| beyond[rng.below(beyond.len() as u64) as usize]).collect();
            let blocks: Vec<Block> = some
                .iter()
                .map(|n| {
                    let end = (*n..).find(|end| !has.contains(end)).unwrap() as u64 * MSS;
                    Block { start: *n as u64 * MSS, end }
                })
                .collect();
            let is_covered =
                |n: &usize| *n < una || blocks.iter().any(|b| (b.start..b.end).contains(&(*n as u64 * MSS)));
            let newly: Vec<usize> = text.outstanding().filter(is_covered).collect();
            text.update(&newly, now);
            for n in newly {
                text.segments[n].sacked = n >= una;
            }
            text.una = una;
            rack.acknowledged(una as u64 * MSS, blocks.into_iter(), now);
        }
        if rng.chance(0.02) && text.outstanding().next().is_some() {
            text.mark_losses_on_rto(now, srtt);
            rack.timed_out(now, Some(srtt));
            assert_eq!(rack.reorder_at(), Time::NEVER);
            seen.timeouts += 1;
        } else {
            let before = text.outstanding().filter(|n| text.segments[*n].lost).count();
            let timeout = text.detect_loss(now, srtt, is_recovering);
            let found = rack.detect_losses(now, Some(srtt), is_recovering);
            let after = text.outstanding().filter(|n| text.segments[*n].lost).count();
            assert_eq!(found.any, after > before);
            let at = if timeout == Span::ZERO { Time::NEVER } else { now + timeout };
            assert_eq!(rack.reorder_at(), at, "{seed}");
            seen.lost += after - before;
            seen.waited += usize::from(at != Time::NEVER);
        }
        assert_eq!((rack.rtt, rack.fack), (text.rtt, text.fack));
        assert_eq!(rack.segs_sacked() as usize, text.segs_sacked());
        let lost: Vec<usize> = text.outstanding().filter(|n| text.segments[*n].lost).collect();
        assert_eq!(rack.lost.iter().map(|start| (start / MSS) as usize).collect::<Vec<_>>(), lost, "{seed}");
        let in_network = text.outstanding().filter(|n| !text.segments[*n].lost).count();
        assert_eq!(rack.pipe(), in_network as u64 * MSS);
        assert_eq!(rack.next_lost(), lost.first().map(|n| (*n as u64 * MSS, (*n as u64 + 1) * MSS)));
        let again = lost.into_iter().take(rng.below(3) as usize);
        let new = text.segments.len()..text.segments.len() + rng.below(3) as usize;
        for n in again.chain(new).collect::<Vec<_>>() {
            seen.again += usize::from(n < text.segments.len());
            text.transmit(n, now);
            rack.sent(n as u64 * MSS, (n as u64 + 1) * MSS, now);
            if !rng.chance(loss) {
                flying.push((now + Span::from_micros(10_000 + rng.below(1 + most_late)), n));
            }
        }
    }
    seen.reordered += usize::from(text.reordering_seen);
}

#[test]
fn losses_are_those_of_the_text() {
    let mut seen = Seen::default();
    (0..200).for_each(|seed| compare(seed, &mut seen));
    assert!(seen.lost > 5000 && seen.again > 5000 && seen.waited > 2000, "{seen:?}");
    assert!(seen.reordered > 50 && seen.timeouts > 500, "{seen:?}");
}

/// Segments sent before a reduction of the window give no reason for another one.
#[test]
fn losses_before_and_after_a_reduction_are_told_apart() {
    let ms = |n| Time::ORIGIN + Span::from_millis(n);
    let block = |n: u64| [Block { start: n * MSS, end: (n + 1) * MSS }].into_iter();
    let mut rack = Rack::new(EXACT, Span::ZERO);
    (0..3).for_each(|n| rack.sent(n * MSS, (n + 1) * MSS, ms(0)));
    rack.acknowledged(0, block(2), ms(10));
    rack.reduced();
    assert_eq!(rack.detect_losses(ms(10), None, true), Losses { any: true, later: false, again: false });
    rack.sent(0, MSS, ms(10));
    rack.sent(3 * MSS, 4 * MSS, ms(11));
    rack.acknowledged(0, block(3), ms(21));
    assert_eq!(rack.detect_losses(ms(21), None, true), Losses { any: true, later: true, again: true });
}
