//! Policies from outside: a file names them, is checked by their records, and is simulated as with
//! the built-in ones that they copy.

mod clock;
mod others;
#[path = "../../../core/tests/common/toy.rs"]
mod toy;

use clock::PlainClockParams;
use others::{BucketParams, LeavesParams, StillParams, TailParams, WatchParams};
use std::path::Path;
use std::sync::LazyLock;
use tidegate_core::context::{Ctx, Verdict};
use tidegate_core::dropper::{Dropper, Occupancy};
use tidegate_core::packet::Packet;
use tidegate_core::params::Role;
use tidegate_core::policies::{
    register_congestion_control, register_detector, register_dropper, register_meter, register_scheduler,
    register_transport,
};
use tidegate_core::scheduler::SchedulerKind;
use tidegate_formats::{GateFile, Scenario, gate_schema, python_types, reference, schema};
use tidegate_sim::assemble::assemble;
use tidegate_sim::event_queue::Calendar;
use tidegate_sim::network::Network;
use tidegate_sim::probe::Probes;
use tidegate_sim::world::World;
use toy::toy;

/// Registers the policies, once.
static REGISTERED: LazyLock<()> = LazyLock::new(|| {
    register_scheduler::<PlainClockParams>().unwrap();
    register_dropper::<TailParams>().unwrap();
    register_meter::<BucketParams>().unwrap();
    register_detector::<WatchParams>().unwrap();
    register_transport::<StillParams>().unwrap();
    register_congestion_control::<LeavesParams>().unwrap();
});

const HEAD: &str = "version = 1\nduration = \"20s\"\n\
                    topology = { kind = \"chain\", switches = 3, rate = \"1mbit\", delay = \"2ms\" }\n";

/// Flows that keep their reservations, one that does not, and one without.
const FLOWS: &str = r#"
[[flow]]
name = "calls"
count = 3
from = "s1"
to = "s3"
size = "200B"
reserve = "64kbit"
workahead = "400B"
source = { kind = "poisson", rate = "60kbit" }

[[flow]]
name = "greedy"
from = "s1"
to = "s2"
size = "1000B"
reserve = "300kbit"
workahead = "3kB"
source = { kind = "poisson", rate = "900kbit" }

[[flow]]
name = "datagrams"
from = "s2"
to = "s3"
size = "500B"
source = { kind = "poisson", rate = "700kbit" }
"#;

const CONNECTION: &str =
    "[[connection]]\nname = \"c\"\nfrom = \"s1\"\nto = \"s3\"\nsize = \"1kB\"\ntransport = ";

fn parse(text: &str, sets: &[(&str, &str)]) -> Result<Scenario, String> {
    LazyLock::force(&REGISTERED);
    let sets: Vec<_> = sets.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Scenario::parse(text, "a.toml", Path::new(""), &sets).map_err(|errors| errors.to_string())
}

/// A message without the lines of the file that it shows.
fn without_excerpt(message: &str) -> String {
    message.lines().filter(|line| !line.contains(" | ")).collect::<Vec<_>>().join("\n")
}

fn run(text: &str, sets: &[(&str, &str)]) -> World<Calendar> {
    simulate(&network(text, sets))
}

fn network(text: &str, sets: &[(&str, &str)]) -> Network {
    let scenario = parse(text, sets).unwrap_or_else(|error| panic!("{error}"));
    assemble(&scenario).unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(network: &Network) -> World<Calendar> {
    let mut world = World::new(network, 7, &Probes::default()).unwrap();
    while !world.advance(1_000_000) {}
    world
}

fn with_port(port: &str) -> String {
    format!("{HEAD}port = {port}\nswitch = {{ buffer = \"60p\" }}\n{FLOWS}")
}

/// The outcome of a run: packets, times and drops, without names of policies.
fn fingerprint(text: &str) -> u64 {
    run(text, &[]).fingerprint()
}

#[test]
fn a_copy_of_a_built_in_policy_has_its_fingerprint() {
    let (clock, plain) =
        (fingerprint(&with_port("\"virtual-clock\"")), fingerprint(&with_port("\"plain-clock\"")));
    assert_eq!(plain, clock);
    assert_ne!(plain, fingerprint(&with_port("\"fifo\"")));
    assert_ne!(plain, fingerprint(&with_port("{ scheduler = { kind = \"plain-clock\", percent = 50 } }")));

    let tail = fingerprint(&with_port("\"plain-clock + tail(limit=20p)\""));
    assert_eq!(tail, fingerprint(&with_port("\"virtual-clock + drop-tail(limit=20p)\"")));
    assert_ne!(tail, clock);

    let policed = fingerprint(&with_port("{ scheduler = \"plain-clock\", meter = \"bucket\" }"));
    assert_eq!(policed, fingerprint(&with_port("{ scheduler = \"virtual-clock\", meter = \"policer\" }")));
    assert_ne!(policed, clock);

    let watched = |detector: &str| {
        let meter = "{ kind = \"policer\", excess = \"mark\" }";
        fingerprint(&with_port(&format!(
            "{{ scheduler = \"fifo\", meter = {meter}, dropper = \"red\", detector = {detector} }}"
        )))
    };
    let history = "kind = \"drop-history\", drops = \"all\", persistence = 0.1";
    let police = watched(&format!("{{ {history}, action = \"police\" }}"));
    assert_eq!(watched("\"watch\""), police);
    assert_ne!(police, watched(&format!("{{ {history} }}")));

    let connected =
        |transport: &str| fingerprint(&format!("{}{CONNECTION}{transport}\n", with_port("\"fifo\"")));
    assert_eq!(connected("\"still-window\""), connected("\"window\""));
    let four = connected("{ kind = \"still-window\", packets = 4 }");
    assert_eq!(four, connected("{ kind = \"window\", window = 4 }"));
    assert_ne!(four, connected("\"window\""));

    let controlled =
        |control: &str| connected(&format!("{{ kind = \"tcp\", stack = \"rfc\", congestion = {control} }}"));
    let reno = controlled("\"reno\"");
    assert_eq!(controlled("\"leaves\""), reno);
    assert_ne!(controlled("{ kind = \"leaves\", left = 0.9 }"), reno);
}

/// An idle port waits for all packets of an instant where the policy's parameters say so: the
/// urgent packet goes first, although the other flow sends before it.
#[test]
fn an_idle_port_waits_for_ties_under_a_policy_from_outside() {
    let flow = |name: &str, priority: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"500B\"\npriority = {priority}\n\
             source = \"greedy\"\n"
        )
    };
    let flows = [flow("other", 1), flow("urgent", 0)].concat();
    let mut network = network(&format!("{HEAD}port = \"strict-priority\"\n{flows}"), &[]);
    for link in &mut network.links {
        let built_in = link.port.scheduler.clone();
        let inner = built_in.clone();
        link.port.scheduler = built_in.made_by(move || Box::new(inner.build().unwrap()));
    }
    let world = simulate(&network);
    let received = [0, 1].map(|flow| world.records()[flow].received.0);
    assert!(received[0] == 0 && received[1] > 1_000, "{received:?}");
}

#[test]
fn every_form_of_a_file_names_it() {
    let long = "{ scheduler = \"plain-clock\", dropper = { kind = \"tail\", limit = \"20p\" } }";
    let short = "\"plain-clock + tail(limit=20p)\"";
    let usual = fingerprint(&with_port(long));
    assert_eq!(usual, fingerprint(&with_port(short)));
    let set = run(&with_port("\"fifo\""), &[("port", "plain-clock + tail(limit=20p)")]);
    assert_eq!(usual, set.fingerprint());
    let set = run(&with_port(short), &[("port.dropper.limit", "5p"), ("port.scheduler.percent", "20")]);
    let five = "{ scheduler = { kind = \"plain-clock\", percent = 20 }, dropper = { kind = \"tail\", limit = \"5p\" } }";
    assert_eq!(set.fingerprint(), fingerprint(&with_port(five)));
    let set = run(&with_port(short), &[("port.policy.percent", "20"), ("port.policy.limit", "5p")]);
    assert_eq!(set.fingerprint(), fingerprint(&with_port(five)));
}

#[test]
fn a_mistake_is_answered_from_the_record() {
    let port = |port: &str| parse(&with_port(port), &[]).unwrap_err();
    let scheduler = |keys: &str| port(&format!("{{ scheduler = {{ kind = \"plain-clock\", {keys} }} }}"));
    let dropper =
        |keys: &str| port(&format!("{{ dropper = {{ kind = \"tail\", limit = \"9p\", {keys} }} }}"));
    let connection = parse(&format!("{HEAD}{CONNECTION}\"still-windows\"\n"), &[]).unwrap_err();
    let set = parse(&with_port("\"fifo\""), &[("port", "plain-clock(percent=101)")]).unwrap_err();
    for (found, message) in [
        (
            port("\"plain-clok\""),
            "a.toml:4:8: there is no policy `plain-clok`\n  help: did you mean `plain-clock`?",
        ),
        (
            port("{ scheduler = \"plain-clok\" }"),
            "a.toml:4:22: there is no scheduler `plain-clok`\n  help: did you mean `plain-clock`?",
        ),
        (
            scheduler("procent = 5"),
            "a.toml:4:46: scheduler `plain-clock` has no key `procent`\n  help: did you mean `percent`?",
        ),
        (
            scheduler("percent = 0"),
            "a.toml:4:56: `percent`: 0 is out of range\n  help: it takes a whole number from 1 to 100",
        ),
        (set, "--set port=plain-clock(percent=101): `percent`: 101 is out of range"),
        (scheduler("at_least = \"9kbit\""), "a.toml:4:57: `at_least` is below 56000 bit/s"),
        (scheduler("at_least = \"2mbit\""), "a.toml:4:57: `at_least` is above the rate on link s1->s2"),
        (
            port("{ scheduler = \"tail\" }"),
            "a.toml:4:22: there is no scheduler `tail`\n  help: `tail` is a dropper: policy = \"tail\" is FIFO with it",
        ),
        (port("\"tail\""), "a.toml:4:8: `tail` needs `limit`\n  help: write it as in tail(limit=100p)"),
        (port("\"plain-clock + fifo\""), "a.toml:4:8: `plain-clock` and `fifo` are both schedulers"),
        (dropper("red = \"10p\""), "a.toml:4:57: `red` is above `limit`"),
        (dropper("ecn = \"marks\""), "a.toml:4:57: there is no ecn `marks`\n  help: did you mean `mark`?"),
        (
            port("{ meter = \"buckets\" }"),
            "a.toml:4:18: there is no meter `buckets`\n  help: did you mean `bucket`?",
        ),
        (
            port("{ meter = { kind = \"bucket\", most = \"100kbit\" } }"),
            "a.toml:22:11: greedy on link s1->s2: it reserves more than `most`",
        ),
        (
            port("{ detector = \"wach\" }"),
            "a.toml:4:21: there is no detector `wach`\n  help: did you mean `watch`?",
        ),
        (
            port("{ meter = \"plain-clock\" }"),
            "a.toml:4:18: there is no meter `plain-clock`\n  help: `plain-clock` is a scheduler: write scheduler =",
        ),
        (
            connection,
            "a.toml:9:13: there is no transport `still-windows`\n  help: did you mean `still-window`?",
        ),
    ] {
        assert!(without_excerpt(&found).starts_with(message), "{found}");
    }
}

/// Warnings about a scenario follow from the answers of the policy's parameters.
#[test]
fn warnings_follow_from_the_answers_of_the_parameters() {
    let warned = |text: &str| {
        let warnings = parse(text, &[]).unwrap().warnings();
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let tail =
        |keys: &str| with_port(&format!("{{ dropper = {{ kind = \"tail\", limit = \"9p\"{keys} }} }}"));
    let colours = "Tail on link s1->s2 tells packets apart by colour";
    assert!(warned(&tail(", red = \"5p\"")).contains(colours));
    assert!(!warned(&tail("")).contains(colours));

    let deadline = with_port("\"plain-clock\"").replace("workahead = \"3kB\"", "deadline = \"10ms\"");
    assert!(warned(&deadline).contains("Plain clock on link s1->s2 does not read"), "{}", warned(&deadline));

    let window = |packets| format!("{HEAD}{CONNECTION}{{ kind = \"still-window\", packets = {packets} }}\n");
    assert!(
        warned(&window(1)).contains("give its transport a `packets` above that"),
        "{}",
        warned(&window(1))
    );
    assert!(!warned(&window(100)).contains("`packets`"), "{}", warned(&window(100)));
}

#[test]
fn a_gate_file_names_it() {
    LazyLock::force(&REGISTERED);
    let gates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gates");
    let office = std::fs::read_to_string(gates.join("office.toml")).unwrap();
    let with = |port: &str| office.replacen("[switch]\n", &format!("[port]\n{port}\n[switch]\n"), 1);
    let gate = GateFile::parse(&with("policy = \"plain-clock + tail(limit=50p)\""), "g.toml", &[]).unwrap();
    assert_eq!(gate.port.scheduler.policy, SchedulerKind::named("plain-clock").unwrap());
    assert_eq!(gate.port.dropper.unwrap().chosen.policy.record().name, "tail");
    let wrong =
        GateFile::parse(&with("scheduler = \"plain-clocks\""), "g.toml", &[]).unwrap_err().to_string();
    let said = without_excerpt(&wrong);
    assert!(
        said.contains("there is no scheduler `plain-clocks`\n  help: did you mean `plain-clock`?"),
        "{wrong}"
    );
}

#[test]
fn schema_reference_and_python_types_have_it() {
    LazyLock::force(&REGISTERED);
    for schema in [schema().to_string(), gate_schema().to_string()] {
        for name in ["plain-clock", "tail", "bucket"] {
            assert!(schema.contains(&format!("\"const\":\"{name}\"")), "{name}");
        }
        assert!(schema.contains("Share of its reservation that a flow is served at, in percent"));
    }
    for name in ["still-window", "leaves"] {
        assert!(schema().to_string().contains(&format!("\"const\":\"{name}\"")), "{name}");
    }
    assert!(reference().contains("### `plain-clock`\n\n**Plain clock.** Stamps each packet"));
    assert!(python_types().contains("class PlainClock(Record):"));
}

/// Accepts every packet.
#[derive(Default)]
pub struct Late;

impl Dropper for Late {
    fn arrive(&mut self, _: &mut Ctx<'_>, _: &Packet, _: &Occupancy) -> Verdict {
        Verdict::Accept
    }
}

toy!(LateParams makes Late: "late-comer", Role::Dropper);

#[test]
fn a_policy_may_be_registered_after_files_were_read() {
    let (text, schema_before) = (with_port("\"late-comer\""), schema().to_string());
    let missing = parse(&text, &[]).unwrap_err();
    assert!(missing.starts_with("a.toml:4:8: there is no policy `late-comer`"), "{missing}");
    register_dropper::<LateParams>().unwrap();
    assert_eq!(fingerprint(&text), fingerprint(&with_port("\"fifo\"")));
    let new = "\"const\":\"late-comer\"";
    assert!(!schema_before.contains(new) && schema().to_string().contains(new));
}

/// `docs/policies-from-outside.md` shows the scheduler and its registration as they are here, and a
/// port that a file may have.
#[test]
fn the_page_shows_the_file() {
    let page = include_str!("../../../../docs/policies-from-outside.md");
    let shown = page.split("<!-- crates/sim/tests/outside/clock.rs -->\n```rust\n").nth(1).unwrap();
    assert_eq!(shown.split("```\n").next(), Some(include_str!("clock.rs")));
    assert!(page.contains("tidegate_core::policies::register_scheduler::<PlainClockParams>()?;"));
    let port = page.split("```toml\nport = ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    assert_eq!(fingerprint(&with_port(port)), fingerprint(&with_port("\"plain-clock(percent=90) + red\"")));
}
