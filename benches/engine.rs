//! Explanations in the gate's engine: what `tidegate gate explain` takes of a frame.
//!
//! `cargo bench --package tidegate-gate --features bench --bench engine -- MODE MBIT FRAMES` sends
//! frames through the engine in virtual time, without a device, under an instruction counter;
//! subtract two runs of different length to take out the set-up. MODE is `explained`, `plain`
//! (without explanations) or `nothing` (the frames alone, without the gate). It prints frames that
//! were sent, and those that were dropped.
//!
//! Twenty circuits have ten conversations each: eight downloads and an upload by TCP with time
//! stamps, and a call. Data come at random to 85 % of the line, which has MBIT in each direction.
//! Seven of ten segments are full (1,514 bytes), and the others have any length. Every second
//! segment is acknowledged 20 ms after its start, with an echo of its time stamp, and the next segment
//! echoes that of the acknowledgement.

use std::collections::VecDeque;
use std::hint::black_box;
use std::process::ExitCode;
use tidegate_core::classifier::rules::Direction;
use tidegate_core::rng::Rng;
use tidegate_core::units::{Span, Time};
use tidegate_formats::GateFile;
use tidegate_gate::virtual_gate::{Gate, GatePlan};

const CIRCUITS: u64 = 20;
const DOWNLOADS: u16 = 8;
const FIRST_PORT: u16 = 5000;
const LONGEST: usize = 1514;
/// Bytes of a frame's headers, with TCP's time stamps.
const HEADERS: usize = 66;
const CALL: usize = 214;
/// Each circuit has a call in both directions, of a frame in 20 ms.
const CALL_GAP: Span = Span::from_micros(20_000 / (2 * CIRCUITS));
const ROUND_TRIP: Span = Span::from_millis(20);
/// Share of the downloads, of the line in their direction; uploads have a fourth of it.
const LOAD: f64 = 0.85;
/// No segmentation is left to do.
const PLAIN: [u8; 10] = [0; 10];

/// One end of a conversation sends: from inside to outside, or back.
#[derive(Clone, Copy)]
struct Conversation {
    circuit: u8,
    port: u16,
    protocol: u8,
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Frames are written into one buffer, whose payload never changes.
struct Frames {
    buffer: [u8; LONGEST],
}

impl Frames {
    /// A frame of `length` bytes with a time stamp in milliseconds, and the one that it echoes.
    fn write(
        &mut self,
        direction: Direction,
        Conversation { circuit, port, protocol }: Conversation,
        length: usize,
        stamps: [u32; 2],
    ) -> &[u8] {
        let (inside, outside) = (([10, 0, 0, circuit], port), ([192, 0, 2, 1], 443));
        let (from, to) = if direction == Direction::Up { (inside, outside) } else { (outside, inside) };
        let frame = &mut self.buffer[..length];
        frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        frame[14..26].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0]);
        frame[16..18].copy_from_slice(&((length - 14) as u16).to_be_bytes());
        frame[26..30].copy_from_slice(&from.0);
        frame[30..34].copy_from_slice(&to.0);
        frame[34..36].copy_from_slice(&from.1.to_be_bytes());
        frame[36..38].copy_from_slice(&to.1.to_be_bytes());
        if protocol == UDP {
            frame[38..40].copy_from_slice(&((length - 34) as u16).to_be_bytes());
            return frame;
        }
        frame[38..46].fill(0);
        // 32 bytes of header, of which 12 are two no-operations and the time stamps; an ACK.
        frame[46..58].copy_from_slice(&[0x80, 0x10, 255, 255, 0, 0, 0, 0, 1, 1, 8, 10]);
        frame[58..62].copy_from_slice(&stamps[0].to_be_bytes());
        frame[62..66].copy_from_slice(&stamps[1].to_be_bytes());
        frame
    }
}

/// An acknowledgement that is yet to be sent.
struct Acknowledgement {
    at: Time,
    direction: Direction,
    of: Conversation,
    echoed: u32,
}

/// Data of all conversations in a direction.
struct Data {
    direction: Direction,
    next: Time,
    /// Mean time between two segments.
    gap: Span,
    count: u64,
}

impl Data {
    fn new(direction: Direction, share: f64, line: f64) -> Data {
        let mean = 0.7 * LONGEST as f64 + 0.3 * (HEADERS + LONGEST) as f64 / 2.0;
        Data {
            direction,
            next: Time::ORIGIN,
            gap: Span::from_secs_f64(mean * 8.0 / (share * line)),
            count: 0,
        }
    }
}

fn gate(line: u64) -> Result<Gate, String> {
    let text = format!(
        "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"{line}mbit\", down = \"{line}mbit\" }}\n\
         [[class]]\nname = \"site\"\nscheduler = \"wf2q-plus\"\nceiling = \"{line}mbit\"\n\
         [[flow]]\nname = \"plans\"\ncircuits = \"circuits.csv\"\n"
    );
    let folder = std::env::temp_dir().join(format!("tidegate-engine-{}", std::process::id()));
    let lines = (0..CIRCUITS).map(|circuit| {
        let rate = line.div_ceil(CIRCUITS);
        format!("c{circuit},10.0.0.{circuit},site,{rate}mbit,{rate}mbit,{}mbit,{}mbit\n", 4 * rate, 4 * rate)
    });
    let header = "name,addresses,class,up_reserve,down_reserve,up_ceiling,down_ceiling\n";
    let list = std::iter::once(header.to_owned()).chain(lines).collect::<String>();
    let write =
        || std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join("circuits.csv"), list));
    write().map_err(|error| error.to_string())?;
    let file = GateFile::parse(&text, &folder.join("gate.toml").display().to_string(), &[]);
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    let file = file.map_err(|errors| errors.to_string())?;
    Gate::new(&GatePlan::of(&file), 1536).map_err(|refused| refused.0)
}

fn send(mut gate: Option<Gate>, line: u64, most: u64) -> [u64; 2] {
    let bits = line as f64 * 1e6;
    let mut rng = Rng::named(1, "frames");
    let mut frames = Frames { buffer: [0; LONGEST] };
    let mut data = [Data::new(Direction::Up, LOAD / 4.0, bits), Data::new(Direction::Down, LOAD, bits)];
    let mut acknowledgements = VecDeque::<Acknowledgement>::new();
    let (mut call, mut calls) = (Time::ORIGIN, 0);
    let mut before = Time::ORIGIN;
    // The latest time stamp of an acknowledgement, by circuit and port.
    let mut heard = [[0; DOWNLOADS as usize + 1]; CIRCUITS as usize];
    for _ in 0..most {
        let [up, down] = &data;
        let acknowledged = acknowledgements.front().map_or(Time::NEVER, |one| one.at);
        let now = up.next.min(down.next).min(acknowledged).min(call);
        let stamp = (now.since(Time::ORIGIN).ticks() / Span::from_millis(1).ticks()) as u32 + 1;
        let (direction, frame) = if now == acknowledged
            && let Some(one) = acknowledgements.pop_front()
        {
            heard[usize::from(one.of.circuit)][usize::from(one.of.port - FIRST_PORT)] = stamp;
            (one.direction, frames.write(one.direction, one.of, HEADERS, [stamp, one.echoed]))
        } else if now == call {
            let of = Conversation { circuit: (calls / 2 % CIRCUITS) as u8, port: 5060, protocol: UDP };
            let direction = Direction::BOTH[(calls % 2) as usize];
            calls += 1;
            call += CALL_GAP;
            (direction, frames.write(direction, of, CALL, [0; 2]))
        } else {
            let one = &mut data[usize::from(up.next > down.next)];
            let draw = rng.below(10 * CIRCUITS * u64::from(DOWNLOADS));
            let (full, of) = (draw % 10 < 7, draw / 10);
            let ix = if one.direction == Direction::Up { 0 } else { 1 + (of / CIRCUITS) as u16 };
            let of = Conversation { circuit: (of % CIRCUITS) as u8, port: FIRST_PORT + ix, protocol: TCP };
            let echoed = heard[usize::from(of.circuit)][usize::from(ix)];
            let any = HEADERS as u64 + rng.below((LONGEST - HEADERS) as u64 + 1);
            let length = if full { LONGEST } else { any as usize };
            one.next += rng.exponential(one.gap);
            one.count += 1;
            if one.count.is_multiple_of(2) {
                let back = Direction::BOTH[1 - one.direction as usize];
                let at = now + ROUND_TRIP;
                acknowledgements.push_back(Acknowledgement { at, direction: back, of, echoed: stamp });
            }
            (one.direction, frames.write(one.direction, of, length, [stamp, echoed]))
        };
        let Some(gate) = &mut gate else {
            black_box(frame);
            continue;
        };
        gate.wait(now.since(before));
        before = now;
        gate.receive(direction, &PLAIN, frame, 0);
        Direction::BOTH.into_iter().for_each(|direction| gate.send(direction, true));
    }
    let counts = gate.map_or([[0; 2]; 2], |gate| Direction::BOTH.map(|direction| gate.counts(direction)));
    [0, 1].map(|of| counts.iter().map(|one| one[of]).sum())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [mode, line, frames] = &words[..] else {
        eprintln!("engine: MODE MBIT FRAMES");
        return ExitCode::FAILURE;
    };
    let (Ok(line), Ok(frames)) = (line.parse(), frames.parse()) else {
        eprintln!("engine: MBIT and FRAMES are numbers");
        return ExitCode::FAILURE;
    };
    let gate = match mode.as_str() {
        "explained" => gate(line).map(Some),
        "plain" => gate(line).map(|gate| Some(gate.without_explanations())),
        "nothing" => Ok(None),
        _ => Err(format!("{mode} is none of explained, plain, nothing")),
    };
    match gate.map(|gate| send(gate, line, frames)) {
        Ok([sent, dropped]) => println!("{frames} {sent} {dropped}"),
        Err(message) => {
            eprintln!("engine: {message}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
