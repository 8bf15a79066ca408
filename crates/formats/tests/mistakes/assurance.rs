//! Averaging windows of no length, and scopes without a node or a name of their own.

use super::{check, column, parse};

#[test]
fn a_window_has_a_length_and_a_scope_names_nodes() {
    let with = |keys: &str| {
        format!(
            "version = 1\nduration = \"3s\"\nwarmup = \"1s\"\n\
             topology = {{ kind = \"chain\", switches = 2, rate = \"1mbit\" }}\nassurance = {{ {keys} }}\n\
             [[flow]]\nname = \"f\"\nfrom = \"s1\"\nto = \"s2\"\nsize = \"1kB\"\n\
             source = {{ kind = \"cbr\", rate = \"9kbit\" }}\n"
        )
    };
    parse(&with("window = \"2s\", scope = [{ name = \"a\", to = [\"s1\", \"s2\"] }]"), &[]).unwrap();
    let mistake = |keys: &str, at: &str, message: &str, help: Option<&str>| {
        let text = with(keys);
        check(&text, &[], &format!("a.toml:5:{}: {message}", column(&text, 5, at)), help);
    };
    mistake("window = \"0s\"", "\"0s\"", "`window` is zero", None);
    let nowhere = "window = \"1s\", scope = [{ name = \"a\", to = \"s3\" }]";
    mistake(nowhere, "\"s3\"", "there is no node `s3`", Some("did you mean `s1`? it is one of s1, s2"));
    let twice = "window = \"1s\", scope = [{ name = \"a\", to = \"s1\" }, { name = \"b\", to = \"s2\" }]";
    let twice = twice.replace("\"b\"", "\"a\" ");
    mistake(&twice, "\"a\" ", "there is already a scope `a`", None);
}
