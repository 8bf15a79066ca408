//! The commands of docs/gate.md, exactly as they stand there.

mod common;

use common::BINARY;
use std::path::Path;
use std::process::Command;

/// A gate file that a page shows is valid.
#[test]
fn the_files_of_the_page_on_tc_are_in_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/gate-from-tc.md")).unwrap();
    let files: Vec<&str> =
        page.split("```toml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    // A scenario has a topology, and is run by another test.
    let files = files.into_iter().filter(|text| text.starts_with("version") && !text.contains("topology"));
    let folder = std::env::temp_dir().join(format!("tidegate-docs-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    // A file names LibreQoS's files, which those of the example stand in for.
    for name in ["ShapedDevices.csv", "network.json"] {
        std::fs::copy(root.join("examples/gates").join(name), folder.join(name)).unwrap();
    }
    let mut checked = 0;
    for text in files {
        let path = folder.join("gate.toml");
        std::fs::write(&path, text).unwrap();
        let told = Command::new(BINARY).arg("check").arg(&path).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        checked += 1;
    }
    assert!(checked > 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
#[ignore = "needs root and network namespaces"]
fn the_page_can_be_followed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/gate.md")).unwrap();
    let script =
        page.split("<!-- try -->\n```sh\n").nth(1).unwrap().split("```\n<!-- /try -->").next().unwrap();
    // The names of namespaces and gates are private to a mount namespace with its own /run.
    let private = format!("mount -t tmpfs none /run && set -e\n{script}");
    let path =
        format!("{}:{}", Path::new(BINARY).parent().unwrap().display(), std::env::var("PATH").unwrap());
    let followed = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &private])
        .env("PATH", path)
        .current_dir(root)
        .output()
        .unwrap();
    let (printed, said) =
        (String::from_utf8_lossy(&followed.stdout), String::from_utf8_lossy(&followed.stderr));
    assert!(followed.status.success(), "{printed}\n{said}");
    assert!(printed.contains(" 0% packet loss"), "{printed}\n{said}");
    assert!(printed.contains("inside -> outside at 9500kbit") && printed.contains("computers "), "{printed}");
}
