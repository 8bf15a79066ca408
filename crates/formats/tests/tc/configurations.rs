//! Configurations that `tc` showed, and their translations.

use std::fs;
use std::path::{Path, PathBuf};
use tidegate_formats::GateFile;
use tidegate_formats::tc::{CIRCUITS, Import, Line, import};

/// A folder of its own for a test, which is removed with it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("tidegate-tc-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub const PARTS: [&str; 3] = ["qdisc", "class", "filter"];
/// Configurations that are translated, in the folder `recorded`.
pub const RECORDED: [&str; 15] = [
    "office", "lan0", "u32", "flower", "cake1", "cake2", "cake3", "cake4", "cake5", "cake6", "fq_codel",
    "tbf", "tbf-peak", "sfq", "bfifo",
];

pub fn recorded(name: &str) -> [String; 3] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tc/recorded");
    // Empty lists are not kept.
    PARTS
        .map(|part| fs::read_to_string(folder.join(format!("{name}-{part}.json"))).unwrap_or("[]".to_owned()))
}

/// Translates texts of the three kinds for one direction.
pub fn translated(
    folder: &Folder,
    texts: &[String; 3],
    is_up: bool,
    up: Option<u64>,
) -> Result<Import, String> {
    let files: Vec<PathBuf> = PARTS.iter().map(|part| folder.0.join(format!("{part}.json"))).collect();
    files.iter().zip(texts).for_each(|(file, text)| fs::write(file, text).unwrap());
    let (files, rates) = match is_up {
        true => ([files, Vec::new()], [up, Some(48_000_000)]),
        false => ([Vec::new(), files], [Some(48_000_000), up]),
    };
    let made = import(&files, &Line { inside: "lan0", outside: "wan0", rates });
    made.map_err(|errors| errors.to_string().replace(&format!("{}/", folder.0.display()), ""))
}

/// Translates likewise, with a rate if one is needed.
pub fn import_of(folder: &Folder, texts: &[String; 3], is_up: bool) -> Result<Import, String> {
    let made = translated(folder, texts, is_up, None);
    match made {
        Err(message) if message.contains("is needed: nothing that was read") => {
            translated(folder, texts, is_up, Some(9_500_000))
        }
        made => made,
    }
}

pub fn losses(made: &Import) -> Vec<String> {
    made.losses.iter().map(|loss| loss.message.clone()).collect()
}

/// Everything that a translation says.
pub fn told(made: &Result<Import, String>) -> String {
    match made {
        Ok(made) => format!("{}\n{:?}\n{}", made.gate, made.before, losses(made).join("\n")),
        Err(message) => message.clone(),
    }
}

/// Loads both files, and returns that of the gate.
pub fn runs(folder: &Folder, made: &Import) -> GateFile {
    let list = folder.0.join(CIRCUITS);
    match &made.circuits {
        Some(circuits) => fs::write(list, circuits).unwrap(),
        None => _ = fs::remove_file(list),
    }
    let mut gates = Vec::new();
    for text in [Some(&made.gate), made.before.as_ref().ok().map(|before| &before.file)].into_iter().flatten()
    {
        let file = folder.0.join("gate.toml");
        fs::write(&file, text).unwrap();
        gates.push(GateFile::load(&file, &[]).unwrap_or_else(|errors| panic!("{errors}\n{text}")));
    }
    gates.swap_remove(0)
}
