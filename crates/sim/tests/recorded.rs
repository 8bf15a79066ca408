//! The flows of a recording are checked once it has been read: as many flows as there are, with the
//! packets that they have.

use std::path::PathBuf;
use tidegate_formats::Scenario;
use tidegate_sim::assemble::assemble;

/// The result for a flow with these keys that plays a list of two flows, one of them with large
/// packets.
fn built(port: &str, keys: &str) -> Result<usize, String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recorded");
    std::fs::create_dir_all(&folder).unwrap();
    let list = "time,size,flow\n0.0,100,a\n0.1,9000,b\n0.2,100,a\n";
    std::fs::write(folder.join("two.csv"), list).unwrap();
    let text = format!(
        "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"1mbit\" }}\n{port}\n\
         [[flow]]\nname = \"r\"\nfrom = \"s1\"\nto = \"s2\"\nsource = {{ kind = \"capture\", file = \"two.csv\" }}\n{keys}\n"
    );
    let scenario = Scenario::parse(&text, "a.toml", &folder, &[]).map_err(|errors| errors.to_string())?;
    assemble(&scenario).map(|network| network.flows.len()).map_err(|error| error.to_string())
}

#[test]
fn recorded_packets_take_whole_times() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recorded-fast");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("one.csv"), "time,size,flow\n0.0,1500,a\n0.1,64,a\n").unwrap();
    std::fs::write(folder.join("one.txt"), "0.0 1500\n0.1 64\n").unwrap();
    for (kind, file) in [("capture", "one.csv"), ("trace", "one.txt")] {
        let said = |rate: &str| {
            let text = format!(
                "version = 1\nduration = \"1s\"\ntopology = {{ kind = \"chain\", switches = 2, rate = \"{rate}\" }}\n\
                 [[flow]]\nname = \"r\"\nfrom = \"s1\"\nto = \"s2\"\nsource = {{ kind = \"{kind}\", file = \"{file}\" }}\n"
            );
            let scenario = Scenario::parse(&text, "a.toml", &folder, &[]).unwrap();
            assemble(&scenario).map(|_| ()).map_err(|error| error.to_string())
        };
        // 512 bits take 5.12 ticks at 10 Tbit/s, and 51,200 at 1 Gbit/s.
        let fast = said("10tbit").unwrap_err();
        assert!(fast.contains("a packet of 64B takes 5.12 units of 10 ps"), "{fast}");
        assert_eq!(said("1gbit"), Ok(()));
    }
}

#[test]
fn recorded_flows_have_to_fit() {
    let tdm = "port = { scheduler = { kind = \"tdm\", slot = \"9000B\", slots = 2 } }";
    let class = "class = [{ name = \"k\", scheduler = \"fifo\", reserve = \"500kbit\" }]";
    assert_eq!(built("", "reserve = \"500kbit\""), Ok(2));
    assert_eq!(built(tdm, "reserve = \"500kbit\""), Ok(2));
    for (port, keys, expected) in [
        (
            "",
            "reserve = \"600kbit\"",
            "a.toml:10:11: 1200kbit is reserved on link s1->s2 (1mbit): flow `r/b`",
        ),
        (class, "class = \"k\"\nreserve = \"400kbit\"", "a.toml:11:11: 800kbit is reserved on class `k`"),
        (
            "",
            "envelope = { rate = \"1mbit\", burst = \"8999B\" }",
            "a.toml:10:38: `burst` (8999B) is smaller than the largest packet (9000B)",
        ),
        (
            "",
            "reserve = \"10kbit\"\ninterval = \"1s\"",
            "a.toml:11:12: `interval` (1s) is shorter than a packet's time",
        ),
        (
            &tdm.replace("9000B", "8999B"),
            "",
            "flow `r/b` on link s1->s2: it has packets (9000B) longer than a slot (8999B)",
        ),
        (
            &tdm.replace("slots = 2", "slots = 1"),
            "reserve = \"5kbit\"",
            "flow `r/b` on link s1->s2: it does not fit",
        ),
    ] {
        let said = built(port, keys).unwrap_err();
        assert!(said.contains(expected), "{said}");
    }
}
