//! Classes in each other: a class alone in the one above has all that this one has.

use super::{parse, run};

/// Two flows that flood 4 Mbit/s share it one to three. Each is in `levels` classes, of which each has
/// nothing but the next in it.
fn shares(scheduler: &str, levels: usize) -> [u64; 2] {
    let mut text = format!(
        "version = 1\nduration = \"5s\"\nport = {{ scheduler = \"{scheduler}\" }}\n\
         node = [{{ name = \"h\", kind = \"host\" }}, {{ name = \"r1\" }}, {{ name = \"r2\" }}]\n\
         link = [{{ from = \"h\", to = \"r1\", rate = \"10gbit\" }}, {{ from = \"r1\", to = \"r2\", rate = \"4mbit\" }}]\n"
    );
    for (flow, reserve) in [("a", "1mbit"), ("b", "3mbit")] {
        for level in 0..levels {
            let parent = match level {
                0 => String::new(),
                _ => format!("parent = \"{flow}{}\"\n", level - 1),
            };
            text += &format!(
                "[[class]]\nname = \"{flow}{level}\"\nscheduler = \"{scheduler}\"\nreserve = \"{reserve}\"\n{parent}"
            );
        }
        text += &format!(
            "[[flow]]\nname = \"{flow}\"\nfrom = \"h\"\nto = \"r2\"\nsize = \"1000B\"\nreserve = \"{reserve}\"\n\
             source = {{ kind = \"cbr\", rate = \"8mbit\" }}\nclass = \"{flow}{}\"\n",
            levels - 1
        );
    }
    let scenario = parse(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let world = run(&scenario, 1);
    let records = world.records();
    [0, 1].map(|flow| records[flow].received.0)
}

#[test]
fn nine_classes_in_each_other_share_as_one() {
    for scheduler in ["wf2q-plus", "wfq", "scfq", "sfq", "virtual-clock", "drr"] {
        let [flat, deep] = [1, 9].map(|levels| shares(scheduler, levels));
        for (flat, deep) in flat.into_iter().zip(deep) {
            assert!(flat.abs_diff(deep) <= 2, "{scheduler}: {flat} packets in one class, {deep} in nine");
        }
        assert!((3 * deep[0]).abs_diff(deep[1]) <= 9, "{scheduler}: {deep:?}");
    }
}
