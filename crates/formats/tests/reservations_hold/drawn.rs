//! A gate at random, and traffic for it.

use crate::traffic::{FULL, Pattern};
use tidegate_core::rng::Rng;

/// Draws one of these.
fn one_of<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.below(all.len() as u64) as usize]
}

/// A number between two, on a logarithmic scale.
fn between(rng: &mut Rng, least: f64, most: f64) -> f64 {
    least * (most / least).powf(rng.unit())
}

/// A gate at random, and traffic.
pub struct Drawn {
    pub text: String,
    pub rate: f64,
    pub reserve: f64,
    pub longest: u32,
    pub slack: f64,
    pub pattern: Pattern,
    /// Longest time after its own line would have sent it that a packet of the named flow may
    /// leave: a largest packet's time at the link, and as much for each class beside, except under
    /// WF²Q+; at its class, one more for the class's own debt.
    pub bound: f64,
    /// Reservation of each member of the first flow with `each`.
    pub each: f64,
}

pub fn draw(seed: u64, most_addresses: f64) -> Drawn {
    let rng = &mut Rng::named(seed, "gate");
    let rate = between(rng, 2e6, 100e6).round();
    let reserve = (rate * between(rng, 0.01, 0.6)).round();
    let each = (rate * between(rng, 0.001, 0.3)).round();
    let scheduler = one_of(
        rng,
        &[
            "",
            "port = { scheduler = \"wf2q-plus\" }\n",
            "port = { scheduler = \"wfq\" }\n",
            "port = { scheduler = \"virtual-clock\" }\n",
        ],
    );
    let buffer = one_of(rng, &["", "switch = { buffer = \"200p\" }\n", "switch = { buffer = \"150kB\" }\n"]);
    let unit = one_of(
        rng,
        &[
            "each = \"host\"",
            "each = \"5-tuple\"",
            "each = \"subscriber\"",
            "each = \"host\"\nwithin = \"5-tuple\"",
        ],
    );
    // A member without a reservation has a weight, which its scheduler takes from no other member.
    let claim = match rng.chance(0.2) {
        true => String::new(),
        false => format!("reserve = \"{each}bit\"\n"),
    };
    let text = format!(
        "version = 1\n{scheduler}{buffer}gate = {{ inside = \"a\", outside = \"b\", up = \"{rate}bit\", down = \"{rate}bit\" }}\n"
    );
    let web = rng.chance(0.3) && each * 2.0 + reserve < rate;
    // The hosts may be in a class beside the call, or with it where schedulers in classes keep
    // rates.
    let fair = scheduler.is_empty() || scheduler.contains("wf2q-plus");
    let site = match rng.below(4) {
        0 if !claim.is_empty() => Some(each),
        1 if fair && !claim.is_empty() => Some(each + reserve),
        _ => None,
    };
    let together = site.is_some_and(|least| least > each);
    let others = if together { 0.0 } else { reserve } + if web { each } else { 0.0 };
    let site = site.map(|least| least + ((rate - others - least) * rng.unit()).floor());
    let class = if site.is_some() { "class = \"site\"\n" } else { "" };
    let of_call = if together { class } else { "" };
    let mut flows =
        site.map_or(String::new(), |bits| format!("[[class]]\nname = \"site\"\nreserve = \"{bits}bit\"\n"));
    flows += &format!(
        "[[flow]]\nname = \"call\"\nmatch = {{ inside = \"192.168.7.7\" }}\nreserve = \"{reserve}bit\"\n{of_call}"
    );
    if web {
        flows += &format!(
            "[[flow]]\nname = \"web\"\nmatch = {{ inside_port = [1001, 1003] }}\neach = \"host\"\nreserve = \"{each}bit\"\n"
        );
    }
    // Under VirtualClock flows without a reservation are datagrams, whose number does not count.
    let datagrams = claim.is_empty() && scheduler.contains("virtual-clock");
    let full = f64::from(FULL) * 8.0;
    let bound = match site.filter(|_| together) {
        Some(site) => full / rate + 2.0 * full / site,
        None if fair => full / rate,
        None => (1.0 + f64::from(web) + f64::from(!datagrams)) * full / rate,
    };
    // Ceilings take nothing from a bound, except VirtualClock's.
    let mut held = Rng::named(seed, "ceilings");
    let ceiling = match held.chance(0.4) && !scheduler.contains("virtual-clock") {
        true => format!("ceiling = \"{}bit\"\n", (each * (1.0 + 3.0 * held.unit())).round()),
        false => String::new(),
    };
    flows += &format!("[[flow]]\nname = \"hosts\"\n{unit}\n{claim}{ceiling}{class}");
    let (least, most) = one_of(rng, &[(64, 64), (FULL, FULL), (64, FULL), (60, 300)]);
    let pattern = Pattern {
        addresses: between(rng, 1.0, most_addresses) as u64,
        load: between(rng, 0.5, 5.0),
        sizes: (least, most),
        in_a_row: one_of(rng, &[1, 2, 50]),
        in_turn: rng.chance(0.5),
        seconds: 0.0,
    };
    // As many packets of the others as a few rounds of the addresses take, and at least fifty of
    // the call.
    let mean = f64::from(least + most) * 4.0;
    let packets = (pattern.addresses as f64 * pattern.in_a_row as f64 * 1.5).clamp(4_000.0, 150_000.0);
    let longest = one_of(rng, &[64, 214, 600, FULL]);
    let calls = 50.0 * f64::from(longest) * 8.0 / reserve;
    let seconds = (packets * mean / (rate * pattern.load)).max(calls);
    let slack = one_of(rng, &[0.0, 0.5, 3.0]);
    Drawn {
        text: text + &flows,
        rate,
        reserve,
        longest,
        slack,
        pattern: Pattern { seconds, ..pattern },
        bound,
        each,
    }
}
