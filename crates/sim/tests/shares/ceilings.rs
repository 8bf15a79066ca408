//! Ceilings: a flow or a class that may not use what others leave has no claim to it later.

use super::{parse, pick, run};
use tidegate_core::rng::Rng;

const ALL: [&str; 4] = ["wfq", "wf2q-plus", "scfq", "sfq"];
const LINK: f64 = 3e6;

/// A member of a scheduler: a flow, or a class with a flow in it.
struct Member {
    name: String,
    in_class: bool,
    reserve: f64,
    ceiling: Option<f64>,
    size: u32,
    start: f64,
    source: String,
}

impl Member {
    /// Its lines in a file.
    fn lines(&self) -> String {
        let Member { name, in_class, reserve, ceiling, size, start, source } = self;
        let ceiling =
            ceiling.map_or(String::new(), |ceiling| format!("ceiling = \"{}bit\"\n", ceiling.floor()));
        let terms = format!("reserve = \"{}bit\"\n{ceiling}", reserve.floor());
        let flow = format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"h\"\nto = \"r2\"\nsize = \"{size}B\"\n\
             start = \"{start}s\"\nsource = {source}\n"
        );
        match in_class {
            true => format!(
                "{flow}class = \"{name}\"\n[[class]]\nname = \"{name}\"\nscheduler = \"fifo\"\n{terms}"
            ),
            false => format!("{flow}{terms}"),
        }
    }
}

fn flood(rate: f64) -> String {
    format!("{{ kind = \"cbr\", rate = \"{}bit\" }}", rate.round())
}

/// Bits that the first member, which floods the link from its start on, has received `after` seconds.
fn received(scheduler: &str, members: &[Member], seed: u64, after: f64) -> f64 {
    let text = format!(
        "version = 1\nduration = \"{}s\"\nport = {{ scheduler = \"{scheduler}\" }}\n\
         node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"r1\" }}, {{ name = \"r2\" }}]\n\
         link = [{{ from = \"h\", to = \"r1\", rate = \"10gbit\" }}, \
         {{ from = \"r1\", to = \"r2\", rate = \"{LINK}bit\" }}]\n{}",
        members[0].start + after,
        members.iter().map(Member::lines).collect::<String>()
    );
    let scenario = parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    run(&scenario, seed).records()[0].received.1 as f64 * 8.0
}

/// Three members reserve 1 Mbit/s each. One is kept at 1.4 by its ceiling, while the second has 1.6 and
/// the third is silent for 10 s. In WF²Q+ the first once went on with its 1.4 until it had caught up
/// with virtual time, and left the third 0.8.
#[test]
fn a_ceiling_leaves_no_arrears() {
    for (scheduler, in_class) in ALL.into_iter().flat_map(|scheduler| [(scheduler, true), (scheduler, false)])
    {
        let member = |name: &str, ceiling, start| Member {
            name: name.to_owned(),
            in_class,
            reserve: 1e6,
            ceiling,
            size: 1_000,
            start,
            source: flood(2.5e6),
        };
        let members =
            [member("late", None, 10.0), member("kept", Some(1.4e6), 0.0), member("free", None, 0.0)];
        let bits = received(scheduler, &members, 1, 2.0);
        assert!(bits > 1.98e6, "{scheduler}, {in_class}: {bits} bits in 2 s");
    }
}

/// However long a member has been silent, it has its reservation from its first packet on, beside
/// others that floods and bursts have kept at ceilings of any height.
#[test]
fn reservations_hold_beside_ceilings() {
    for seed in 0..if crate::long::is_long() { 200 } else { 12 } {
        let mut rng = Rng::named(seed, "ceilings");
        let scheduler = ALL[seed as usize % 4];
        let in_class = rng.chance(0.5);
        let reserve = LINK * pick(&mut rng, &[0.02, 0.1, 0.3, 0.5]);
        let size = pick(&mut rng, &[200, 1_000, 1_500]);
        let start = pick(&mut rng, &[0.01, 1.0, 4.0]);
        let late = Member {
            name: "late".to_owned(),
            in_class,
            reserve,
            ceiling: None,
            size,
            start,
            source: flood(LINK),
        };
        let mut members = vec![late];
        let count = 1 + rng.below(5);
        for nth in 0..count {
            let own = (LINK - reserve) / count as f64 * pick(&mut rng, &[0.05, 0.4, 1.0]);
            members.push(Member {
                name: format!("other{nth}"),
                in_class,
                reserve: own,
                ceiling: (nth == 0 || rng.chance(0.7)).then(|| own * (1.0 + 3.0 * rng.unit())),
                size: pick(&mut rng, &[100, 1_000, 1_500]),
                start: 0.0,
                source: match rng.chance(0.3) {
                    true => format!("{{ kind = \"poisson\", rate = \"{}bit\" }}", (own * 1.5).round()),
                    false => flood(LINK),
                },
            });
        }
        // Its own packets at its rate, and for each of the others one at the link.
        let others: f64 = members[1..].iter().map(|member| f64::from(member.size)).sum();
        let allowed = 8.0 * (others * reserve / LINK + 3.0 * f64::from(size));
        for after in [0.1, 1.0, 4.0] {
            let behind = reserve * after - received(scheduler, &members, seed, after);
            let lines = || members.iter().map(Member::lines).collect::<String>();
            assert!(behind <= allowed, "{seed}, {scheduler}: {behind} of {allowed} bits\n{}", lines());
        }
    }
}

/// Twenty packets of 100 bytes come at once. At the 50 Mbit/s of their class's ceiling they would take
/// 320 µs. But each time that the ceiling holds the class, a packet of 1,500 bytes starts, and its
/// credit is a packet of its own: the last one takes more than 1.2 ms. Deadlines there are refused; one
/// of 500 µs was once accepted.
#[test]
fn deadlines_under_a_ceiling_are_refused_because_they_would_be_missed() {
    let text = |terms: &str| {
        format!(
            "version = 1\nduration = \"50ms\"\nport = {{ scheduler = \"strict-priority\" }}\n\
             node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"r1\" }}, {{ name = \"r2\" }}]\n\
             link = [{{ from = \"h\", to = \"r1\", rate = \"10gbit\" }}, \
             {{ from = \"r1\", to = \"r2\", rate = \"100mbit\" }}]\n\
             class = [{{ name = \"c\", scheduler = \"edf\", priority = 1, ceiling = \"50mbit\" }}]\n\
             [[flow]]\nname = \"urgent\"\ncount = 20\nfrom = \"h\"\nto = \"r2\"\nclass = \"c\"\nsize = \"100B\"\n\
             start = \"10ms\"\nreserve = \"1mbit\"\nworkahead = \"100B\"\n{terms}\
             source = {{ kind = \"cbr\", rate = \"1mbit\" }}\n\
             [[flow]]\nname = \"flood\"\nfrom = \"h\"\nto = \"r2\"\npriority = 7\nsize = \"1500B\"\n\
             source = {}\n",
            flood(2e8)
        )
    };
    let errors = parse(&text("deadline = \"500us\"\n")).map(|_| ()).unwrap_err();
    assert!(errors.contains("the schedulers above the class guarantee it no rate"), "{errors}");
    let records = run(&parse(&text("")).unwrap(), 1).records().to_vec();
    let most = records[..20].iter().filter_map(|flow| flow.delay.max()).max().unwrap().as_secs_f64();
    assert!(most > 1.2e-3, "{most}");
}

/// A ceiling of half the link is reached with packets of 1,500 bytes, and with packets of 100 bytes given
/// a burst of a full frame; without it, these get a third of it beside full frames.
#[test]
fn small_packets_reach_their_ceiling_given_a_burst() {
    let share = |size: u32, burst: &str| {
        let text = format!(
            "version = 1\nduration = \"500ms\"\nport = {{ scheduler = \"strict-priority\" }}\n\
             node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"r1\" }}, {{ name = \"r2\" }}]\n\
             link = [{{ from = \"h\", to = \"r1\", rate = \"10gbit\" }}, \
             {{ from = \"r1\", to = \"r2\", rate = \"100mbit\" }}]\n\
             class = [{{ name = \"c\", scheduler = \"fifo\", priority = 1, ceiling = \"50mbit\"{burst} }}]\n\
             [[flow]]\nname = \"small\"\nfrom = \"h\"\nto = \"r2\"\nclass = \"c\"\nsize = \"{size}B\"\nsource = {}\n\
             [[flow]]\nname = \"full\"\nfrom = \"h\"\nto = \"r2\"\npriority = 7\nsize = \"1500B\"\nsource = {}\n",
            flood(6e7),
            flood(2e8)
        );
        run(&parse(&text).unwrap(), 1).records()[0].received.1 as f64 * 8.0 / 0.5 / 50e6
    };
    assert!((share(1_500, "") - 1.0).abs() < 0.01);
    assert!((share(100, ", ceiling_burst = \"1500B\"") - 1.0).abs() < 0.01);
    assert!((share(100, "") - 1.0 / 3.0).abs() < 0.01, "{}", share(100, ""));
}
