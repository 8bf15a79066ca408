use crate::gate::GateFile;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tidegate_core::classifier::rules::Direction;
use tidegate_core::units::Rate;

const GATE: &str = r#"
version = 1
[gate]
inside = "lan0"
outside = "wan0"
up = "10mbit"
down = "100mbit"
[[class]]
name = "north"
scheduler = "virtual-clock"
up = { reserve = "4mbit" }
down = { reserve = "40mbit", ceiling = "60mbit" }
[[class]]
name = "south"
scheduler = "fifo"
[[class]]
name = "near"
parent = "south"
scheduler = "fifo"
[[flow]]
name = "subscribers"
circuits = "circuits.csv"
class = "near"
ceiling = "50mbit"
up = { reserve = "10kbit" }
[[flow]]
name = "others"
"#;

/// A folder with a gate file and its list of circuits, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(csv: &str) -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("tidegate-circuits-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("gate.toml"), GATE).unwrap();
        std::fs::write(folder.join("circuits.csv"), csv).unwrap();
        Folder(folder)
    }

    fn load(&self) -> Result<GateFile, crate::FormatErrors> {
        GateFile::load(&self.0.join("gate.toml"), &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// File, line, column and message of every mistake.
fn mistakes(csv: &str) -> Vec<String> {
    let folder = Folder::new(csv);
    let Err(errors) = folder.load() else { return Vec::new() };
    let told = errors.errors.iter().map(|error| {
        let file = error.file.rsplit('/').next().unwrap_or_default();
        let help = error.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
        format!("{file}:{}:{}: {}{help}", error.line, error.column, error.message)
    });
    told.collect()
}

#[test]
fn a_list_is_read_whatever_wrote_it() {
    let csv = "\u{feff}name,down_ceiling,addresses,class,up_reserve\r\n\
               # moved in May\r\n\
               \"Müller, Anna\",20mbit,10.0.0.1;2001:db8:1::/64,north,100kbit\r\n\
               \r\n\
               \"the \"\"shop\"\"\", ,\"10.0.0.0/30, 10.0.1.0/24\",,\r\n";
    let folder = Folder::new(csv);
    let gate = folder.load().unwrap();
    let flow = &gate.flows[0];
    let circuits = flow.circuits.as_ref().unwrap();
    assert_eq!([circuits.name(0), circuits.name(1)], ["Müller, Anna", "the \"shop\""]);
    assert_eq!(circuits.len(), 2);
    let found = |address: &str| circuits.find(address.parse().unwrap());
    assert_eq!(
        ["10.0.0.1", "10.0.0.2", "10.0.1.9", "2001:db8:1::9", "10.0.0.4"].map(found),
        [Some(0), Some(1), Some(1), Some(0), None]
    );
    let rate = |kilo: u64| Rate::from_bits_per_second(kilo * 1000);
    let plan = |circuit, direction| {
        let plan = circuits.plan(circuit, direction, &gate.edge_plan(direction).rules[0].plan);
        (plan.class, plan.contract.reserve, plan.ceiling)
    };
    assert_eq!(plan(0, Direction::Up), (Some(0), rate(100), rate(50_000)));
    assert_eq!(plan(0, Direction::Down), (Some(0), None, rate(20_000)));
    assert_eq!(plan(1, Direction::Up), (Some(2), rate(10), rate(50_000)));
    assert_eq!(plan(1, Direction::Down), (Some(2), None, rate(50_000)));
    let ceilings = gate.switch_plan().ports.into_iter().map(|port| port.classes[0].ceiling);
    assert_eq!(ceilings.collect::<Vec<_>>(), [None, rate(60_000)]);
}

#[test]
fn mistakes_are_told_with_their_lines() {
    let with = |lines: &str| mistakes(&format!("name,addresses,class,up_reserve,up_ceiling\n{lines}"));
    let one = |line: &str| with(&format!("a,10.0.0.1,north,,\n{line}\n"));
    for (line, expected) in [
        ("b,10.0.0.2,nort,,", "circuits.csv:3:12: there is no class `nort` (did you mean `north`?)"),
        (
            "b,10.0.0.2,south,,",
            "circuits.csv:3:12: class `south` has classes in it, so no circuit can be in it",
        ),
        ("b,10.0.0.2,,5mb,", "circuits.csv:3:13: `mb` in `5mb` is not a unit of rate"),
        ("b,10.0.0.2,,5mbit,4mbit", "circuits.csv:3:19: `ceiling` (4mbit) is below `reserve` (5mbit)"),
        ("b,10.0.0.2,,,9kbit", "circuits.csv:3:14: `ceiling` (9kbit) is below `reserve` (10kbit)"),
        ("a,10.0.0.2,,,", "circuits.csv:3:1: there is already a circuit `a` in line 2"),
        ("b,10.0.0.1/32,,,", "circuits.csv:3:3: 10.0.0.1/32 is already `a`'s, in line 2"),
        ("b,10.0.0.2 10.0.0.2,,,", "circuits.csv:3:3: 10.0.0.2/32 is listed twice"),
        (
            "b,10.0.0.1/24,,,",
            "circuits.csv:3:3: `10.0.0.1/24` has bits beyond its prefix (did you mean `10.0.0.0/24`?)",
        ),
        ("b,ten,,,", "circuits.csv:3:3: `ten` is neither an address nor a prefix"),
        ("b,,,,", "circuits.csv:3:3: a circuit without an address would never receive a packet"),
        (",10.0.0.2,,,", "circuits.csv:3:1: this is not the name of a circuit"),
        ("b,10.0.0.2,,", "circuits.csv:3:1: this line has 4 fields, and the first has 5"),
        (
            "b,10.0.0.2,north,5mbit,",
            "circuits.csv:3:18: 5010kbit is reserved on class `north` (4mbit) up: circuit `b` is the first",
        ),
    ] {
        let found = one(line);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{line}: {found:?}");
    }
    for (csv, expected) in [
        ("", "circuits.csv:0:0: is empty"),
        (
            "name,adress,addresses\n",
            "circuits.csv:1:6: there is no column `adress` (did you mean `addresses`?)",
        ),
        ("name,class\n", "circuits.csv:1:1: there is no column `addresses`"),
        ("name,name,addresses\n", "circuits.csv:1:6: column `name` appears twice"),
    ] {
        let found = mistakes(csv);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{csv}: {found:?}");
    }
}

#[test]
fn many_mistakes_are_cut_off() {
    let csv: String = (0..100).map(|line| format!("c{line},nowhere\n")).collect();
    let folder = Folder::new(&format!("name,addresses\n{csv}"));
    let errors = folder.load().unwrap_err();
    assert_eq!((errors.errors.len(), errors.truncated), (crate::MAX_REPORTED, true));
}

#[test]
fn a_list_that_is_not_there_is_named() {
    let folder = Folder::new("");
    std::fs::remove_file(folder.0.join("circuits.csv")).unwrap();
    let told = folder.load().unwrap_err().to_string();
    assert!(told.contains("circuits.csv: cannot be read: No such file"), "{told}");
    std::fs::write(folder.0.join("circuits.csv"), b"name,addresses\n\xff,10.0.0.1\n").unwrap();
    let told = folder.load().unwrap_err().to_string();
    assert!(told.contains("is not text: line 2 is not UTF-8"), "{told}");
}

/// A reload reports the differences between lists of circuits as counts.
#[test]
fn differences_between_lists_are_told() {
    let header = "name,addresses,class,up_ceiling\n";
    let folder = Folder::new(&format!("{header}a,10.0.0.1,,\nb,10.0.0.2,,\nc,10.0.0.3,,\n"));
    let before = folder.load().unwrap();
    assert_eq!(before.changes_to(&folder.load().unwrap()), []);
    std::fs::write(
        folder.0.join("circuits.csv"),
        format!("{header}c,10.0.0.3,,9mbit\nd,10.0.0.4,,\nb,10.0.0.2,,\n"),
    )
    .unwrap();
    let told: Vec<String> =
        before.changes_to(&folder.load().unwrap()).iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        ["flow.subscribers.circuits: 3 circuits -> 3 circuits: 1 new, 1 gone, 1 with changed terms"]
    );
    std::fs::write(
        folder.0.join("circuits.csv"),
        format!("{header}a,10.0.0.1,,\nb,10.0.0.9,,\nc,10.0.0.3,,\n"),
    )
    .unwrap();
    let told = before.changes_to(&folder.load().unwrap())[0].to_string();
    assert!(told.ends_with("3 circuits: 0 new, 0 gone, 0 with changed terms, other addresses"), "{told}");
}

/// Twenty thousand of them are all found again.
#[test]
fn a_long_list_is_read() {
    let line = |number: u32| {
        let [a, b, c, d] = (0x0a00_0000 + number).to_be_bytes();
        format!(
            "circuit-{number:05},{a}.{b}.{c}.{d} 2001:db8:{number:x}::/48,north,100bit,10mbit,1kbit,50mbit\n"
        )
    };
    let header = "name,addresses,class,up_reserve,up_ceiling,down_reserve,down_ceiling\n".to_owned();
    let folder = Folder::new(&(0..20_000).fold(header, |csv, number| csv + &line(number)));
    let gate = folder.load().unwrap();
    let circuits = gate.flows[0].circuits.as_ref().unwrap();
    for number in (0..20_000).step_by(997) {
        let four = std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into();
        let six = format!("2001:db8:{number:x}:7::1").parse().unwrap();
        assert_eq!((circuits.find(four), circuits.find(six)), (Some(number), Some(number)));
        assert_eq!(circuits.name(number), format!("circuit-{number:05}"));
    }
}

proptest::proptest! {
    /// Any text is either read or refused.
    #[test]
    fn no_text_panics(text in "[nameadrsc,\"\n\r#;:/0-9. \u{feff}é]{0,120}", headed: bool) {
        let header = if headed { "name,addresses\n" } else { "" };
        let _ = mistakes(&format!("{header}{text}"));
    }
}
