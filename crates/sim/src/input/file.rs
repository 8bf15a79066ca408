//! A file as a stream of bytes, decompressed if necessary.

use super::error::{InputError, TracePlace};
use super::gzip::Gunzip;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

/// Opens a file that can be read again.
pub(super) fn open_file(path: &Path) -> Result<File, InputError> {
    let unreadable = |source| InputError::Unreadable { file: path.to_owned(), source };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    // Only some systems say in the error that the path is a directory.
    if metadata.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    if !metadata.is_file() {
        return Err(InputError::NotAFile { file: path.to_owned() });
    }
    File::open(path).map_err(unreadable)
}

/// Reads from the bytes of `input`, decompressed if necessary; `head` is the first of them, at most
/// four.
pub(super) fn with_plain_bytes<T>(
    input: impl Read,
    name: &Path,
    read: impl FnOnce(&[u8], &mut dyn Read) -> Result<T, InputError>,
) -> Result<T, InputError> {
    let unreadable = |source| InputError::Unreadable { file: name.to_owned(), source };
    let (head, mut input) = peek(input).map_err(unreadable)?;
    if head.starts_with(&[0x1f, 0x8b]) {
        let (head, mut input) = peek(Gunzip::new(input)).map_err(|source| match source.kind() {
            io::ErrorKind::UnexpectedEof => InputError::Truncated {
                file: name.to_owned(),
                place: TracePlace::Packet { number: 1, offset: 0 },
            },
            _ => unreadable(source),
        })?;
        return whole(head, &mut input, name, read);
    }
    whole(head, &mut input, name, read)
}

/// Reads from uncompressed bytes. Skips the byte-order mark that some programs write before UTF-8
/// text (RFC 3629, section 6).
fn whole<T>(
    head: Vec<u8>,
    mut input: &mut dyn Read,
    name: &Path,
    read: impl FnOnce(&[u8], &mut dyn Read) -> Result<T, InputError>,
) -> Result<T, InputError> {
    const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];
    if head.is_empty() {
        return Err(InputError::Empty { file: name.to_owned() });
    }
    if !head.starts_with(&MARK) {
        return read(&head, input);
    }
    let unreadable = |source| InputError::Unreadable { file: name.to_owned(), source };
    input.read_exact(&mut [0; 3]).map_err(unreadable)?;
    let (head, mut input) = peek(&mut input).map_err(unreadable)?;
    if head.is_empty() {
        return Err(InputError::Empty { file: name.to_owned() });
    }
    read(&head, &mut input)
}

/// Returns the first four bytes (fewer when there are no more), and the whole input.
fn peek<R: Read>(mut input: R) -> io::Result<(Vec<u8>, impl Read)> {
    let mut head = Vec::new();
    input.by_ref().take(4).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(input)))
}

/// Returns true if these first bytes are of a text.
pub(super) fn is_text(head: &[u8]) -> bool {
    head.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~'))
}
