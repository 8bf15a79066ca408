use super::*;

fn warned(flows: &str) -> Vec<String> {
    let text = format!(
        "version = 1\ngate = {{ inside = \"a\", outside = \"b\", up = \"10mbit\", down = \"20mbit\" }}\n\
         port = {{ scheduler = \"virtual-clock\" }}\nflow = [{flows}]\n"
    );
    warnings(&GateFile::parse(&text, "g.toml", &[]).unwrap())
}

#[test]
fn who_matches_one_version_of_ip_is_told_of_the_other() {
    let all_ipv4 = r#"{ name = "all", match = { inside = "0.0.0.0/0" }, each = "host", reserve = "1mbit" }"#;
    let said = warned(all_ipv4);
    assert_eq!(
        said[0],
        "up: IPv6 that matches no flow shares 100kbit with everything else that matches none; add a flow with match = { inside = \"::/0\" }"
    );
    assert!(said.len() == 2 && said[1].starts_with("down: IPv6 that matches no flow shares 200kbit"));
    let all_ipv6 = all_ipv4.replace("all\"", "six\"").replace("0.0.0.0/0", "::/0");
    assert!(warned(&all_ipv6)[0].contains("IPv4 that matches no flow"));
    assert_eq!(warned(&format!("{all_ipv4}, {all_ipv6}")), [""; 0]);
    assert_eq!(warned(r#"{ name = "any" }"#), [""; 0]);
    // A file that names single applications leaves the rest alone on purpose.
    assert_eq!(
        warned(r#"{ name = "voice", match = { protocol = "udp", dscp = 46 }, reserve = "1mbit" }"#),
        [""; 0]
    );
}
