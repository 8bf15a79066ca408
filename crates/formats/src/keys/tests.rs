use super::*;
use crate::record::Shape;
use std::collections::BTreeSet;

fn every_section<'s>(section: &'s Section, visit: &mut impl FnMut(&'s Section)) {
    visit(section);
    for field in &section.fields {
        match &field.shape {
            Shape::Table(inner) | Shape::Tables(inner) => every_section(inner, visit),
            Shape::OneOf(one_of) | Shape::ValueOrOneOf(_, one_of) => {
                one_of.options.iter().for_each(|option| every_section(option, visit))
            }
            _ => {}
        }
    }
}

#[test]
fn keys_are_unique_and_plain() {
    every_section(scenario(), &mut |section| {
        let names: BTreeSet<_> = section.fields.iter().map(|field| field.name).collect();
        assert_eq!(names.len(), section.fields.len(), "{}", section.name);
        for field in &section.fields {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            assert!(field.name.bytes().all(plain), "{}", field.name);
            assert_ne!(field.name, "kind_", "{}", section.name);
            assert!(
                !field.help.ends_with('.') && field.help.starts_with(char::is_uppercase),
                "{}",
                field.help
            );
        }
        assert!(section.help.ends_with('.'), "{}", section.help);
    });
}

#[test]
fn no_kind_takes_a_key_named_kind() {
    every_section(scenario(), &mut |section| {
        for field in &section.fields {
            if let Shape::OneOf(one_of) | Shape::ValueOrOneOf(_, one_of) = &field.shape {
                assert!(
                    one_of.options.iter().all(|option| option.field("kind").is_none()),
                    "{}",
                    one_of.what
                );
                assert!(
                    one_of.default_kind.is_none_or(|kind| one_of.option(kind).is_some()),
                    "{}",
                    one_of.what
                );
            }
        }
    });
}

/// A default is shown as it would be written, and equals the default in the policy's own code.
#[test]
fn defaults_of_policies_are_read_as_they_are_meant() {
    every_section(scenario(), &mut |section| {
        for param in section.policy.map_or(&[][..], |policy| policy.params) {
            let field = section.field(param.name).unwrap();
            let (Some(meant), Some(shown)) = ((param.default)(), &field.default) else {
                assert_eq!(field.default, None, "{}", param.name);
                continue;
            };
            let content = crate::scalar::content_of_default(param.kind, shown);
            assert_eq!(crate::scalar::read(param.kind, param.name, &content), Ok(meant), "{}", param.name);
        }
    });
}

#[test]
fn registered_policies_are_offered() {
    let mut seen = BTreeSet::new();
    every_section(scenario(), &mut |section| {
        seen.extend(section.policy.map(|policy| policy.name));
    });
    let all: BTreeSet<_> = tidegate_core::policies::built_in().map(|record| record.name).collect();
    assert_eq!(seen, all);
}
