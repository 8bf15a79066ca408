//! Where a gate's control socket is, and how it is made.

use crate::error::GateError;
use rustix::fs::{Access, Gid, Mode, Uid, access, chmod, chown};
use rustix::process::{geteuid, umask};
use std::fs::{DirBuilder, remove_file};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use tidegate_spec::{GateFile, Operation, Owner};

/// Where the system's gates are.
const SYSTEM: &str = "/run/tidegate";

/// The control socket of the gate that this file describes.
pub(crate) fn of(file: &GateFile) -> PathBuf {
    file.operation.socket.clone().unwrap_or_else(|| named(&file.name))
}

/// The usual place of a running gate's socket, by its name: its user's own, or the system's.
pub(crate) fn named(name: &str) -> PathBuf {
    let (own, system) = (home().join(socket_name(name)), Path::new(SYSTEM).join(socket_name(name)));
    if !own.exists() && system.exists() { system } else { own }
}

fn socket_name(name: &str) -> String {
    let kept = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = name.chars().map(|letter| if kept(letter) { letter } else { '_' }).collect();
    format!("{name}.sock")
}

/// Where this user's gates have their sockets. The root of a user namespace may be nobody out here.
fn home() -> PathBuf {
    if geteuid().is_root() && access("/run", Access::WRITE_OK).is_ok() {
        return PathBuf::from(SYSTEM);
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(own) => Path::new(&own).join("tidegate"),
        None => std::env::temp_dir().join(format!("tidegate-{}", geteuid().as_raw())),
    }
}

/// A socket that is listened at; the file goes with it.
pub(crate) struct Listening {
    pub(crate) listener: UnixListener,
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = remove_file(&self.path);
    }
}

/// Listens at a gate's socket. One that a dead gate left behind is removed.
///
/// # Errors
/// When a gate listens there, or the socket cannot be made as the file says.
pub(crate) fn listen(file: &GateFile) -> Result<Listening, GateError> {
    let own = || home().join(socket_name(&file.name));
    let path = file.operation.socket.clone().unwrap_or_else(own);
    let failed = |error| GateError::system(format!("the control socket {}", path.display()), error);
    if file.operation.socket.is_none() {
        let made = DirBuilder::new().recursive(true).mode(0o755).create(home());
        let owned = made.and_then(|()| {
            let owner = std::fs::metadata(home())?.uid();
            // Anyone may make a folder among the temporary ones, and put sockets of his own into it.
            if owner == geteuid().as_raw() { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
        });
        owned.map_err(|error: std::io::Error| {
            GateError::system(format!("the folder {}", home().display()), error)
        })?;
    }
    match UnixStream::connect(&path) {
        Ok(_) => return Err(GateError::Busy { name: file.name.clone(), socket: path }),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => remove_file(&path).map_err(failed)?,
        Err(_) => {}
    }
    // Nobody else's from the first moment; no other thread runs yet.
    let before = umask(Mode::from_raw_mode(0o177));
    let bound = UnixListener::bind(&path);
    umask(before);
    let listening = Listening { listener: bound.map_err(failed)?, path: path.clone() };
    listening.listener.set_nonblocking(true).map_err(failed)?;
    let Operation { mode, owner, .. } = &file.operation;
    if let Some(owner) = owner {
        let (user, group) = ids(owner)?;
        chown(&path, Some(user), group).map_err(|error| failed(error.into()))?;
    }
    chmod(&path, Mode::from_raw_mode(*mode)).map_err(|error| failed(error.into()))?;
    Ok(listening)
}

fn ids(owner: &Owner) -> Result<(Uid, Option<Gid>), GateError> {
    let unknown = |what: &str, name: &str| GateError::NoOwner(format!("there is no {what} `{name}` here"));
    let by_number = owner.user.parse().ok();
    let user = by_number.or_else(|| uzers::get_user_by_name(&owner.user).map(|user| user.uid()));
    let user = user.ok_or_else(|| unknown("user", &owner.user))?;
    let group = match &owner.group {
        None => None,
        Some(name) => {
            let by_number = name.parse().ok();
            let group = by_number.or_else(|| uzers::get_group_by_name(name).map(|group| group.gid()));
            Some(Gid::from_raw(group.ok_or_else(|| unknown("group", name))?))
        }
    };
    Ok((Uid::from_raw(user), group))
}
