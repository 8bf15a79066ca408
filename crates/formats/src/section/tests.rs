use super::*;
use crate::error::{Place, Report};
use crate::read;
use crate::record::{Section, Shape};
use crate::tree;
use std::path::PathBuf;
use std::sync::LazyLock;
use tidegate_core::params::Kind;
use tidegate_core::units::Span;

section! {
    /// A table of everything.
    #[source = "nowhere"]
    pub(crate) struct Everything = "everything", "Everything" {
        /// Its name
        name: Name,
        /// A rate,
        /// in two lines
        rate: Option<u64> as Rate,
        time: Times,
        /// A word of Rust
        r#match: u8 as Integer(1, 8) = "3",
        /// Sizes
        size: OneOrMore<u64> as Size,
        /// Inner tables
        inner: Vec<Placed<Inner>>,
        /// A choice
        choice: Option<Choice>,
    }
}

section! {
    /// Times.
    pub(crate) struct Times {
        /// A time
        delay: Span = "5ms",
    }
}

section! {
    /// A table in a list.
    pub(crate) struct Inner = "inner", "Inner" {
        /// A file
        file: PathBuf,
    }
}

section! {
    /// A kind without keys.
    #[responsive = true]
    pub(crate) struct Empty = "empty", "Empty kind" {}
}

kinds! {
    /// A choice.
    pub(crate) enum Choice = "choice" {
        Inner,
        Empty,
    }
}

static RECORD: LazyLock<Section> = LazyLock::new(Everything::section);

/// The struct of a text without mistakes.
fn read(text: &str) -> Everything {
    let mut report = Report::default();
    let values = read::read(&RECORD, &tree::parse(text).unwrap(), &mut report);
    assert!(!report.is_full());
    Keys::read(&values).unwrap()
}

/// The place of a part of a text.
fn place(text: &str, part: &str) -> Place {
    let start = text.find(part).unwrap() as u32;
    Place::Text { start, end: start + part.len() as u32 }
}

#[test]
fn a_record_has_the_keys_in_their_order_with_all_that_is_declared() {
    let names: Vec<_> = RECORD.fields.iter().map(|field| field.name).collect();
    assert_eq!(names, ["name", "rate", "delay", "match", "size", "inner", "choice"]);
    assert_eq!((RECORD.name, RECORD.title, RECORD.source), ("everything", "Everything", Some("nowhere")));
    assert_eq!(RECORD.help, "A table of everything.");
    let required: Vec<_> = RECORD.fields.iter().filter(|field| field.required).collect();
    assert!(matches!(required[..], [field] if field.name == "name"));
    let field = |name| RECORD.field(name).unwrap();
    assert_eq!(field("rate").help, "A rate, in two lines");
    assert_eq!(field("match").default.as_deref(), Some("3"));
    assert!(matches!(field("match").shape, Shape::Value(Kind::Integer(1, 8))));
    assert!(matches!(field("size").shape, Shape::OneOrMore(Kind::Size)));
    let Shape::OneOf(choice) = &field("choice").shape else { panic!() };
    assert!(choice.option("empty").unwrap().responsive && !choice.option("inner").unwrap().responsive);
}

#[test]
fn keys_that_were_written_have_their_places() {
    let text = "name = \"a\"\nrate = \"2kbit\"\ndelay = \"1s\"\nmatch = 8\nsize = [\"1B\", \"2B\"]\n\
                choice = { kind = \"inner\", file = \"f\" }\n[[inner]]\nfile = \"g\"\n";
    let all = read(text);
    assert_eq!(all.name.as_str(), "a");
    assert_eq!((*all.rate, all.rate.given, all.rate.place), (Some(2_000), true, place(text, "\"2kbit\"")));
    assert_eq!((*all.time.delay, all.time.delay.key), (Span::from_secs(1), "delay"));
    assert_eq!((*all.r#match, all.r#match.written()), (8, Some(("match", place(text, "8")))));
    assert_eq!(all.size[..], [1, 2]);
    let Some(Choice::Inner(chosen)) = &*all.choice else { panic!() };
    assert_eq!((all.choice.as_ref().unwrap().about().title, &**chosen.file), ("Inner", "f".as_ref()));
    assert_eq!((all.inner.len(), &**all.inner[0].file), (1, "g".as_ref()));
    assert_eq!(all.inner[0].place, place(text, "[[inner]]"));
}

#[test]
fn keys_that_were_left_out_have_their_defaults_and_the_place_of_the_table() {
    let all = read("name = \"a\"");
    assert_eq!((*all.rate, all.rate.given, all.rate.place), (None, false, Place::File));
    assert_eq!((*all.time.delay, all.time.delay.written()), (Span::from_millis(5), None));
    assert_eq!(*all.r#match, 3);
    assert!(all.size.is_empty() && all.inner.is_empty() && all.choice.is_none());
}
