//! Compressed files as gunzip reads them: members one after the other, and zeros after the last
//! one.

use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// Joined content of the members of a gzip file (RFC 1952). Tapes and disk images pad such files
/// with zeros.
pub(super) struct Gunzip<R> {
    /// `None` at the end.
    member: Option<GzDecoder<BufReader<R>>>,
}

impl<R: Read> Gunzip<R> {
    pub(super) fn new(from: R) -> Gunzip<R> {
        Gunzip { member: Some(GzDecoder::new(BufReader::new(from))) }
    }

    /// Starts the next member, behind the one that has ended.
    fn next_member(&mut self) -> io::Result<()> {
        let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { return Ok(()) };
        loop {
            let bytes = rest.fill_buf()?;
            if bytes.is_empty() {
                return Ok(());
            }
            match bytes.iter().position(|byte| *byte != 0) {
                Some(zeros) => {
                    rest.consume(zeros);
                    self.member = Some(GzDecoder::new(rest));
                    return Ok(());
                }
                None => {
                    let zeros = bytes.len();
                    rest.consume(zeros);
                }
            }
        }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if to.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.member {
            match member.read(to)? {
                0 => self.next_member()?,
                read => return Ok(read),
            }
        }
        Ok(0)
    }
}
