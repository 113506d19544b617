//! The target that a thread reads and writes: a file (mapped, buffered or O_DIRECT), or a record server (`loadline
//! serve record`).

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};

use sys::map::Map;

use super::remote::Remote;
use super::{Mode, Result, ThreadSpec, access};

/// Alignment in bytes that O_DIRECT requires of memory. [`ThreadSpec`] ensures that offsets and lengths are multiples
/// of 512.
const ALIGNMENT: usize = 4096;

pub(super) struct Target {
    kind: Kind,
    path: String,
    record_bytes: usize,
    records: u64,
    buffer: Vec<u8>,
    /// Offset of the first byte in `buffer` whose memory address is a multiple of [`ALIGNMENT`].
    lead: usize,
}

enum Kind {
    File(File),
    Mapped(Map),
    Remote(Box<Remote>),
    /// Target whose accesses do nothing, for measuring the program's overhead.
    Nothing,
}

impl Target {
    pub(super) fn open(thread: &ThreadSpec) -> Result<Self> {
        let refused = access("open", &thread.file, "name a file that exists and is not empty");
        let empty = || refused(std::io::Error::other("it is shorter than one record"));
        let record_bytes = thread.record_bytes as usize;
        let (kind, bytes) = if thread.file.starts_with("record://") {
            let remote = Remote::connect(&thread.file, thread.record_bytes)?;
            let bytes = remote.file_bytes();
            (Kind::Remote(Box::new(remote)), bytes)
        } else {
            open_file(thread).map_err(&refused)?
        };
        let records = bytes / u64::from(thread.record_bytes);
        if records == 0 {
            return Err(empty());
        }
        Ok(Self::of(kind, &thread.file, record_bytes, records))
    }

    /// Creates a target whose accesses do nothing.
    pub(super) fn nothing() -> Self {
        Self::of(Kind::Nothing, "", 512, 1)
    }

    fn of(kind: Kind, path: &str, record_bytes: usize, records: u64) -> Self {
        let buffer = vec![0_u8; record_bytes + ALIGNMENT];
        let lead = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { kind, path: path.into(), record_bytes, records, buffer, lead }
    }

    /// Returns the number of records in the file.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    pub(super) fn read(&mut self, record: u64) -> Result<()> {
        let offset = record * self.record_bytes as u64;
        let bytes = &mut self.buffer[self.lead..self.lead + self.record_bytes];
        match &mut self.kind {
            Kind::File(file) => file.read_exact_at(bytes, offset).map_err(access("read", &self.path, ADVICE)),
            Kind::Mapped(map) => {
                map.copy_to(offset as usize, bytes);
                Ok(())
            }
            Kind::Remote(remote) => remote.read(offset),
            Kind::Nothing => Ok(()),
        }
    }

    pub(super) fn write(&mut self, record: u64) -> Result<()> {
        let offset = record * self.record_bytes as u64;
        let bytes = &self.buffer[self.lead..self.lead + self.record_bytes];
        match &mut self.kind {
            Kind::File(file) => file.write_all_at(bytes, offset).map_err(access("write", &self.path, ADVICE)),
            Kind::Mapped(map) => {
                map.copy_from(offset as usize, bytes);
                Ok(())
            }
            Kind::Remote(remote) => remote.write(offset, bytes),
            Kind::Nothing => Ok(()),
        }
    }
}

const ADVICE: &str = "the file may have become shorter, or the disk is full or failing";

fn open_file(thread: &ThreadSpec) -> std::io::Result<(Kind, u64)> {
    let writes = thread.actions.contains('W');
    let direct = if thread.mode == Mode::Unbuffered { rustix::fs::OFlags::DIRECT.bits() as i32 } else { 0 };
    let file = OpenOptions::new().read(true).write(writes).custom_flags(direct).open(&thread.file)?;
    let bytes = file.metadata()?.len();
    let kind = match thread.mode {
        Mode::Mapped => Kind::Mapped(Map::file(&file, bytes as usize, writes)?),
        Mode::Buffered | Mode::Unbuffered => Kind::File(file),
    };
    Ok((kind, bytes))
}
