mod common;
use common::parse;
#[test]
fn probe() {
    let big = 8 << 20;
    let cases: Vec<(&str, String)> = vec![
        ("dots", format!("a{} = 1", ".a".repeat(2_000_000))),
        ("arrays", format!("a = {}", "[".repeat(4_000_000))),
        ("inline", format!("a = {}", "{a=".repeat(2_000_000))),
        ("header", format!("[a{}]", ".a".repeat(2_000_000))),
        ("tables", "[[flow]]\n".repeat(big / 9)),
        ("unknown", (0..600_000).map(|i| format!("k{i} = 1\n")).collect()),
        ("one line", format!("version = 1\nduration = \"{}\"", "9".repeat(8_000_000))),
        ("name", format!("version = 1\nduration = \"1s\"\n[[node]]\nname = \"{}\"", "9".repeat(8_000_000))),
        ("flows", format!("version = 1\nduration = \"1s\"\ntopology = {{ kind = \"dumbbell\", pairs = 100000, rate = \"1tbit\" }}\n{}", (1..60_000).map(|i| format!("[[flow]]\nname = \"f{i}\"\nfrom = \"l{i}\"\nto = \"r{i}\"\nsize = \"1kB\"\nreserve=\"1kbit\"\nsource = {{ kind = \"cbr\", rate = \"1kbit\" }}\n")).collect::<String>())),
        ("hops", format!("version = 1\nduration = \"1s\"\ntopology = {{ kind = \"parking-lot\", hops = 100000, rate = \"1tbit\" }}\n{}", (1..60_000).map(|i| format!("[[flow]]\nname = \"f{i}\"\nfrom = \"src\"\nto = \"dst\"\nsize = \"1kB\"\nreserve=\"1kbit\"\nsource = {{ kind = \"cbr\", rate = \"1kbit\" }}\n")).collect::<String>())),
        ("nodes", format!("version = 1\nduration = \"1s\"\n{}", (1..200_000).map(|i| format!("[[node]]\nname = \"f{i}\"\n[[link]]\nfrom=\"f{i}\"\nto=\"g\"\nrate=\"1bit\"\n")).collect::<String>())),
        ("classes", format!("version = 1\nduration = \"1s\"\n{}", (1..200_000).map(|i| format!("[[class]]\nname = \"f{i}\"\nparent=\"f{}\"\n", i%199999+1)).collect::<String>())),
    ];
    for (name, text) in cases {
        let t = text;
        let now = std::process::Command::new("date").arg("+%s.%N").output().unwrap();
        let r = parse(&t, &[]);
        let after = std::process::Command::new("date").arg("+%s.%N").output().unwrap();
        let f = |o: std::process::Output| String::from_utf8(o.stdout).unwrap().trim().parse::<f64>().unwrap();
        println!("## {name} {} bytes {:.2}s", t.len(), f(after) - f(now));
        match r {
            Ok(_) => println!("OK"),
            Err(e) => println!("{}", e.to_string().chars().take(600).collect::<String>()),
        }
    }
}
