//! The number of packets that a network may hold is looked at wherever packets are made.

#[path = "common/pairs/mod.rs"]
mod pairs;

use pairs::{FEATURES, KEYS, scenario};
use std::path::{Path, PathBuf};
use tidegate_core::rng::Rng;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;

/// Random scenarios.
const SCENARIOS: u64 = 200;
/// Packets that one event may make between two checks of the limit: those of a source, an RM cell
/// with them, and a credit cell.
const IN_ONE_EVENT: usize = 4;

fn world(network: &Network, seed: u64, most: usize) -> World<Calendar> {
    let mut world = World::new(network, seed, &Probes::default()).unwrap();
    world.limit_packets(most);
    world
}

/// Runs a world event by event; the most packets that it held.
fn most_held(world: &mut World<Calendar>) -> usize {
    let mut most = 0;
    while !world.advance(1) {
        most = most.max(world.packets_held());
    }
    most.max(world.packets_held())
}

/// Makes a scenario's packets come in heaps: large packets of many cells, large windows, and copies
/// for many.
fn in_heaps(rng: &mut Rng, text: &str) -> String {
    let size = 1000 + rng.below(60_000);
    let mut text = text.replace("size = \"500B\"", &format!("size = \"{}B\"", 500 + rng.below(2000)));
    if text.contains("aal5") {
        text = text.replace("size = \"1500B\"", &format!("size = \"{size}B\""));
    }
    let window = 10 + rng.below(400);
    let transport = match rng.below(3) {
        0 => format!("transport = {{ kind = \"window\", window = {window} }}"),
        1 => {
            format!("transport = {{ kind = \"tcp\", stack = \"rfc\", initial_window = {window} }}\ncount = 3")
        }
        _ => "transport = \"tcp\"".to_owned(),
    };
    text = text.replace("transport = \"tcp\"", &transport);
    if rng.below(2) == 0 {
        let mut hosts = String::new();
        let mut names = Vec::new();
        for ix in 0..2 + rng.below(40) {
            hosts += &format!(
                "[[node]]\nname = \"m{ix}\"\nkind = \"host\"\n[[link]]\nfrom = \"s3\"\nto = \"m{ix}\"\nrate = \"20kbit\"\n"
            );
            names.push(format!("\"m{ix}\""));
        }
        text += &format!(
            "{hosts}[[flow]]\nname = \"m\"\nfrom = \"b\"\nto = [{}]\nsize = \"200B\"\nsource = {{ kind = \"poisson\", rate = \
             \"{}kbit\" }}\n",
            names.join(", "),
            20 + rng.below(200)
        );
    }
    text
}

#[test]
fn no_way_of_making_packets_passes_the_limit() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("packet-limit");
    std::fs::create_dir_all(&folder).unwrap();
    let (mut ran, mut came) = (0, vec![0; KEYS.len()]);
    for seed in 0.. {
        if ran == SCENARIOS {
            break;
        }
        let mut rng = Rng::named(seed, "packet limit");
        let features = [(); 3].map(|()| FEATURES[rng.below(FEATURES.len() as u64) as usize]);
        let text = scenario(&mut rng, &features, &folder);
        let text = in_heaps(&mut rng, &text);
        let Ok(spec) = Scenario::parse(&text, "a.toml", &folder, &[]) else { continue };
        let Ok(network) = assemble(&spec) else { continue };
        let peak = most_held(&mut world(&network, seed, usize::MAX));
        if peak < 16 {
            continue;
        }
        ran += 1;
        came.iter_mut().zip(KEYS).for_each(|(count, key)| *count += u64::from(text.contains(key)));
        // A limit equal to the peak suffices, and changes nothing.
        let mut enough = world(&network, seed, peak);
        assert!(enough.advance(u64::MAX) && enough.overflow().is_none(), "seed {seed}\n{text}");
        // A lower limit does not, and is exceeded by no more packets than one event makes.
        let most = 1 + rng.below(peak as u64 - 8) as usize;
        let mut less = world(&network, seed, most);
        let held = most_held(&mut less);
        let overflow = less.overflow().unwrap_or_else(|| panic!("seed {seed}: {most} of {peak}\n{text}"));
        let copies = network.flows.iter().map(|flow| flow.destinations()).max().unwrap_or(1) as usize;
        assert!(held <= most + copies + IN_ONE_EVENT, "seed {seed}: {held} of {most}\n{text}");
        assert!(overflow.packets > most && less.advance(u64::MAX), "it is over");
    }
    assert!(came.iter().all(|count| *count > SCENARIOS / 10), "{came:?} of {KEYS:?}");
}

/// Ten thousand connections hand out ten packets of 192 cells each at one instant.
#[test]
fn cells_of_many_connections_do_not_pass_the_limit() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/defects/aal5-memory-overshoot.toml");
    let network = assemble(&Scenario::load(&path, &[]).unwrap()).unwrap();
    let mut world = world(&network, 1, 100_000);
    assert!(world.advance(u64::MAX));
    let overflow = world.overflow().unwrap();
    assert_eq!((overflow.packets, world.packets_held()), (100_001, 100_001));
}
