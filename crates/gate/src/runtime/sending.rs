//! Sending threads: the forwarding thread hands a direction's frames to the kernel, and a separate
//! thread helps it.
//!
//! Most of the cost of a frame is the kernel's work to send it. While one processor is enough for
//! everything, the forwarding thread sends, and no frame waits for another thread. When that thread
//! has little processor time left, a second thread sends a [share](super::share) of the
//! conversations, and the first one receives, schedules and sends the rest. A few batches of frames
//! pass between them: a frame that was handed over cannot be overtaken by one of its conversation.

use super::share::Room;
use crate::io::{BATCH, SendSocket};
use crate::sys::clock::Clock;
use crate::sys::log::log;
use crate::sys::privileges;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use tidegate_core::units::{Span, Time};

/// Batches per direction: one that is being sent, and others that wait. Few of them are full, because
/// the forwarding thread sends a part of the frames.
const BATCHES: usize = 4;
/// Time for which the thread waits for a batch without sleeping: as long as it takes to send some.
const AWAKE: Span = Span::from_micros(100);
/// Period over which the shares of a processor are measured.
const WINDOW: Span = Span::from_millis(100);
/// The second thread starts to send when the first one uses more than this share of a processor.
const START_ABOVE: f64 = 0.7;
/// The second thread stops when both together use less than this share.
const STOP_BELOW: f64 = 0.5;

/// Frames that are sent together.
pub(super) struct Batch {
    /// The bytes of all frames, one frame after the other.
    bytes: Vec<u8>,
    /// The end of each frame in `bytes`, and the time at which it was due.
    frames: Vec<(usize, Time)>,
    /// The time at which the batch was sent.
    at: Time,
    /// The lengths of the frames that the kernel refused.
    refused: Vec<usize>,
}

impl Batch {
    fn new() -> Batch {
        Batch { bytes: Vec::new(), frames: Vec::new(), at: Time::ORIGIN, refused: Vec::new() }
    }

    fn push(&mut self, frame: &[u8], due: Time) {
        self.bytes.extend_from_slice(frame);
        self.frames.push((self.bytes.len(), due));
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let starts = std::iter::once(0).chain(self.frames.iter().map(|(end, _)| *end));
        starts.zip(&self.frames).map(|(start, (end, _))| &self.bytes[start..*end])
    }

    /// The lateness of each frame.
    pub(super) fn lateness(&self) -> impl Iterator<Item = Span> {
        self.frames.iter().map(|(_, due)| self.at.since(*due))
    }

    /// The lengths of the frames that the kernel refused.
    pub(super) fn refused(&self) -> impl Iterator<Item = usize> {
        self.refused.iter().copied()
    }

    /// Hands all frames to the kernel.
    fn send(&mut self, socket: &mut SendSocket) {
        let mut next = 0;
        while next < self.frames.len() {
            match socket.send(self.iter().skip(next)) {
                Ok(sent) => next += sent,
                Err(_) => {
                    let refused = self.iter().nth(next).map_or(0, <[u8]>::len);
                    self.refused.push(refused);
                    next += 1;
                }
            }
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
        self.refused.clear();
    }
}

/// A direction's way to a thread that sends its frames, in the order in which they are handed over.
pub(super) struct SendingThread {
    /// Its number among the thread's directions.
    direction: usize,
    /// Batches with the numbers of their directions.
    batches: Option<SyncSender<(usize, Batch)>>,
    done: Receiver<Batch>,
    free: Vec<Batch>,
    /// Time that the thread has taken to send, in ticks.
    used: Arc<AtomicU64>,
}

/// The next batch; `None` at the end. For a short time the thread does not sleep: to wake it up would
/// cost the forwarding thread a call for each batch, and might take that thread's processor from it.
fn next<T>(waiting: &Receiver<T>, clock: Clock) -> Option<T> {
    let until = clock.now() + AWAKE;
    loop {
        match waiting.try_recv() {
            Ok(batch) => return Some(batch),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) if clock.now() < until => std::hint::spin_loop(),
            Err(TryRecvError::Empty) => return waiting.recv().ok(),
        }
    }
}

impl SendingThread {
    /// Starts a thread that sends through these sockets, one for each of its directions. It ends
    /// when all of them are dropped.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub(super) fn start(mut sockets: Vec<SendSocket>, clock: Clock) -> io::Result<Vec<SendingThread>> {
        let (batches, waiting) = sync_channel::<(usize, Batch)>(BATCHES * sockets.len());
        let mut ends = Vec::new();
        let of_direction = |direction| {
            let ((finished, done), used) = (channel(), Arc::new(AtomicU64::new(0)));
            ends.push((finished, Arc::clone(&used)));
            let free = (0..BATCHES).map(|_| Batch::new()).collect();
            SendingThread { direction, batches: Some(batches.clone()), done, free, used }
        };
        let threads = (0..sockets.len()).map(of_direction).collect();
        drop(batches);
        let work = move || {
            // This thread keeps no privilege that the forwarding thread may have kept.
            if let Err(error) = privileges::drop_all(false) {
                log(&format!("warning: dropping privileges: {error}"));
            }
            while let Some((direction, mut batch)) = next(&waiting, clock) {
                let (finished, used) = &ends[direction];
                batch.at = clock.now();
                batch.send(&mut sockets[direction]);
                used.fetch_add(clock.now().since(batch.at).ticks(), Ordering::Relaxed);
                // After the gate's end nobody receives the batch.
                let _ = finished.send(batch);
            }
        };
        std::thread::Builder::new().name("send".into()).spawn(work)?;
        Ok(threads)
    }

    /// Passes each batch that was sent since the last call to `see`.
    pub(super) fn collect(&mut self, mut see: impl FnMut(&Batch)) {
        while let Ok(batch) = self.done.try_recv() {
            self.take_back(batch, &mut see);
        }
    }

    fn take_back(&mut self, mut batch: Batch, mut see: impl FnMut(&Batch)) {
        see(&batch);
        batch.clear();
        self.free.push(batch);
    }

    /// Returns true if frames that were handed over are not sent yet.
    pub(super) fn is_sending(&self) -> bool {
        self.free.len() < BATCHES
    }

    /// Its room for frames.
    pub(super) fn room(&self) -> Room {
        match self.free.len() {
            0 => Room::None,
            BATCHES => Room::All,
            _ => Room::Some,
        }
    }

    /// Hands over frames, with the times at which they were due, and returns their number: 0 while
    /// all batches are in use.
    pub(super) fn hand_over<'f>(&mut self, frames: impl Iterator<Item = (&'f [u8], Time)>) -> usize {
        let Some(mut batch) = self.free.pop() else { return 0 };
        frames.take(BATCH).for_each(|(frame, due)| batch.push(frame, due));
        let count = batch.frames.len();
        if let Some(batches) = &self.batches {
            // There is room for every batch, and the thread ends after this value.
            let _ = batches.send((self.direction, batch));
        }
        count
    }

    /// Waits until all frames that were handed over are sent, and passes each batch to `see`. Nothing
    /// can be handed over afterwards.
    pub(super) fn finish(&mut self, mut see: impl FnMut(&Batch)) {
        self.batches = None;
        while self.is_sending()
            && let Ok(batch) = self.done.recv()
        {
            self.take_back(batch, &mut see);
        }
    }

    fn used(&self) -> Span {
        Span::from_ticks(self.used.load(Ordering::Relaxed))
    }
}

/// Decides whether separate threads send.
pub(super) struct Division {
    active: bool,
    window_start: Time,
    /// CPU time that this thread had used until then, and the time that the others had taken to send.
    own: Span,
    others: Span,
}

impl Division {
    pub(super) fn new(now: Time) -> Division {
        Division { active: false, window_start: now, own: Clock::thread_time(), others: Span::ZERO }
    }

    /// Decides from the measured shares; returns true if the threads send from now on.
    pub(super) fn adapt<'t>(
        &mut self,
        now: Time,
        own: impl FnOnce() -> Span,
        threads: impl Iterator<Item = &'t SendingThread>,
    ) -> bool {
        let passed = now.since(self.window_start);
        if passed >= WINDOW {
            let others = threads.map(SendingThread::used).fold(Span::ZERO, |sum, used| sum + used);
            self.decide(passed, own(), others);
            self.window_start = now;
        }
        self.active
    }

    fn decide(&mut self, passed: Span, own: Span, others: Span) {
        let share = |now: Span, before: Span| (now - before).as_secs_f64() / passed.as_secs_f64();
        let (here, there) = (share(own, self.own), share(others, self.others));
        self.active = if self.active { here + there >= STOP_BELOW } else { here > START_ABOVE };
        (self.own, self.others) = (own, others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::offload::HEADER;
    use crate::frame::super_packet::NO_OFFLOADS;
    use crate::frame::super_packet::tests::segments;
    use std::os::unix::net::UnixDatagram;

    /// The sending thread keeps the order of a direction's frames and reports those that the kernel
    /// refuses.
    #[test]
    fn what_is_handed_over_is_sent_in_order() {
        let (near, far) = UnixDatagram::pair().unwrap();
        let clock = Clock::start();
        let mut thread = SendingThread::start(vec![SendSocket::of(near.into())], clock).unwrap().remove(0);
        let frames: Vec<Vec<u8>> = (0..500_u32).map(|number| number.to_be_bytes().repeat(20)).collect();
        let (mut next, mut seen, mut late) = (0, 0, 0);
        while seen < frames.len() {
            let due = frames[next..].iter().map(|frame| (frame.as_slice(), Time::ORIGIN));
            next += thread.hand_over(due.take(1 + next % 40));
            let mut bytes = [0; 100];
            while next > seen {
                let length = far.recv(&mut bytes).unwrap();
                let (header, frame) = bytes[..length].split_at(HEADER);
                assert_eq!((header, frame), (&NO_OFFLOADS[..], frames[seen].as_slice()));
                seen += 1;
            }
            thread.collect(|batch| {
                assert_eq!(batch.refused().count(), 0);
                late += batch.lateness().filter(|late| *late > Span::ZERO).count();
            });
        }
        drop(far);
        let lengths: Vec<usize> = std::iter::from_fn(|| {
            let mut lengths = Vec::new();
            thread.collect(|batch| lengths.extend(batch.refused()));
            (!lengths.is_empty()).then_some(lengths).or_else(|| {
                thread.hand_over([(&[7; 60][..], Time::ORIGIN)].into_iter());
                Some(Vec::new())
            })
        })
        .find(|lengths| !lengths.is_empty())
        .unwrap();
        assert!(lengths.iter().all(|length| *length == 60) && late > 0, "{lengths:?} {late}");
    }

    /// A socket whose buffer has no room for a super-packet refuses it: its frames are sent one by
    /// one.
    #[test]
    fn what_is_refused_together_is_sent_alone() {
        let (near, far) = UnixDatagram::pair().unwrap();
        let frames = segments(8);
        let receive = |count: usize| {
            let mut bytes = vec![0; 70_000];
            let messages: Vec<Vec<u8>> = (0..count)
                .map(|_| far.recv(&mut bytes).map(|length| bytes[..length].to_vec()).unwrap())
                .collect();
            messages
        };
        let buffer = near.try_clone().unwrap();
        let mut socket = SendSocket::of(near.into());
        assert_eq!(socket.send(frames.iter().map(Vec::as_slice)).unwrap(), 8);
        assert_eq!(receive(1)[0].len(), HEADER + 54 + 12 + 8 * 1448);
        rustix::net::sockopt::set_socket_send_buffer_size(&buffer, 4096).unwrap();
        let sent = socket.send(frames.iter().map(Vec::as_slice)).unwrap();
        assert!((1..8).contains(&sent), "{sent}");
        for (message, frame) in receive(sent).iter().zip(&frames) {
            assert_eq!(message[HEADER..], frame[..]);
        }
    }

    #[test]
    fn threads_send_while_one_processor_is_not_enough() {
        let mut division = Division::new(Time::ORIGIN);
        let (mut own, mut others) = (division.own, division.others);
        let mut pass = |here: u64, there: u64| {
            own += Span::from_millis(here);
            others += Span::from_millis(there);
            division.decide(WINDOW, own, others);
            division.active
        };
        let shares = [(60, 0), (75, 0), (20, 60), (10, 45), (10, 30), (60, 0), (90, 0)];
        assert_eq!(
            shares.map(|(here, there)| pass(here, there)),
            [false, true, true, true, false, false, true]
        );
    }
}
