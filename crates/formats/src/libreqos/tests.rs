use super::*;
use crate::port::MAX_CLASS_LEVELS;
use std::fs;
use std::path::PathBuf;

const HEADER: &str = "Circuit ID,Circuit Name,Device ID,Device Name,Parent Node,MAC,IPv4,IPv6,Download Min Mbps,\
                      Upload Min Mbps,Download Max Mbps,Upload Max Mbps,Comment,sqm\n";
/// The tree of the documentation: five levels, and circuits beside access points.
const NETWORK: &str = r#"{
  "Site_1": { "downloadBandwidthMbps": 1000, "uploadBandwidthMbps": 1000, "type": "Site", "children": {
    "AP_A": { "downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500, "type": "AP" },
    "Site_3": { "downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500, "children": {
      "PoP_5": { "downloadBandwidthMbps": 200, "uploadBandwidthMbps": 200, "children": {
        "AP_9": { "downloadBandwidthMbps": 120, "uploadBandwidthMbps": 120 },
        "PoP_6": { "downloadBandwidthMbps": 60, "uploadBandwidthMbps": 60, "children": {
          "AP_11": { "downloadBandwidthMbps": 30, "uploadBandwidthMbps": 30 } } } } } } } } },
  "Site_2": { "downloadBandwidthMbps": 500, "uploadBandwidthMbps": 500 }
}"#;
const LINE: Line<'_> = Line { inside: "in", outside: "out", rates: [1_000_000_000, 2_000_000_000] };

/// A folder of its own for a test, which is removed with it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Translates a list, which gets a header if it has none, and a network.
fn translated(list: &str, network: Option<&str>) -> Result<Import, String> {
    let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
    let folder = Folder(std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    let list = if list.contains("Circuit ID") { list.to_owned() } else { format!("{HEADER}{list}") };
    let (devices, tree) = (folder.0.join("ShapedDevices.csv"), folder.0.join("network.json"));
    fs::write(&devices, list).unwrap();
    if let Some(network) = network {
        fs::write(&tree, network).unwrap();
    }
    let place = format!("{}/", folder.0.display());
    let made = import(&devices, network.map(|_| tree.as_path()), &LINE);
    made.map_err(|errors| errors.to_string().replace(&place, "")).inspect(|made| {
        fs::write(folder.0.join("circuits.csv"), &made.circuits).unwrap();
        let gate = folder.0.join("gate.toml");
        fs::write(&gate, &made.gate).unwrap();
        crate::GateFile::load(&gate, &[]).unwrap_or_else(|errors| panic!("{errors}\n{}", made.gate));
    })
}

/// The one mistake of a list or a network.
fn mistake(list: &str, network: Option<&str>) -> String {
    translated(list, network).expect_err("a mistake")
}

fn said(made: &Import) -> Vec<String> {
    made.losses.iter().map(|loss| loss.to_string()).collect()
}

#[test]
fn the_tree_of_the_documentation_keeps_its_levels() {
    let list = "1,\"968 Circle St., Gurnee, IL 60031\",1,Device 1,AP_A,,\"100.64.0.1, 100.64.0.14\",fdd7:b724:0:100::/56,1,1,155,20,,\n\
                2794,\"6 Littleton Drive\",5,Device 5,AP_11,,100.64.0.5,fdd7:b724:0:500::/56,1,1,105,18,,\n\
                2794,\"6 Littleton Drive\",6,Device 6,AP_11,,100.64.0.6,fdd7:b724:0:600::/56,1,1,105,18,,\n\
                9,\"525 Birchpond St.\",11,Device 11,Site_1,,100.64.0.11,,0.5,0.25,2.5,1.0,,fq_codel\n";
    let made = translated(list, Some(NETWORK)).unwrap();
    assert_eq!(said(&made), Vec::<String>::new());
    assert_eq!((made.circuit_count, made.class_count), (3, 9));
    assert_eq!(
        made.circuits,
        "name,class,addresses,up_reserve,up_ceiling,down_reserve,down_ceiling\n\
         1,AP_A,100.64.0.1/32 100.64.0.14/32 fdd7:b724:0:100::/56,1mbit,20mbit,1mbit,155mbit\n\
         2794,AP_11,100.64.0.5/32 fdd7:b724:0:500::/56 100.64.0.6/32 fdd7:b724:0:600::/56,1mbit,18mbit,1mbit,105mbit\n\
         9,Site_1-circuits,100.64.0.11/32,250kbit,1mbit,500kbit,2500kbit\n"
    );
    let class = |name: &str, parent: &str, rate: &str| {
        format!(
            "[[class]]\nname = \"{name}\"\n{parent}up = {{ ceiling = \"{rate}\" }}\ndown = {{ ceiling = \"{rate}\" }}\n"
        )
    };
    for (name, parent, rate) in [
        ("Site_1", "", "1gbit"),
        ("AP_11", "parent = \"PoP_6\"\n", "30mbit"),
        ("PoP_6", "parent = \"PoP_5\"\n", "60mbit"),
    ] {
        assert!(made.gate.contains(&class(name, parent, rate)), "{name}\n{}", made.gate);
    }
    assert!(made.gate.contains("name = \"Site_1-circuits\"\nparent = \"Site_1\"\n\n"), "{}", made.gate);
}

#[test]
fn a_flat_network_has_no_classes() {
    for network in [None, Some("{}")] {
        let made = translated("1,,1,,,,10.0.0.1,,0,0,100,20,,\n", network).unwrap();
        assert_eq!((made.circuit_count, made.class_count), (1, 0));
        assert!(made.circuits.ends_with("1,,10.0.0.1/32,,20mbit,,100mbit\n"), "{}", made.circuits);
    }
}

/// A byte order mark, spaces around fields, blank lines, comments, and lines that end as on Windows.
#[test]
fn files_of_spreadsheets_are_read() {
    let list = format!(
        "\u{feff}# a comment\r\n\r\n{}  7 , x , 1 , d , AP , 00:11 , 10.0.0.7/32 , , 1 , 0.5 , 10 , 10 , ,\r\n",
        HEADER.replace('\n', "\r\n")
    );
    let network = "\u{feff}{\"AP\": {\"downloadBandwidthMbps\": 99.5, \"uploadBandwidthMbps\": 0.75}}\r\n";
    let made = translated(&list, Some(network)).unwrap();
    assert!(made.circuits.ends_with("7,AP,10.0.0.7/32,500kbit,10mbit,1mbit,10mbit\n"), "{}", made.circuits);
    assert!(made.gate.contains("up = { ceiling = \"750kbit\" }"), "{}", made.gate);
}

#[test]
fn circuits_of_virtual_nodes_belong_to_the_next_real_one() {
    let network = r#"{ "Region": { "downloadBandwidthMbps": 100, "uploadBandwidthMbps": 100, "children": {
        "Town": { "virtual": true, "children": {
            "AP": { "downloadBandwidthMbps": 20, "uploadBandwidthMbps": 20 } } } } },
        "Group": { "virtual": true } }"#;
    let list = "1,,1,,AP,,10.0.0.1,,1,1,10,10,,\n2,,2,,Town,,10.0.0.2,,1,1,10,10,,\n3,,3,,Group,,10.0.0.3,,1,1,10,10,,\n";
    let made = translated(list, Some(network)).unwrap();
    let classes: Vec<&str> =
        made.circuits.lines().skip(1).map(|line| line.split(',').nth(1).unwrap()).collect();
    assert_eq!(classes, ["AP", "Region-circuits", ""]);
    assert!(made.gate.contains("name = \"AP\"\nparent = \"Region\"\n"), "{}", made.gate);
}

/// Least rates that add up to more than an access point carries are lowered alike, and that is said.
#[test]
fn least_rates_that_do_not_fit_are_lowered_and_said() {
    let network = r#"{ "AP": { "downloadBandwidthMbps": 40, "uploadBandwidthMbps": 100 } }"#;
    let list = "1,,1,,AP,,10.0.0.1,,25,5,100,20,,\n2,,2,,AP,,10.0.0.2,,75,5,100,20,,\n";
    let made = translated(list, Some(network)).unwrap();
    let rates: Vec<&str> =
        made.circuits.lines().skip(1).map(|line| line.split(',').nth(5).unwrap()).collect();
    assert_eq!(rates, ["10mbit", "30mbit"]);
    let [loss] = &said(&made)[..] else { panic!("{:?}", said(&made)) };
    assert!(loss.ends_with(
        "the least rates of the circuits in `AP` add up to 100mbit down, and there is room for 40mbit\n  help: each is \
         lowered to 40.0 % of itself"
    ), "{loss}");
}

#[test]
fn other_queue_management_is_said() {
    let list = "1,,1,,,,10.0.0.1,,1,1,10,10,,CAKE/fq_codel\n2,,2,,,,10.0.0.2,,1,1,10,10,,/none\n3,,3,,,,10.0.0.3,,1,1,10,10,, cake \n";
    let made = translated(list, None).unwrap();
    let lines: Vec<usize> = made.losses.iter().map(|loss| loss.line).collect();
    assert_eq!(lines, [2, 3]);
    assert!(said(&made)[0].contains("in place of CAKE, as has another"), "{:?}", said(&made));
    assert!(said(&made)[1].contains("asks for no queue management\n"), "{:?}", said(&made));
}

#[test]
fn mistakes_are_refused_with_their_line() {
    for (list, message) in [
        ("1,,1,,,,10.0.0.1,,1,1,10,10,a, b,\n", "2:1: this line has 15 fields, and the first has 14"),
        (
            "1,,1,,,,10.0.0.1,,1,1,10,10,,\n2,,2,,,,10.0.0.1,,1,1,10,10,,\n",
            "3:9: 10.0.0.1/32 is already in line 2",
        ),
        ("1,,1,,,,,,1,1,10,10,,\n", "2:1: a device without an address would never receive a packet"),
        ("1,,1,,,,10.0.0.9/29,,1,1,10,10,,\n", "2:9: `10.0.0.9/29` has bits beyond its prefix"),
        ("1#,,1,,,,10.0.0.1,,1,1,10,10,,\n", "2:1: this is not the ID of a circuit"),
        ("1,,1,,,,10.0.0.1,,1,1,ten,10,,\n", "`ten` is not a rate in Mbit/s"),
        ("1,,1,,,,10.0.0.1,,1,1,-5,10,,\n", "`-5` is not a rate in Mbit/s"),
        ("1,,1,,,,10.0.0.1,,50,1,10,10,,\n", "the least rate, 50mbit, is above the most, 10mbit"),
        ("1,,1,,,,10.0.0.1,,1,1,10,10,,fair\n", "`fair` is no queue management"),
        (
            "1,,1,,,,10.0.0.1,,1,1,10,10,,\n1,,2,,,,10.0.0.2,,1,1,20,10,,\n",
            "3:1: circuit `1` has other rates here than in line 2",
        ),
        ("1,,1,,AP_X,,10.0.0.1,,1,1,10,10,,\n", "2:7: the network has no node `AP_X`"),
        ("Circuit ID,Parent Node,IPv4,IPv6\n1,,10.0.0.1,\n", "there is no column `Upload Min Mbps`"),
    ] {
        let message_given = mistake(list, None);
        assert!(message_given.starts_with("ShapedDevices.csv:"), "{message_given}");
        assert!(message_given.contains(message), "{list}{message_given}");
    }
}

#[test]
fn mistakes_of_networks_are_refused_with_their_line() {
    let node = "{\"downloadBandwidthMbps\": 1, \"uploadBandwidthMbps\": 1}";
    for (network, message) in [
        (format!("{{\"A\": {node},\n \"A\": {node}}}"), "2:4: there is already a node `A`"),
        (
            format!("{{\"A\": {{\"virtual\": true, \"children\": {{\"B\": {node}}}}},\n\"B\": {node}}}"),
            "2:3: there is already a node `B`",
        ),
        ("{\"A\":\n {\"downloadBandwidthMbps\": 1}}".to_owned(), "node `A` has no `uploadBandwidthMbps`"),
        ("{\"A\":\n {\"downloadBandwidthMbps\": -1}}".to_owned(), "-1 is not a rate in Mbit/s"),
        (
            "{\"A\":\n {\"downloadBandwidthMbps\": \"1\"}}".to_owned(),
            "invalid type: string \"1\", expected a rate in Mbit/s",
        ),
        ("{\"A\": 5}".to_owned(), "invalid type: integer `5`, expected a node"),
        ("[]".to_owned(), "expected nodes by their names"),
        ("{\"A\": {".to_owned(), "EOF while parsing"),
        ("{} x".to_owned(), "trailing characters"),
    ] {
        let given = mistake("1,,1,,,,10.0.0.1,,1,1,10,10,,\n", Some(&network));
        assert!(given.starts_with("network.json:"), "{given}");
        assert!(given.contains(message), "{network}\n{given}");
    }
}

#[test]
fn a_tree_that_is_too_deep_is_refused() {
    let depth = MAX_CLASS_LEVELS;
    let open = |level: usize| {
        format!("{{\"n{level}\": {{\"downloadBandwidthMbps\": 1, \"uploadBandwidthMbps\": 1, \"children\": ")
    };
    let tree = |depth: usize| (0..depth).map(open).collect::<String>() + "{}" + &"}}".repeat(depth);
    let list = format!("1,,1,,n{},,10.0.0.1,,0,0,10,10,,\n", depth - 2);
    translated(&list, Some(&tree(depth - 1))).unwrap();
    let given = mistake(&list, Some(&tree(depth)));
    assert!(given.contains("node `n8` has 8 nodes above it, and a gate has room for 7"), "{given}");
}
