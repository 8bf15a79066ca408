//! The folder of a gate's sockets and locks.

use rustix::fs::{Access, access};
use rustix::process::geteuid;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The system's folder, where only root can create anything.
pub(crate) const SYSTEM_FOLDER: &str = "/run/tidegate";

/// The folder of this user. The root of a user namespace may not write to the system's.
pub(crate) fn own_folder() -> PathBuf {
    if geteuid().is_root() && access("/run", Access::WRITE_OK).is_ok() {
        return PathBuf::from(SYSTEM_FOLDER);
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(own) => Path::new(&own).join("tidegate"),
        None => std::env::temp_dir().join(format!("tidegate-{}", geteuid().as_raw())),
    }
}

/// Makes the folder, unless it exists.
///
/// # Errors
/// When the folder cannot be made, or belongs to another user.
pub(crate) fn make() -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(own_folder())?;
    let owner = std::fs::metadata(own_folder())?.uid();
    // Another user may have made the folder among the temporary ones, with files of their own in
    // it.
    if owner == geteuid().as_raw() { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
