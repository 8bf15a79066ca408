//! Mistakes about a key that a table does not have.

use crate::error::Complaint;
use crate::record::Section;
use crate::renamed;
use crate::suggest::{brief, did_you_mean, nearest};
use crate::tree::Content;

/// The mistake of a key, with its value if that is known, in a table of this section, which `whose`
/// names: its name of today if it had another, or else the nearest key, or else all of them and the
/// tables of the `whole` file that have such a key.
pub(crate) fn unknown_key(
    (whole, section): (&Section, &Section),
    whose: &str,
    key: &str,
    value: Option<&Content>,
) -> Complaint {
    let unknown = || Complaint::new(format!("{whose} has no key `{}`", brief(key)));
    renamed::key(section, key, value).unwrap_or_else(|| unknown().help(suggestion(whole, section, key)))
}

fn suggestion(whole: &Section, section: &Section, key: &str) -> String {
    let own = || section.fields.iter().map(|field| field.name);
    let suggestion = did_you_mean(key, own()).unwrap_or_else(|| "it takes no keys".to_owned());
    if nearest(key, own()).is_some() {
        return suggestion;
    }
    let elsewhere = match &whole.tables_with(key)[..] {
        [] => return suggestion,
        [one] => one.clone(),
        [one, another] => format!("{one} and of {another}"),
        [one, another, ..] => format!("{one}, of {another} and of others"),
    };
    format!("{suggestion}; `{key}` is a key of {elsewhere}")
}
