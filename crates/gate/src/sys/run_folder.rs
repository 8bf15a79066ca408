//! The folder of a gate's sockets and locks.

use rustix::fs::{Access, FlockOperation, access, flock};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::process::geteuid;
use std::fs::{DirBuilder, File, read_dir, remove_file, symlink_metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The system's folder, where only root can create anything.
pub(crate) const SYSTEM_FOLDER: &str = "/run/tidegate";

/// Endings of the names of locks and sockets.
pub(crate) const LOCK: &str = "lock";
pub(crate) const SOCKET: &str = "sock";

/// Number of times that the folder's lock is asked for, and the time between two.
const TRIES: u32 = 200;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

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
fn make() -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(own_folder())?;
    let owner = std::fs::metadata(own_folder())?.uid();
    // Another user may have made the folder among the temporary ones, with files of their own in
    // it.
    if owner == geteuid().as_raw() { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The right to take and remove names in the folder, until it is dropped: one process has it at a
/// time, so that a socket at which nobody listens yet, or a file that is not locked yet, is not taken
/// for a dead one.
pub(crate) struct Naming {
    _folder: File,
}

impl Naming {
    /// Waits for the right, which others have for milliseconds.
    ///
    /// # Errors
    /// When the folder cannot be made or locked; `TimedOut` when another process has the right for
    /// two seconds.
    pub(crate) fn take() -> io::Result<Naming> {
        make()?;
        let folder = File::open(own_folder())?;
        for _ in 0..TRIES {
            match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Naming { _folder: folder }),
                Err(Errno::AGAIN | Errno::INTR) => std::thread::sleep(BETWEEN_TRIES),
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "another process has it locked"))
    }

    /// Removes the sockets and the locks of gates that are dead: those at which nobody listens, and
    /// those that nobody holds. What cannot be removed stays.
    pub(crate) fn clear(&self) {
        let Ok(entries) = read_dir(own_folder()) else { return };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let ending = path.extension().and_then(|ending| ending.to_str());
            match ending {
                Some(SOCKET) if is_socket(&path) && listener(&path) == Listener::Dead => {
                    let _ = remove_file(&path);
                }
                Some(LOCK) => remove_unheld(&path),
                _ => {}
            }
        }
    }
}

/// The process behind a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listener {
    /// It listens, even if it takes no connection at the moment.
    Alive,
    /// It has left the socket behind.
    Dead,
    /// There is no socket, or none that this process may connect to.
    Unknown,
}

/// Finds out whether a process listens at a socket, without waiting for it.
pub(crate) fn listener(path: &Path) -> Listener {
    let (domain, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
    let asked = SocketAddrUnix::new(path).and_then(|address| {
        let socket = socket_with(domain, SocketType::STREAM, flags, None)?;
        connect(&socket, &address)
    });
    match asked {
        // Its queue of connections may be full.
        Ok(()) | Err(Errno::AGAIN) => Listener::Alive,
        Err(Errno::CONNREFUSED) => Listener::Dead,
        Err(_) => Listener::Unknown,
    }
}

fn is_socket(path: &Path) -> bool {
    symlink_metadata(path).is_ok_and(|there| there.file_type().is_socket())
}

/// Removes a lock file that no process holds.
fn remove_unheld(path: &Path) {
    if symlink_metadata(path).is_ok_and(|there| there.is_file())
        && let Ok(file) = File::open(path)
        && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
    {
        let _ = remove_file(path);
    }
}
