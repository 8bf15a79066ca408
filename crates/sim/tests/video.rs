//! A video sends each frame's bytes at the times of that frame, and begins again at its end:
//! against a plain list of the expected packets, and files from outside this project.

mod common;

use common::{add, chain, rate, run};
use std::path::PathBuf;
use std::sync::Arc;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, TICKS_PER_SECOND};
use tidegate_sim::input::{Video, load_video};
use tidegate_sim::source::{Emission, Playing, Spread, Traffic};

fn playing(frames: Vec<u32>, fps: u32, size: u32, spread: Spread, first: Option<u64>) -> Playing {
    let video = Arc::new(Video { frames, cut: None });
    Playing { video, fps: fps.into(), size, spread, first }
}

/// The first packets of a video: ticks since the start, and bytes.
fn packets(playing: &Playing, name: &str, count: usize) -> Vec<(u64, u32)> {
    let mut emission = Emission::new(Traffic::Video(playing.clone()), Rng::named(1, name));
    let mut at = 0;
    let mut next = || {
        let (gap, len) = emission.next_packet().unwrap();
        at += gap.ticks();
        (at, len)
    };
    (0..count).map(|_| next()).collect()
}

/// The expected packets, frame by frame, from the frame `first` on, which begins after `phase`
/// ticks.
fn expected(playing: &Playing, first: usize, phase: u64, count: usize) -> Vec<(u64, u32)> {
    let fps = playing.fps as u64;
    let (mut sent, mut free_at) = (Vec::new(), 0);
    let frames = playing.video.frames.iter().cycle().skip(first);
    for (nth, bytes) in frames.enumerate() {
        let begins = phase + nth as u64 * TICKS_PER_SECOND / fps;
        let mut sizes = vec![playing.size; (bytes / playing.size) as usize];
        sizes.extend(Some(bytes % playing.size).filter(|rest| *rest > 0));
        let interval = TICKS_PER_SECOND / fps;
        for (ix, len) in sizes.iter().enumerate() {
            let at = match playing.spread {
                Spread::Frame => begins + interval * ix as u64 / sizes.len() as u64,
                Spread::Peak(peak) => {
                    let at = begins.max(free_at);
                    free_at = at + peak.time_for(*len).ticks();
                    at
                }
            };
            sent.push((at, *len));
        }
        if sent.len() >= count {
            break;
        }
    }
    sent.truncate(count);
    sent
}

/// Asserts that the packets and times are equal, except for rounding.
fn assert_alike(sent: &[(u64, u32)], expected: &[(u64, u32)], rounded: u64) {
    assert_eq!(sent.len(), expected.len());
    for (ix, (one, other)) in sent.iter().zip(expected).enumerate() {
        assert_eq!(one.1, other.1, "packet {ix}");
        assert!(one.0.abs_diff(other.0) <= rounded, "packet {ix}: {one:?} {other:?}");
    }
}

fn frames(rng: &mut Rng) -> Vec<u32> {
    let mut frame = || [0, 0, 1, 700, 1500, 1501, 20_000][rng.below(7) as usize];
    let mut frames: Vec<u32> = (0..30).map(|_| frame()).collect();
    frames.push(40_000);
    frames
}

#[test]
fn every_frame_is_sent_in_its_time() {
    let mut late = 0;
    for seed in 0..60 {
        let mut rng = Rng::named(seed, "video");
        let fps = [1, 24, 25, 30, 60][rng.below(5) as usize];
        let spread = match rng.below(3) {
            0 => Spread::Frame,
            // The second is too slow for the largest frames.
            1 => Spread::Peak(rate(400_000_000)),
            _ => Spread::Peak(rate(3_000_000)),
        };
        let size = [1, 576, 1500, 100_000][rng.below(4) as usize];
        let first = rng.below(31);
        let playing = playing(frames(&mut rng), fps, size, spread, Some(first));
        let sent = packets(&playing, "a", 500);
        // A frame's begin and a packet's share of its interval are rounded down, each.
        assert_alike(&sent, &expected(&playing, first as usize, 0, 500), 2);
        if let Spread::Peak(peak) = spread {
            let apart = sent.windows(2).all(|pair| pair[0].0 + peak.time_for(pair[0].1).ticks() <= pair[1].0);
            assert!(apart, "seed {seed}");
            late +=
                usize::from(sent.windows(2).any(|pair| {
                    pair[1].1 == size && pair[1].0 - pair[0].0 == peak.time_for(pair[0].1).ticks()
                }));
        }
    }
    assert!(late > 10, "{late}");
}

/// Without a first frame each flow begins with its own, at an instant of its first interval.
#[test]
fn flows_begin_at_places_of_their_own() {
    let mut rng = Rng::named(1, "places");
    // Every frame has a size of its own, and packets take whole frames.
    let sizes: Vec<u32> = (0..200).map(|nth| 1000 + nth).collect();
    let playing = playing(sizes.clone(), 25, 100_000, Spread::Frame, None);
    let mut begun = std::collections::BTreeSet::new();
    for flow in 0..40 {
        let name = format!("flow/f{flow}/{}", rng.below(1 << 40));
        let sent = packets(&playing, &name, 450);
        let (phase, first) = (sent[0].0, sent[0].1 - 1000);
        assert!(phase < TICKS_PER_SECOND / 25);
        assert_alike(&sent, &expected(&playing, first as usize, phase, 450), 2);
        assert_eq!(sent, packets(&playing, &name, 450));
        begun.insert((first, phase));
    }
    assert_eq!(begun.len(), 40);
    let firsts: std::collections::BTreeSet<_> = begun.iter().map(|(first, _)| first).collect();
    assert!(firsts.len() > 20, "{}", firsts.len());
}

/// In a network: the bytes that a video of whole seconds sends within whole seconds are known
/// exactly.
#[test]
fn a_network_carries_the_bytes_of_its_videos() {
    let frames: Vec<u32> = (0..50).map(|nth| 977 * (nth % 7)).collect();
    let total: u64 = frames.iter().map(|bytes| u64::from(*bytes)).sum();
    for spread in [Spread::Frame, Spread::Peak(rate(20_000_000))] {
        let mut network = chain(1, 50_000_000, Span::ZERO, "fifo", Span::from_secs(6));
        let traffic = Traffic::Video(playing(frames.clone(), 25, 1000, spread, None));
        (0..5).for_each(|_| add(&mut network, 0..1, None, traffic.clone()));
        let world = run(&network, 1);
        for record in world.records() {
            // Three times the file of two seconds. Packets sent later than the phase fall after the
            // end of the run.
            assert!(record.sent.1.abs_diff(3 * total) <= 2 * 6000, "{} of {}", record.sent.1, 3 * total);
        }
    }
}

#[test]
fn videos_of_others_send_at_their_known_rates() {
    for (name, fps, count, mean, most) in [
        ("Terse_Jurassic.dat.gz", 25, 89_998, 3831.5, 16_745),
        ("silence-h264-cif-q10.movietrace.data.gz", 30, 53_997, 59_447.0, u32::MAX),
        ("starwars-intraframe.frames.txt.gz", 24, 171_000, 27_791.2, 78_459),
        ("longmemo-videoVBR.txt", 25, 1000, 122.7, 389),
    ] {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/video").join(name);
        if !path.exists() {
            println!("skipped: no {name} beside the repository");
            continue;
        }
        let video = load_video(&path).unwrap();
        let bytes: u64 = video.frames.iter().map(|bytes| u64::from(*bytes)).sum();
        assert_eq!((video.frames.len(), video.cut), (count, None), "{name}");
        assert!((bytes as f64 / count as f64 - mean).abs() < mean * 1e-4 + 0.06, "{name}: {bytes}");
        assert!(*video.frames.iter().max().unwrap() <= most, "{name}");
        // Once through the file, packet by packet.
        let packets_of = |bytes: &u32| u64::from(bytes.div_ceil(1500));
        let count = video.frames.iter().map(packets_of).sum::<u64>() as usize;
        let playing = Playing {
            video: Arc::new(video),
            fps: f64::from(fps),
            size: 1500,
            spread: Spread::Frame,
            first: Some(0),
        };
        let sent = packets(&playing, name, count);
        assert_eq!(sent.iter().map(|(_, len)| u64::from(*len)).sum::<u64>(), bytes);
        let seconds = sent[count - 1].0 as f64 / TICKS_PER_SECOND as f64;
        let whole = playing.video.frames.len() as f64 / f64::from(fps);
        assert!(seconds < whole && seconds > whole - 1.0, "{name}: {seconds} of {whole}");
    }
}
