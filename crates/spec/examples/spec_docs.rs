//! Prints one of the documents that come from the records: `schema`, `reference` or `python`.

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("schema") => println!("{:#}", tidegate_spec::schema()),
        Some("reference") => print!("{}", tidegate_spec::reference()),
        Some("python") => print!("{}", tidegate_spec::python_types()),
        _ => eprintln!("usage: spec_docs schema|reference|python"),
    }
}
