//! Settings that are seldom intended get a warning, and no others do.

mod abr;
mod charged;
#[path = "../common/mod.rs"]
mod common;

use common::parse;

const HEAD: &str = "version = 1\nduration = \"10s\"\n";
const CHAIN: &str =
    "topology = { kind = \"chain\", switches = 3, rate = \"10mbit\" }\nswitch = { buffer = \"100p\" }\n";

/// A flow of 5 Mbit/s across the chain, with more keys.
fn flow(name: &str, keys: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\nfrom = \"s1\"\nto = \"s3\"\nsize = \"500B\"\n\
         source = {{ kind = \"cbr\", rate = \"5mbit\" }}\n{keys}\n"
    )
}

fn warnings(text: &str) -> Vec<String> {
    let scenario = parse(&format!("{HEAD}{text}"), &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    scenario.warnings().iter().map(ToString::to_string).collect()
}

fn said(text: &str, words: &str) {
    let found = warnings(text);
    assert!(found.len() == 1 && found[0].contains(words), "{words}: {found:#?}\n{text}");
}

fn silent(text: &str) {
    let found = warnings(text);
    assert!(found.is_empty(), "{found:#?}\n{text}");
}

/// For every key that asks for service and every scheduler: a warning, unless the scheduler's
/// record says that it reads the key.
#[test]
fn what_no_policy_reads_is_warned_of() {
    let (mut read, mut unread) = (0, 0);
    for (key, value) in [("reserve", "\"1mbit\""), ("deadline", "\"50ms\""), ("head_start", "\"1ms\"")] {
        for record in tidegate_core::scheduler::RECORDS {
            let needs_reserve = key == "head_start" || key == "deadline";
            let reserve = if needs_reserve { "reserve = \"1mbit\"\n" } else { "" };
            let keys = format!("{key} = {value}\n{reserve}");
            let text =
                format!("{HEAD}{CHAIN}port = {{ scheduler = \"{}\" }}\n{}", record.name, flow("a", &keys));
            // Some need more than that, and report it.
            let Ok(scenario) = parse(&text, &[]) else { continue };
            let found: Vec<String> = scenario.warnings().iter().map(ToString::to_string).collect();
            let named = found.iter().any(|one| {
                one.lines()
                    .next()
                    .is_some_and(|line| line.contains(&format!("`{key}`")) && line.contains("no effect"))
            });
            assert_eq!(named, !record.reads.contains(&key), "{key} under {}: {found:#?}", record.name);
            *(if named { &mut unread } else { &mut read }) += 1;
        }
    }
    assert!(read >= 10 && unread >= 10, "{read} {unread}");
}

#[test]
fn a_key_is_read_where_a_class_a_meter_an_envelope_or_admission_reads_it() {
    let reserve = "reserve = \"1mbit\"";
    said(&format!("{CHAIN}{}", flow("a", reserve)), "`reserve` of `a` has no effect: FIFO on link s1->s2");
    silent(&format!(
        "{CHAIN}port = {{ meter = {{ kind = \"tsw2cm\", window = \"1s\" }} }}\n{}",
        flow("a", reserve)
    ));
    silent(&format!("{CHAIN}admission = {{}}\n{}", flow("a", reserve)));
    let envelope = "reserve = \"6mbit\"\ninterval = \"50ms\"\nenvelope = \"token-bucket\"";
    silent(&format!("{CHAIN}{}", flow("a", envelope)));
    // In a class, the class's scheduler orders the flow, and the port's the class.
    let class = |inner: &str, keys: &str| {
        format!(
            "{CHAIN}class = [{{ name = \"c\", scheduler = \"{inner}\"{keys} }}]\n{}",
            flow("a", "class = \"c\"\nreserve = \"1mbit\"")
        )
    };
    silent(&class("virtual-clock", ""));
    said(&class("fifo", ""), "`reserve` of `a` has no effect: FIFO");
    said(&class("virtual-clock", ", reserve = \"2mbit\""), "`reserve` of class `c` has no effect: FIFO");
    // One policy on the way is enough.
    let one = "topology = \"nodes\"\nswitch = { buffer = \"9p\" }\nnode = [{ name = \"s1\" }, { name = \"s2\" }, { name = \"s3\" }]\n\
               link = [{ from = \"s1\", to = \"s2\", rate = \"10mbit\" }, { from = \"s2\", to = \"s3\", rate = \"10mbit\", \
               scheduler = \"virtual-clock\" }]\n";
    silent(&format!("{one}{}", flow("a", reserve)));
}

/// The paths of a random network: a link is named if no flow uses it and it lies on a path with as
/// few links as a flow's path, which a search over all paths finds.
#[test]
fn parallel_links_and_equal_paths_that_carry_nothing_are_named() {
    use std::collections::BTreeSet;
    let nodes = 5;
    let mut state = 12345_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut warned = 0;
    for _ in 0..300 {
        let mut links = vec![];
        for _ in 0..4 + draw(5) {
            let from = draw(nodes);
            let to = (from + 1 + draw(nodes - 1)) % nodes;
            links.push((from, to));
        }
        let (from, to) = (draw(nodes - 1), nodes - 1);
        let listed: Vec<String> = (0..nodes).map(|node| format!("{{ name = \"n{node}\" }}")).collect();
        let stated: Vec<String> = links
            .iter()
            .map(|(a, b)| format!("{{ from = \"n{a}\", to = \"n{b}\", rate = \"10mbit\", duplex = false }}"))
            .collect();
        let text = format!(
            "{HEAD}topology = \"nodes\"\nswitch = {{ buffer = \"9p\" }}\nnode = [{}]\nlink = [{}]\n[[flow]]\nname = \"f\"\n\
             from = \"n{from}\"\nto = \"n{to}\"\nsize = \"500B\"\nsource = {{ kind = \"cbr\", rate = \"5mbit\" }}\n",
            listed.join(", "),
            stated.join(", ")
        );
        let Ok(scenario) = parse(&text, &[]) else { continue };
        // All simple paths, by brute force.
        let mut paths: Vec<Vec<usize>> = vec![];
        let mut open = vec![(from, vec![])];
        while let Some((node, path)) = open.pop() {
            if node == to {
                paths.push(path);
                continue;
            }
            for (index, (a, b)) in links.iter().enumerate() {
                let seen = path.iter().any(|link: &usize| links[*link].0 == *b) || *b == from;
                if *a == node && !seen {
                    open.push((*b, [path.clone(), vec![index]].concat()));
                }
            }
        }
        let least = paths.iter().map(Vec::len).min().unwrap();
        let used: BTreeSet<usize> = scenario.groups[0].route.iter().copied().collect();
        let equal: BTreeSet<usize> = paths
            .iter()
            .filter(|path| path.len() == least)
            .flatten()
            .copied()
            .filter(|link| !used.contains(link))
            .collect();
        let pair = |link: usize| (links[link].0.min(links[link].1), links[link].0.max(links[link].1));
        let joined: BTreeSet<_> = used.iter().map(|link| pair(*link)).collect();
        let alone =
            (0..links.len()).filter(|link| !joined.contains(&pair(*link)) && !equal.contains(link)).count();
        let found: Vec<String> = scenario.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), usize::from(equal.len() + alone > 0), "{found:#?}\n{text}");
        if let [message] = &found[..] {
            let line = message.lines().next().unwrap();
            for link in equal.iter().take(4) {
                assert!(line.contains(&scenario.links[*link].name), "{line}\n{text}");
            }
            assert_eq!(message.contains("takes one path"), !equal.is_empty(), "{message}\n{text}");
            warned += usize::from(!equal.is_empty());
        }
    }
    assert!(warned >= 20, "{warned}");
}

#[test]
fn the_other_direction_and_spare_links_of_a_topology_are_no_surprise() {
    silent(&format!("{CHAIN}{}", flow("a", "")));
    silent(&format!(
        "topology = {{ kind = \"dumbbell\", pairs = 5, rate = \"10mbit\", access = {{ rate = \"1gbit\" }} }}\n\
         switch = {{ buffer = \"9p\" }}\n{}",
        flow("a", "").replace("\"s1\"", "\"l1\"").replace("\"s3\"", "\"r1\"")
    ));
}

#[test]
fn droppers_that_tell_colours_apart_need_a_meter() {
    let rio = "{ kind = \"rio\", min_in = \"40p\", max_in = \"70p\", min_out = \"10p\", max_out = \"30p\", limit = \"99p\" }";
    let wred = |red: &str| {
        format!(
            "{{ kind = \"wred\", min_green = \"40p\", max_green = \"70p\", max_p_green = 0.1, min_yellow = \"40p\", max_yellow = \
             \"70p\", max_p_yellow = 0.1, min_red = \"{red}\", max_red = \"70p\", limit = \"99p\" }}"
        )
    };
    let text = |dropper: &str, more: &str, keys: &str| {
        format!(
            "topology = {{ kind = \"chain\", switches = 3, rate = \"10mbit\" }}\nport = {{ dropper = {dropper}{more} }}\n{}",
            flow("a", keys)
        )
    };
    said(&text(rio, "", ""), "RIO on link s1->s2 tells packets apart by colour");
    said(&text(&wred("10p"), "", ""), "WRED on link s1->s2 tells packets apart by colour");
    // With the same thresholds for every colour, it is RED.
    silent(&text(&wred("40p"), "", ""));
    silent(&text(rio, ", meter = { kind = \"tsw2cm\", window = \"1s\" }", "reserve = \"1mbit\""));
    silent(&text(rio, "", "colour = \"red\""));
    let class =
        "class = [{ name = \"c\", scheduler = \"fifo\", dropper = DROPPER }]\n".replace("DROPPER", rio);
    said(&format!("{CHAIN}{class}{}", flow("a", "class = \"c\"")), "RIO on link s1->s2");
    silent(&format!("{CHAIN}{class}{}", flow("a", "")));
}

#[test]
fn a_profile_that_no_meter_reads_is_named() {
    let profile = "profile = [{ name = \"p\", reserve = \"1mbit\" }]\n";
    let metered = "port = { meter = { kind = \"tsw2cm\", window = \"1s\" } }\n";
    let used = flow("a", "profile = \"p\"");
    said(&format!("{CHAIN}{profile}{used}"), "no meter on the way of `a` reads profile `p`");
    silent(&format!("{CHAIN}{profile}{metered}{used}"));
}

fn connection(transport: &str, keys: &str) -> String {
    format!(
        "[[connection]]\nname = \"c\"\nfrom = \"l1\"\nto = \"r1\"\nsize = \"1500B\"\ntransport = {transport}\n{keys}\n"
    )
}

fn dumbbell(rate: &str, delay: &str) -> String {
    format!(
        "topology = {{ kind = \"dumbbell\", pairs = 2, rate = \"{rate}\", delay = \"{delay}\", access = {{ rate = \"10gbit\" }} }}\n\
         switch = {{ buffer = \"1000p\" }}\n"
    )
}

/// The window of data, over a round trip of two delays, of two transmissions at 1 Gbit/s and of
/// four at 10 Gbit/s, in whole packets: compared with the link.
#[test]
fn a_receivers_window_below_the_bandwidth_delay_product_is_warned_of() {
    let mut warned = 0;
    for (window, megabits, milliseconds) in [
        (1_048_576_u64, 1000_u64, 50_u64),
        (1_048_576, 100, 50),
        (1_048_576, 50, 50),
        (65_536, 10, 20),
        (65_536, 10, 100),
        (65_536, 100, 5),
        (4_000_000, 1000, 5),
        (4_000_000, 1000, 30),
    ] {
        let transport = format!("{{ kind = \"tcp\", stack = \"rfc\", receiver_window = \"{window}B\" }}");
        let text = format!(
            "{}{}",
            dumbbell(&format!("{megabits}mbit"), &format!("{milliseconds}ms")),
            connection(&transport, "")
        );
        let on_links = window as f64 * 1500.0 / 1460.0 * 8.0;
        let sent = 1540.0 * 8.0;
        let round_trip = 2e-3 * milliseconds as f64 + sent / (megabits as f64 * 1e6) + 2.0 * sent / 10e9;
        let most = on_links / round_trip / 1e6;
        if most < 0.9 * megabits as f64 {
            let digits = 10_f64.powf(most.log10().floor() - 1.0);
            let shown = ((most / digits).round() * digits * 1e6).round() as u64;
            said(&text, &format!("it gets about {} of the", tidegate_formats::units::show_rate(shown)));
            warned += 1;
        } else {
            silent(&text);
        }
    }
    assert!((3..=6).contains(&warned), "{warned}");
    // Enough connections fill the link all the same, and so does other traffic; finite data need no
    // more.
    let long = dumbbell("1gbit", "50ms");
    said(&format!("{long}{}", connection("\"tcp\"", "count = 5")), "`receiver_window`");
    silent(&format!("{long}{}", connection("\"tcp\"", "count = 6")));
    silent(&format!(
        "{long}{}",
        connection("\"tcp\"", "data = { kind = \"transfers\", size = \"100kB\", think = \"1s\" }")
    ));
    let greedy =
        "[[flow]]\nname = \"g\"\nfrom = \"l2\"\nto = \"r2\"\nsize = \"1500B\"\nsource = \"greedy\"\n";
    silent(&format!("{long}{greedy}{}", connection("\"tcp\"", "")));
}

#[test]
fn a_queue_that_is_shorter_than_a_packet_is_warned_of() {
    let text = |head: &str| {
        format!("topology = {{ kind = \"chain\", switches = 3, rate = \"10mbit\" }}\n{head}{}", flow("a", ""))
    };
    said(
        &text("switch = { buffer = \"100B\" }\n"),
        "the buffer of `s1` holds 100B, and packets of `a` have 500B",
    );
    said(&text("switch = { buffer = \"499B\" }\n"), "they are all lost there");
    silent(&text("switch = { buffer = \"500B\" }\n"));
    silent(&text("switch = { buffer = \"1p\" }\n"));
    let dropper = |limit: &str| {
        text(&format!("port = {{ dropper = {{ kind = \"drop-tail\", limit = \"{limit}\" }} }}\n"))
    };
    said(&dropper("400B"), "on link s1->s2 holds 400B");
    silent(&dropper("500B"));
    let sizes =
        text("switch = { buffer = \"600B\" }\n").replace("size = \"500B\"", "size = [\"500B\", \"1kB\"]");
    said(&sizes, "the largest packets of `a` have 1kB");
}

#[test]
fn a_start_after_the_end_is_warned_of() {
    silent(&format!("{CHAIN}{}", flow("a", "start = \"9s\"")));
    for at in ["10s", "1h"] {
        said(
            &format!("{CHAIN}{}", flow("a", &format!("start = \"{at}\""))),
            "the run is over after 10s, and `a` would start",
        );
    }
    let two = format!("{CHAIN}{}{}", flow("a", "start = \"20s\""), flow("b", "start = \"30s\""));
    said(&two, "`a` and 1 more flow would start at 20s");
    let late = connection("\"tcp\"", "start = \"20s\"");
    said(&format!("{}{late}", dumbbell("10mbit", "1ms")), "`c` would start at 20s");
}

/// Shares by weight are no reservations when classes reserve more than there is: each gets less,
/// without an error.
#[test]
fn classes_that_reserve_more_than_there_is_above_them_are_warned_of() {
    let text = |scheduler: &str, reserves: [&str; 2], inner: &str| {
        format!(
            "port = {{ scheduler = \"{scheduler}\" }}\n{CHAIN}class = [{{ name = \"x\", scheduler = \"fifo\", reserve = \"{}\" }}, \
             {{ name = \"y\", scheduler = \"fifo\", reserve = \"{}\"{inner} }}]\n{}{}",
            reserves[0],
            reserves[1],
            flow("a", "class = \"x\"").replace("5mbit", "1mbit"),
            flow("b", "class = \"y\"").replace("5mbit", "1mbit"),
        )
    };
    for scheduler in ["wf2q-plus", "wfq", "scfq", "sfq", "drr", "virtual-clock"] {
        said(
            &text(scheduler, ["8mbit", "3mbit"], ""),
            "with class `y`, classes reserve 11mbit on link s1->s2, and link s1->s2 carries 10mbit: each gets less",
        );
        silent(&text(scheduler, ["8mbit", "2mbit"], ""));
    }
    let nested = text("wf2q-plus", ["8mbit", "9mbit"], ", parent = \"x\"");
    let nested =
        nested.replace("name = \"x\", scheduler = \"fifo\"", "name = \"x\", scheduler = \"wf2q-plus\"");
    let nested = nested.replace("class = \"x\"", "class = \"y\"");
    said(&nested, "classes reserve 9mbit on link s1->s2, and class `x` reserves 8mbit");
}

/// Two ports of 10 Mbit/s over one pool: 60 packets of 500 B and two need a place, and at each port
/// a packet in service.
#[test]
fn a_pool_that_does_not_cover_buckets_is_warned_of() {
    let to =
        |name: &str| format!("[[link]]\nfrom = \"s\"\nto = \"{name}\"\nrate = \"10mbit\"\nduplex = false\n");
    let text = |switch: &str, call: &str, other: &str| {
        let flow = |name: &str, to: &str, keys: &str| {
            let text = flow(name, keys).replace("s1", "s").replace("s3", to);
            text.replace("5mbit", "1mbit")
        };
        format!(
            "topology = {{ kind = \"nodes\" }}\nport = {{ scheduler = \"virtual-clock\" }}\nswitch = {{ {switch} }}\n\
             node = [{{ name = \"s\" }}, {{ name = \"a\" }}, {{ name = \"b\" }}]\n{}{}{}{}",
            to("a"),
            to("b"),
            flow("call", "a", call),
            flow("other", "b", other)
        )
    };
    let bucket = "reserve = \"1mbit\"\nworkahead = \"30kB\"";
    let pool = |size: &str| format!("buffer = \"{size}\"");
    silent(&text(&pool("64p"), bucket, ""));
    said(
        &text(&pool("63p"), bucket, ""),
        "the pool of `s` holds 63p, and needs 64p for flows within their buckets, 62p of it on link s->a",
    );
    // The bucket in bytes, and as an interval: 1 Mbit/s for 240 ms.
    let interval = "reserve = \"1mbit\"\ninterval = \"240ms\"";
    silent(&text(&pool("32kB"), interval, ""));
    said(&text(&pool("31900B"), interval, ""), "holds 31900B, and needs 32kB");
    // Reservations by rate get half of the memory that is in no bucket; members count one by one.
    silent(&text(&pool("66p"), bucket, "reserve = \"1mbit\""));
    said(&text(&pool("65p"), bucket, "reserve = \"1mbit\""), "needs 66p");
    said(&text(&pool("187p"), &format!("{bucket}\ncount = 3"), ""), "needs 188p");
    said(&text(&pool("125p"), bucket, bucket), "needs 126p");
    // 10 packets of 40 B, and as many as 9 Mbit/s brings beyond one while 500 B of another flow are
    // sent: 450 B.
    let small = text(&pool("23p"), "reserve = \"9mbit\"\nworkahead = \"400B\"", "");
    let small = small
        .replacen("size = \"500B\"", "size = \"40B\"", 1)
        .replace("to = \"b\"\nsize", "to = \"a\"\nsize");
    let small = small.replace(&to("b"), "");
    said(&small, "needs 24p");
    silent(&small.replace("23p", "24p"));
    // A pool without memory set aside has nothing to cover.
    silent(&text("buffer = \"10p\", push_out = \"longest-queue\"", bucket, ""));
    silent(&text("", bucket, ""));
    silent(&text(&pool("10p"), "reserve = \"1mbit\"", "reserve = \"1mbit\""));
}

/// A `[[link]]` where the topology has one is seldom meant as a second link.
#[test]
fn a_link_beside_the_topology_s_own_is_told_how_to_replace_it() {
    let link = |more: &str| format!("[[link]]\nfrom = \"s1\"\nto = \"s2\"\nrate = \"20mbit\"\n{more}");
    said(&format!("{CHAIN}{}{}", flow("a", ""), link("")), "no flow's route uses link s1->s2#2");
    said(&format!("{CHAIN}{}{}", flow("a", ""), link("")), "`replace = true` puts it in the place");
    silent(&format!("{CHAIN}{}{}", flow("a", ""), link("replace = true\n")));
    silent(&format!("routing = \"ecmp\"\n{CHAIN}{}{}", flow("a", ""), link("")));
}
