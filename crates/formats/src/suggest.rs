//! Suggestions of similar names: "did you mean …?"

/// Names longer than this are neither compared nor shown in full.
const MAX_SHOWN: usize = 64;

/// The candidate nearest to `name`, if one is near enough to be the intended name. Ties go to the
/// first.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.chars().count() > MAX_SHOWN {
        return None;
    }
    let folded = fold(name);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = strsim::damerau_levenshtein(&folded, &fold(candidate));
        // A third of the letters may be wrong; a short name may still have one wrong.
        let allowed = (folded.chars().count().max(candidate.chars().count()) / 3).max(1);
        let starts_alike =
            folded.len() >= 3 && (candidate.starts_with(&folded) || folded.starts_with(candidate));
        if (distance <= allowed || starts_alike) && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Folds the case and the separators of a name: `virtual_clock` and `virtual-clock` become equal.
fn fold(name: &str) -> String {
    name.to_lowercase().replace('_', "-")
}

/// Suggestion for a `name` not among `candidates`: the nearest one, or all of them when they are
/// few.
pub(crate) fn did_you_mean<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<String> {
    if let Some(near) = nearest(name, candidates.clone()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let mut all: Vec<&str> = candidates.into_iter().take(MAX_LISTED + 1).collect();
    match all.len() {
        0 => None,
        1 => Some(format!("the only one is `{}`", all[0])),
        2..=MAX_LISTED => Some(format!("it is one of {}", all.join(", "))),
        _ => {
            all.truncate(3);
            Some(format!("there are {} and others", all.join(", ")))
        }
    }
}

/// The nearest of `candidates`, and all others: for names that a person chose, of which the nearest
/// by its letters may not be the intended one.
pub(crate) fn nearest_and_all<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str> + Clone,
) -> Option<String> {
    let near = nearest(name, candidates.clone());
    // No name is near the empty one, so this gives the list.
    let all = did_you_mean("", candidates)?;
    Some(match near {
        Some(near) => format!("did you mean `{near}`? {all}"),
        None => all,
    })
}

const MAX_LISTED: usize = 24;

/// `text` for a message, cut if very long.
pub(crate) fn brief(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let known = ["fifo", "virtual-clock", "strict-priority", "rate"];
        assert_eq!(nearest("virtual_clock", known), Some("virtual-clock"));
        assert_eq!(nearest("virtual", known), Some("virtual-clock"));
        assert_eq!(nearest("FIFO", known), Some("fifo"));
        assert_eq!(nearest("raet", known), Some("rate"));
        assert_eq!(nearest("weighted", known), None);
        assert_eq!(nearest("", known), None);
    }

    #[test]
    fn without_a_near_name_the_few_are_listed() {
        assert_eq!(did_you_mean("x-ray", ["fifo", "drr"]), Some("it is one of fifo, drr".to_owned()));
        assert_eq!(did_you_mean("x-ray", []), None);
        let said = nearest_and_all("s9", ["s1", "host"]);
        assert_eq!(said, Some("did you mean `s1`? it is one of s1, host".to_owned()));
        assert_eq!(nearest_and_all("server", ["s1", "h1"]), Some("it is one of s1, h1".to_owned()));
    }
}
