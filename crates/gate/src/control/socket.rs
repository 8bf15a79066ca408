//! The control socket: its path, its owner and its mode.

use crate::error::GateError;
use crate::sys::run_folder::{Listener, Naming, SOCKET, SYSTEM_FOLDER, listener, own_folder};
use rustix::fs::{AtFlags, CWD, Gid, Mode, Uid, chownat};
use rustix::process::umask;
use std::fs::{remove_file, symlink_metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tidegate_formats::{GateFile, GateOutline, Operation, Owner};

/// The path of the control socket of a file's gate.
pub(crate) fn path_for(outline: &GateOutline) -> PathBuf {
    outline.socket.clone().unwrap_or_else(|| path_by_name(&outline.name))
}

/// The default path of a gate's socket: in the user's own folder, or in the system's if it exists
/// only there.
pub(crate) fn path_by_name(name: &str) -> PathBuf {
    let own = own_folder().join(file_name(name));
    let system = Path::new(SYSTEM_FOLDER).join(file_name(name));
    if !own.exists() && system.exists() { system } else { own }
}

fn file_name(name: &str) -> String {
    let kept = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let name: String = name.chars().map(|letter| if kept(letter) { letter } else { '_' }).collect();
    format!("{name}.{SOCKET}")
}

/// A listening control socket; its file is removed when it is dropped.
pub(super) struct ControlSocket {
    pub(super) listener: UnixListener,
    path: PathBuf,
    /// The device and the number of its file.
    bound: (u64, u64),
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Another file may have its name now.
        if symlink_metadata(&self.path).is_ok_and(|there| (there.dev(), there.ino()) == self.bound) {
            let _ = remove_file(&self.path);
        }
    }
}

impl ControlSocket {
    /// Listens at a gate's socket. A socket file that a killed gate left there is removed, and so are
    /// the sockets and locks of dead gates in the gates' folder.
    ///
    /// # Errors
    /// When a gate listens there, another kind of file is there, or the socket cannot be made with
    /// the owner and mode that the gate file states.
    pub(super) fn listen(file: &GateFile) -> Result<ControlSocket, GateError> {
        let own = || own_folder().join(file_name(&file.name));
        let path = file.operation.socket.clone().unwrap_or_else(own);
        let failed = |error| GateError::system(format!("the control socket {}", path.display()), error);
        // A socket of another folder has a name of the operator's own.
        let naming = match file.operation.socket {
            None => Some(Naming::take().map_err(|error| {
                GateError::system(format!("the folder {}", own_folder().display()), error)
            })?),
            Some(_) => Naming::take().ok(),
        };
        if let Some(naming) = &naming {
            naming.clear();
        }
        // Only a socket is ever removed: neither a file that was named by mistake nor the target of
        // a link.
        if symlink_metadata(&path).is_ok_and(|there| !there.file_type().is_socket()) {
            return Err(GateError::NoSocket(path));
        }
        match listener(&path) {
            Listener::Alive => {
                return Err(GateError::AlreadyRunning { name: file.name.clone(), socket: path });
            }
            Listener::Dead => remove_file(&path).map_err(failed)?,
            Listener::Unknown => {}
        }
        let Operation { mode, owner, .. } = &file.operation;
        let owner = owner.as_ref().map(ids).transpose()?;
        // The socket has its mode from the start. The umask belongs to the process: no other thread
        // runs yet.
        let before = umask(Mode::from_raw_mode(0o777 & !*mode));
        let bound = UnixListener::bind(&path);
        umask(before);
        let listener = bound.map_err(failed)?;
        let bound = symlink_metadata(&path).map(|there| (there.dev(), there.ino())).map_err(failed)?;
        let socket = ControlSocket { listener, path: path.clone(), bound };
        socket.listener.set_nonblocking(true).map_err(failed)?;
        if let Some((user, group)) = owner {
            // If a link was put there meanwhile, its target keeps its owner.
            chownat(CWD, &path, Some(user), group, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|error| failed(error.into()))?;
        }
        Ok(socket)
    }
}

fn ids(owner: &Owner) -> Result<(Uid, Option<Gid>), GateError> {
    let unknown =
        |kind: &str, name: &str| GateError::UnknownOwner(format!("there is no {kind} `{name}` here"));
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
