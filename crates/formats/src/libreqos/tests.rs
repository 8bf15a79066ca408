use super::*;
use crate::port::MAX_CLASS_LEVELS;
use crate::{GateFile, Scenario};
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

/// A packet now and then through the gate that names the files.
const SCENARIO: &str = "version = 1\nduration = \"1s\"\ntopology = { kind = \"gate\", file = \"direct.toml\" }\n\
     [[flow]]\nname = \"ping\"\nfrom = \"inside\"\nto = \"outside\"\nsize = \"100B\"\n\
     headers = { flow = \"192.0.2.9:1>192.0.2.8:1/udp\" }\nsource = { kind = \"cbr\", rate = \"10kbit\" }\n";

/// A folder of its own for a test, which is removed with it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Translates a list, which gets a header if it has none, and a network. A gate file that names them
/// is the same gate, or has the same mistakes.
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
    let made = made.map_err(|errors| errors.to_string().replace(&place, ""));
    let direct = |more: &str| {
        let within =
            made.as_ref().ok().and_then(|made| made.gate.lines().find(|line| line.starts_with("within")));
        let gate = folder.0.join("direct.toml");
        fs::write(&gate, direct(network.is_some(), within.unwrap_or_default(), more)).unwrap();
        GateFile::load(&gate, &[]).map_err(|errors| errors.to_string().replace(&place, ""))
    };
    match &made {
        Err(mistake) => assert_eq!(direct("accept_losses = true").unwrap_err(), *mistake),
        Ok(made) => {
            fs::write(folder.0.join("circuits.csv"), &made.circuits).unwrap();
            let gate = folder.0.join("gate.toml");
            fs::write(&gate, &made.gate).unwrap();
            let imported =
                GateFile::load(&gate, &[]).unwrap_or_else(|errors| panic!("{errors}\n{}", made.gate));
            let file = direct("accept_losses = true").unwrap_or_else(|errors| panic!("{errors}"));
            assert_eq!(whole(&file), whole(&imported));
            assert_eq!(file.losses, made.losses);
            // A scenario with the gate warns of all of them.
            let scenario = Scenario::parse(SCENARIO, "scenario.toml", &folder.0, &[]).unwrap();
            let more = file.losses.len().saturating_sub(MAX_REPORTED);
            let warnings = scenario.warnings();
            assert_eq!(
                warnings[..warnings.len().min(file.losses.len() - more)],
                file.losses[..file.losses.len() - more]
            );
            let counted = format!("{more} more things are not as in LibreQoS's files");
            assert_eq!(warnings.iter().any(|warning| warning.message == counted), more > 0);
            match (direct(""), made.losses.is_empty()) {
                (Ok(file), true) => assert_eq!(whole(&file), whole(&imported)),
                (Err(refused), false) => {
                    let first = said(made).into_iter().take(MAX_REPORTED - 1);
                    let told = first.map(|loss| loss.replace(&place, "")).all(|loss| refused.contains(&loss));
                    assert!(told && refused.starts_with("direct.toml:8:"), "{refused}");
                }
                (other, _) => panic!("{other:?}"),
            }
        }
    }
    made
}

/// A gate file that names the files themselves.
fn direct(has_network: bool, within: &str, more: &str) -> String {
    let network = if has_network { "network = \"network.json\"" } else { "" };
    format!(
        "version = 1\n[gate]\ninside = \"in\"\noutside = \"out\"\nup = \"1gbit\"\ndown = \"2gbit\"\n[[flow]]\n\
         circuits = \"ShapedDevices.csv\"\nname = \"circuits\"\n{network}\n{within}\n{more}\n\
         [[flow]]\nname = \"others\"\n"
    )
}

/// All that a gate does: its ports, its edges, and the names of its classes.
fn whole(file: &GateFile) -> String {
    let classes: Vec<&str> = file.classes.iter().map(|class| class.class.name.as_str()).collect();
    let edges = Direction::BOTH.map(|direction| file.edge_plan(direction));
    format!("{classes:?}\n{:#?}\n{edges:#?}", file.switch_plan())
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

/// CAKE is fair among hosts first, and so is a circuit that leaves the choice open; FQ-CoDel is not.
#[test]
fn circuits_are_divided_as_their_list_asks() {
    let list = |[first, second]: [&str; 2]| {
        format!(
            "1,,1,,,,\"10.0.0.1, 10.0.0.2\",,1,1,10,10,,{first}\n2,,2,,,,10.0.0.9,,1,1,10,10,,fq_codel\n\
             2,,3,,,,,fd00::/64,1,1,10,10,,{second}\n"
        )
    };
    for (sqm, within, lost) in [
        (["", ""], "triple-isolate", 1),
        (["fq_codel", "fq_codel"], "5-tuple", 0),
        (["fq_codel/", "fq_codel"], "triple-isolate", 2),
        (["cake", "fq_codel"], "triple-isolate", 2),
    ] {
        let made = translated(&list(sqm), None).unwrap();
        assert!(made.gate.contains(&format!("within = \"{within}\"\n")), "{sqm:?} {}", made.gate);
        let told = said(&made).join("\n");
        assert_eq!(told.contains("is fair among hosts first"), lost > 0, "{told}");
        assert_eq!(told.contains("in place of CAKE"), sqm[0] == "cake", "{told}");
    }
    // A circuit of one address is the same in either form.
    let made = translated("1,,1,,,,10.0.0.1,,1,1,10,10,,fq_codel\n2,,2,,,,10.0.0.2,,1,1,10,10,,\n", None);
    assert_eq!(said(&made.unwrap()), Vec::<String>::new());
}

/// A scenario warns of the first ones, and says how many there are beside them.
#[test]
fn many_losses_are_counted() {
    let circuit = |number: u32| {
        let node = number % 30;
        format!("{number},b,{number},d,n{node},,10.0.0.{number},,8,1,10,10,,\n")
    };
    let node = |number: u32| {
        format!("\"n{number}\": {{ \"downloadBandwidthMbps\": 10, \"uploadBandwidthMbps\": 10 }}")
    };
    let nodes: Vec<String> = (0..30).map(node).collect();
    let network = format!("{{ {} }}", nodes.join(", "));
    let made = translated(&(1..=60).map(circuit).collect::<String>(), Some(&network)).unwrap();
    assert_eq!(made.losses.len(), 30);
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
        (
            &format!("{},,1,,,,10.0.0.1,,1,1,10,10,,\n", "x".repeat(129)),
            "2:1: this is not the ID of a circuit",
        ),
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

/// The gate file of `head` and a flow with these files, and the lines `more` of that flow.
fn beside(head: &str, list: &str, more: &str) -> Result<GateFile, String> {
    let name = std::thread::current().name().unwrap_or("test").replace("::", "-");
    let folder = Folder(std::env::temp_dir().join(format!("tidegate-{}-{name}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    fs::write(folder.0.join("ShapedDevices.csv"), format!("{HEADER}{list}")).unwrap();
    fs::write(folder.0.join("network.json"), NETWORK).unwrap();
    let gate = folder.0.join("gate.toml");
    let text = direct(true, "", more).replacen("[[flow]]", &format!("{head}\n[[flow]]"), 1);
    fs::write(&gate, text).unwrap();
    let place = format!("{}/", folder.0.display());
    GateFile::load(&gate, &[]).map_err(|errors| errors.to_string().replace(&place, ""))
}

/// The classes of a network stand behind those of the file, and flows may be in them.
#[test]
fn a_file_has_classes_and_flows_of_its_own_beside_the_network() {
    let head = "[[class]]\nname = \"own\"\n[[class]]\nname = \"other\"\n\
                [[flow]]\nname = \"calls\"\nmatch = { dscp = \"ef\" }\nclass = \"AP_9\"";
    let list = "1,,1,,AP_11,,10.0.0.1,,1,1,10,10,,\n2,,2,,Site_1,,10.0.0.2,,0,0,10,10,,\n3,,3,,,,10.0.0.3,,0,0,10,10,,\n";
    let file = beside(head, list, "class = \"own\"").unwrap_or_else(|errors| panic!("{errors}"));
    let name = |class: usize| file.classes[class].class.name.as_str();
    assert_eq!(file.flows[0].class.map(name), Some("AP_9"));
    let circuits = file.flows[1].circuits.as_ref().unwrap();
    let class = |circuit: u32| circuits.terms(circuit).class.map(|class| name(class.into()));
    assert_eq!([0, 1, 2].map(class), [Some("AP_11"), Some("Site_1-circuits"), None]);
    assert_eq!(name(file.flows[1].nodes.start), "Site_1");
    assert_eq!(file.flows[1].nodes.end, file.classes.len());
}

/// A mistake that only the gate file makes one is shown in the list, or at the key.
#[test]
fn what_does_not_fit_a_gate_file_is_shown_at_its_place() {
    let list = "1,,1,,AP_A,,10.0.0.1,,1,400,500,450,,\n2,,2,,,,10.0.0.2,,0,0,0.5,0.5,,\n";
    let flow = "[[flow]]\nname = \"calls\"\nmatch = { dscp = \"ef\" }\nreserve = \"700mbit\"";
    for (head, more, at) in [
        (flow, "", "ShapedDevices.csv:2:25: 1100mbit is reserved on the link up (1gbit): circuit `1`"),
        ("", "reserve = \"1mbit\"", "`ceiling` (500kbit) is below `reserve` (1mbit)"),
        ("[[class]]\nname = \"PoP_5\"", "", "there is already a class `PoP_5`"),
        (
            "[[class]]\nname = \"a\"\nparent = \"PoP_5\"",
            "",
            "class `a` stands before the class that contains it",
        ),
        ("[[flow]]\nname = \"a\"\nmatch = { dscp = 1 }\nclass = \"PoP_5\"", "", "`PoP_5` has classes in it"),
        (
            "[[flow]]\nname = \"a\"\nmatch = { dscp = 1 }\nnetwork = \"x.json\"",
            "",
            "`network` has no effect without `circuits`",
        ),
    ] {
        let told = beside(head, list, more).expect_err(at);
        assert!(told.contains(at), "{told}");
    }
}

proptest::proptest! {
    /// Any texts are either read or refused, and in the same way when they are translated.
    #[test]
    fn no_text_panics(
        list in "[12ab,\"\n\r#;:/0-9. \u{feff}é]{0,80}",
        sqm in "(cake|none|fq_codel)?/?(cake|fq_codel|x)?",
        network in "[\\[\\]{}\":,a1 -]{0,30}",
    ) {
        let list = format!("{HEADER}1,,1,,a,,10.0.0.1,,1,1,10,10,,{sqm}\n{list}");
        let node = "\"a\": {\"downloadBandwidthMbps\": 1, \"uploadBandwidthMbps\": 0.5}";
        for network in [format!("{{{node}{network}}}"), format!("{{{node}}}"), network] {
            let _ = translated(&list, Some(&network));
        }
    }
}
