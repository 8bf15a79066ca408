//! Completion times of transfers against closed forms: an empty path, M/G/1 and processor sharing.

use std::path::Path;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::probe::Probes;
use tidegate_sim::results::{Table, Values, tables};
use tidegate_sim::world::World;

/// Two hosts on a switch: `a` with a link of 10 Gbit/s, and `b` with one of 100 Mbit/s.
const TWO_LINKS: &str = "[[node]]\nname = \"a\"\nkind = \"host\"\n[[node]]\nname = \"s\"\n\
                         [[node]]\nname = \"b\"\nkind = \"host\"\n\
                         [[link]]\nfrom = \"a\"\nto = \"s\"\nrate = \"10gbit\"\ndelay = \"3us\"\n\
                         [[link]]\nfrom = \"s\"\nto = \"b\"\nrate = \"100mbit\"\ndelay = \"5us\"\n";

/// A sender whose window never limits it, in packets of 1000 bytes of data. Its timer waits for
/// longer than any transfer.
const WIDE: &str = "kind = \"tcp\", stack = \"rfc\", initial_window = 1000, receiver_window = \"100MB\", minimum_rto = \"20s\"";

/// The table of transfers of a run.
fn run(text: &str, seed: u64) -> Table {
    let scenario =
        Scenario::parse(text, "a.toml", Path::new(""), &[]).unwrap_or_else(|error| panic!("{error}"));
    let network = assemble(&scenario).unwrap();
    let mut world: World<Calendar> = World::new(&network, seed, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    let made = tables(&network, &world, 0, seed);
    made.into_iter().find(|table| table.record.name == "transfers").unwrap()
}

fn whole(table: &Table, name: &str) -> Vec<u64> {
    match table.column(name) {
        Some(Values::Whole(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn numbers(table: &Table, name: &str) -> Vec<Option<f64>> {
    match table.column(name) {
        Some(Values::Number(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn connection(keys: &str, data: &str, transport: &str) -> String {
    format!(
        "[[connection]]\nname = \"c\"\nfrom = \"a\"\nto = \"b\"\nsize = \"1040B\"\n{keys}\n\
         data = {{ kind = \"transfers\", {data} }}\ntransport = {{ {transport} }}\n"
    )
}

/// A packet of 1040 bytes takes 0.832 µs and 83.2 µs, an acknowledgement of 40 bytes 3.2 µs and
/// 0.032 µs, and each direction has 8 µs of delay.
#[test]
fn a_transfer_on_an_empty_path_takes_the_time_of_its_packets() {
    let answer = 3.232 + 8.0;
    // The last packet of 400 bytes of data takes 35.2 µs on the slow link.
    for (size, expected) in [
        (1_000, 0.832 + 83.2 + 8.0 + answer),
        (400, 0.352 + 35.2 + 8.0 + answer),
        (1, 0.0328 + 3.28 + 8.0 + answer),
        (20_000, 0.832 + 20.0 * 83.2 + 8.0 + answer),
        (19_400, 0.832 + 19.0 * 83.2 + 35.2 + 8.0 + answer),
    ] {
        // With a handshake, the acknowledgement of the answer is before the data: the slow link has sent
        // it 3.232 µs after its first bit left, and would have begun with the data when it had them.
        let first = (size.min(1000) + 40) as f64 * 8e-4;
        for (handshake, more, behind) in [("off", 0.0, 0.0), ("on", 2.0 * answer, 3.232 - first)] {
            for (loop_keys, keys) in
                [("once = true", "start = \"2ms\""), ("think = \"9s\"", "start = \"2ms\"")]
            {
                let transport = format!("{WIDE}, handshake = \"{handshake}\"");
                let data = format!("size = \"{size}B\", {loop_keys}");
                let text = format!(
                    "version = 1\nduration = \"1s\"\n{TWO_LINKS}{}",
                    connection(keys, &data, &transport)
                );
                let table = run(&text, 1);
                let took = expected + behind;
                // The application of a closed loop hands over data once the connection is open.
                let waits = if loop_keys == "once = true" { more } else { 0.0 };
                let start = if loop_keys == "once = true" { 2e-3 } else { 2e-3 + more * 1e-6 };
                let near = |value: Option<f64>, expected: f64| {
                    let value = value.unwrap();
                    assert!(
                        (value - expected).abs() < 1e-10,
                        "{size} {handshake} {loop_keys}: {value} {expected}"
                    );
                };
                assert_eq!((whole(&table, "size"), whole(&table, "number")), (vec![size], vec![0]));
                near(numbers(&table, "start")[0], start);
                near(numbers(&table, "first_byte")[0], 2e-3 + more * 1e-6);
                near(numbers(&table, "completion")[0], (took + waits) * 1e-6);
                near(numbers(&table, "end")[0], start + (took + waits) * 1e-6);
                near(
                    numbers(&table, "slowdown")[0].map(|slowdown| slowdown * 1e-9),
                    (took + waits) / expected * 1e-9,
                );
                assert_eq!(whole(&table, "sent_again"), [0]);
            }
        }
    }
}

/// 2000 bytes of data and 40 of headers are 44 cells with AAL5, and the acknowledgement is one: a
/// cell takes 0.0424 µs and 4.24 µs.
#[test]
fn the_empty_path_of_cells_is_that_of_their_number() {
    let keys = "adaptation = \"aal5\"\nsize = \"1040B\"";
    let text = connection(keys, "size = \"2kB\", once = true", WIDE).replacen("size = \"1040B\"\n", "", 1);
    let table = run(&format!("version = 1\nduration = \"1s\"\n{TWO_LINKS}{text}"), 1);
    let expected = 0.0424 + 44.0 * 4.24 + 8.0 + 0.0424 + 4.24 + 8.0;
    let took = numbers(&table, "completion")[0].unwrap() * 1e6;
    assert!((took - expected).abs() < 1e-4, "{took} {expected}");
    assert!((numbers(&table, "slowdown")[0].unwrap() - 1.0).abs() < 1e-9);
}

/// No transfer is faster than on the empty path. What is sent again is counted at the transfer that
/// it belongs to.
#[test]
fn what_is_lost_is_sent_again_and_slows_a_transfer_down() {
    let lossy = TWO_LINKS.replace("delay = \"5us\"\n", "delay = \"5us\"\nloss = 0.02\nduplex = false\n")
        + "[[link]]\nfrom = \"b\"\nto = \"s\"\nrate = \"100mbit\"\nduplex = false\n";
    let data = "size = \"50kB\", think = \"1ms\"";
    let network = |links: &str| {
        format!(
            "version = 1\nduration = \"60s\"\n{links}{}",
            connection("", data, "kind = \"tcp\", stack = \"rfc\"")
        )
    };
    let table = run(&network(&lossy), 1);
    let (again, slow) = (whole(&table, "sent_again"), numbers(&table, "slowdown"));
    let mean_of = |lost: bool| {
        let those: Vec<f64> = slow
            .iter()
            .zip(&again)
            .filter(|(_, again)| (**again > 0) == lost)
            .filter_map(|(slow, _)| *slow)
            .collect();
        assert!(those.len() > 100, "{}", those.len());
        assert!(those.iter().all(|slow| *slow > 1.0 - 1e-12));
        those.iter().sum::<f64>() / those.len() as f64
    };
    // A loss costs round trips, or a timeout.
    assert!(mean_of(true) > 2.0 * mean_of(false), "{} {}", mean_of(true), mean_of(false));
    // 2 % of the packets are lost; a timeout may send more again.
    let share = again.iter().sum::<u64>() as f64 / (50_000 * again.len()) as f64;
    assert!(share > 0.018 && share < 0.05, "{share}");
    let clean = run(&network(TWO_LINKS), 1);
    assert!(whole(&clean, "sent_again").iter().all(|again| *again == 0));
}

/// Transfers that have not ended are in the table, without an end.
#[test]
fn a_transfer_that_has_not_ended_has_no_end() {
    for handshake in ["off", "on"] {
        let transport = format!("{WIDE}, handshake = \"{handshake}\"");
        let data = "size = \"1MB\", once = true, arrivals = \"poisson\", load = 4";
        let text = format!(
            "version = 1\nduration = \"1s\"\n{TWO_LINKS}{}",
            connection("count = 20", data, &transport)
        );
        let table = run(&text, 1);
        let ends = numbers(&table, "end");
        let ended = ends.iter().flatten().count();
        // 12 transfers of 83 ms fit, at most.
        assert!(ends.len() == 20 && (5..=12).contains(&ended), "{handshake}: {ended} of {}", ends.len());
        for name in ["completion", "slowdown"] {
            let have = numbers(&table, name).iter().map(Option::is_some).collect::<Vec<_>>();
            assert_eq!(have, ends.iter().map(Option::is_some).collect::<Vec<_>>(), "{name}");
        }
    }
    // The opening segment is lost: nothing is sent, and the transfer has begun.
    let lossy = TWO_LINKS.replace("delay = \"3us\"\n", "delay = \"3us\"\nloss = 1\n");
    let transport = format!("{WIDE}, handshake = \"on\"");
    let text = connection("", "size = \"1MB\", once = true", &transport);
    let table = run(&format!("version = 1\nduration = \"1s\"\n{lossy}{text}"), 1);
    assert_eq!((numbers(&table, "first_byte"), numbers(&table, "end")), (vec![None], vec![None]));
}

/// Mean over replications, and the half width of its 99.9 % interval (Student's t with 9 degrees of
/// freedom).
fn interval(values: &[f64]) -> (f64, f64) {
    assert_eq!(values.len(), 10);
    let mean = values.iter().sum::<f64>() / 10.0;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 9.0;
    (mean, 4.781 * (variance / 10.0).sqrt())
}

/// A completion time of each transfer with its size and its slowdown: those that began and ended
/// while the load was steady.
///
/// There are `number` transfers, half of them of `size` and half of four times that size.
fn under_load(
    port: &str,
    once: bool,
    load: f64,
    (number, size): (u32, f64),
    seed: u64,
) -> Vec<(f64, f64, f64)> {
    let count = if once { number } else { 1 };
    let data = format!(
        "size = [\"{size}B\", \"{}B\"], arrivals = \"poisson\", load = {}, once = {once}",
        4.0 * size,
        load / 1.04
    );
    let seconds = f64::from(number) * 2.5 * size * 8.0 * 1.04 / (1e8 * load);
    let text = format!(
        "version = 1\nduration = \"{:.3}s\"\n{port}\n{TWO_LINKS}{}",
        if once { 3.0 * seconds } else { seconds },
        connection(&format!("count = {count}"), &data, WIDE)
    );
    let table = run(&text, seed);
    let (starts, ends) = (numbers(&table, "start"), numbers(&table, "end"));
    let last = starts.iter().flatten().copied().fold(0.0, f64::max);
    let steady = |start: f64| start > 0.1 * last && start < 0.9 * last;
    let (sizes, slow) = (whole(&table, "size"), numbers(&table, "slowdown"));
    let took = numbers(&table, "completion");
    let rows = (0..starts.len()).filter(|row| steady(starts[*row].unwrap()));
    assert!(whole(&table, "sent_again").iter().all(|again| *again == 0));
    rows.map(|row| {
        assert!(ends[row].is_some());
        (sizes[row] as f64, took[row].unwrap(), slow[row].unwrap())
    })
    .collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
    sum / n
}

/// Pollaczek–Khinchine: behind FIFO a transfer waits λ E[S²] / (2 (1 − ρ)), whatever its size, each
/// on a connection of its own or all on one.
#[test]
fn transfers_behind_fifo_wait_as_in_an_m_g_1_queue() {
    let (number, size) = (if cfg!(debug_assertions) { 5_000 } else { 50_000 }, 2_000.0);
    let service = |times: f64| times * size * 1.04 * 8.0 / 1e8;
    for once in [true, false] {
        let load = 0.5;
        let waits: Vec<f64> = (1..=10)
            .map(|seed| {
                let rows = under_load("", once, load, (number, size), seed);
                // On the empty path a transfer takes its slowdown's share of the time.
                mean(rows.iter().map(|(_, took, slow)| took * (1.0 - 1.0 / slow)))
            })
            .collect();
        let (measured, half) = interval(&waits);
        let moment = |power| (service(1.0).powi(power) + service(4.0).powi(power)) / 2.0;
        let theory = load * moment(2) / moment(1) / (2.0 * (1.0 - load));
        println!("once = {once}: wait {measured} ± {half}, theory {theory}");
        assert!((measured - theory).abs() < half, "{once}: {measured} ± {half}, theory {theory}");
        assert!(half < 0.2 * theory, "the interval says nothing: {half}");
    }
}

/// Under fair queueing a transfer has a slowdown of 1 / (1 − ρ), whatever its size: processor
/// sharing.
#[test]
fn transfers_under_fair_queueing_are_slowed_down_as_by_processor_sharing() {
    let port = "port = { scheduler = { kind = \"drr\", quantum = \"1040B\" } }";
    let (number, size) = (if cfg!(debug_assertions) { 1_200 } else { 10_000 }, 20_000.0);
    for load in [0.3, 0.5] {
        let runs: Vec<_> = (1..=10).map(|seed| under_load(port, true, load, (number, size), seed)).collect();
        for of in [size, 4.0 * size] {
            let slowdown =
                |rows: &Vec<(f64, f64, f64)>| mean(rows.iter().filter(|row| row.0 == of).map(|row| row.2));
            let (measured, half) = interval(&runs.iter().map(slowdown).collect::<Vec<_>>());
            let theory = 1.0 / (1.0 - load);
            println!("load {load}, {of}: slowdown {measured} ± {half}, theory {theory}");
            assert!((measured - theory).abs() < half, "{load} {of}: {measured} ± {half}, theory {theory}");
            assert!(half < 0.15 * theory, "the interval says nothing: {half}");
        }
    }
}

/// The load of Poisson arrivals is that of all connections of the group together.
#[test]
fn a_load_is_that_of_the_group() {
    for (count, once) in [(1, false), (5, false), (4_000, true)] {
        let data = format!(
            "size = \"2kB\", sizes = \"exponential\", arrivals = \"poisson\", load = 0.5, once = {once}"
        );
        let text = format!(
            "version = 1\nduration = \"1.5s\"\n{TWO_LINKS}{}",
            connection(&format!("count = {count}"), &data, WIDE)
        );
        let starts = numbers(&run(&text, 7), "start");
        let span = match once {
            true => starts.iter().flatten().copied().fold(0.0, f64::max),
            false => 1.5,
        };
        // 50 Mbit/s in transfers of 2 kB.
        let (number, expected) = (starts.len() as f64, span * 3125.0);
        assert!((number - expected).abs() < 3.29 * expected.sqrt(), "{count} {once}: {number} of {expected}");
    }
}
