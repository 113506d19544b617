//! Reads the parts of a 64-bit ELF file that loadline needs. An ELF file is untrusted, so the size of each part of the
//! file is limited.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use object::elf::{FileHeader64, PT_LOAD, SHF_COMPRESSED, SHT_DYNSYM, SHT_NOTE, SHT_SYMTAB, SectionHeader64, Sym64};
use object::read::ReadCache;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::{LittleEndian, pod};

/// Maximum size of a section, bytes. The largest symbol table seen so far, Chromium's, has 60 MB.
pub(crate) const MAX_SECTION_BYTES: u64 = 64 << 20;

/// Maximum number of sections and of segments. Linkers write fewer than 100 sections and segments.
const MAX_HEADERS: u16 = 1024;

type Data<'a> = &'a ReadCache<File>;

/// A part of the file that the kernel maps into memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) file_bytes: u64,
    pub(crate) memory_bytes: u64,
}

/// Bytes of a section, and the address of its first byte.
#[derive(Clone)]
pub(crate) struct Section {
    pub(crate) address: u64,
    pub(crate) bytes: Arc<[u8]>,
}

/// An open ELF file.
pub(crate) struct Elf<'a> {
    data: Data<'a>,
    header: &'a FileHeader64<LittleEndian>,
    sections: SectionTable<'a, FileHeader64<LittleEndian>, Data<'a>>,
}

impl<'a> Elf<'a> {
    /// Opens an ELF file for the CPU architecture of this machine.
    pub(crate) fn parse(data: Data<'a>) -> Option<Self> {
        let header = FileHeader64::<LittleEndian>::parse(data).ok()?;
        let (segments, sections) = (header.e_phnum.get(LittleEndian), header.e_shnum.get(LittleEndian));
        if segments > MAX_HEADERS || sections > MAX_HEADERS || header.e_machine.get(LittleEndian) != MACHINE {
            return None;
        }
        let table = if sections == 0 { SectionTable::default() } else { header.sections(LittleEndian, data).ok()? };
        Some(Self { data, header, sections: table })
    }

    /// Returns the segments that the kernel loads.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let headers = self.header.program_headers(LittleEndian, self.data).unwrap_or(&[]);
        let loads = headers.iter().filter(|h| h.p_type(LittleEndian) == PT_LOAD);
        loads
            .map(|h| Segment {
                offset: h.p_offset(LittleEndian),
                address: h.p_vaddr(LittleEndian),
                file_bytes: h.p_filesz(LittleEndian),
                memory_bytes: h.p_memsz(LittleEndian),
            })
            .collect()
    }

    /// Returns the section called `name`, unless it is compressed or too large.
    pub(crate) fn section(&self, name: &str) -> Option<Section> {
        let header = self.sections.section_by_name(LittleEndian, name.as_bytes())?.1;
        Some(Section { address: header.sh_addr(LittleEndian), bytes: self.bytes(header)?.into() })
    }

    /// Returns `size` bytes at an address, or fewer if the section at this address ends before. Returns `None` if no
    /// readable section contains the address.
    pub(crate) fn bytes_at(&self, address: u64, size: u64) -> Option<Arc<[u8]>> {
        let offset = |header: &SectionHeader64<LittleEndian>| {
            let offset = address.checked_sub(header.sh_addr(LittleEndian))?;
            (header.sh_addr(LittleEndian) > 0 && offset < header.sh_size(LittleEndian)).then_some(offset)
        };
        let (header, offset) = self.sections.iter().find_map(|header| Some((header, offset(header)?)))?;
        let rest = self.bytes(header)?.get(usize::try_from(offset).ok()?..)?;
        Some(rest[..rest.len().min(usize::try_from(size).ok()?)].into())
    }

    /// Returns the address and size of a section without reading the content.
    pub(crate) fn section_range(&self, name: &str) -> Option<(u64, u64)> {
        let header = self.sections.section_by_name(LittleEndian, name.as_bytes())?.1;
        Some((header.sh_addr(LittleEndian), header.sh_size(LittleEndian)))
    }

    /// Reads a section into private memory. A file mapping would keep the section's pages in the page cache, too.
    pub(crate) fn read_section(&self, file: &File, name: &str) -> Option<Arc<[u8]>> {
        let header = self.sections.section_by_name(LittleEndian, name.as_bytes())?.1;
        let (offset, size) = header.file_range(LittleEndian).filter(|_| is_readable(header))?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes.into())
    }

    /// Passes each symbol table with its strings to `each`.
    pub(crate) fn symbol_tables(&self, mut each: impl FnMut(&[Sym64<LittleEndian>], &[u8])) {
        for header in self.sections.iter() {
            if ![SHT_SYMTAB, SHT_DYNSYM].contains(&header.sh_type(LittleEndian)) {
                continue;
            }
            let strings = self.sections.section(header.link(LittleEndian)).ok().and_then(|s| self.bytes(s));
            let (Some(table), Some(strings)) = (self.bytes(header), strings) else { continue };
            let count = table.len() / size_of::<Sym64<LittleEndian>>();
            if let Ok((symbols, _)) = pod::slice_from_bytes(table, count) {
                each(symbols, strings);
            }
        }
    }

    /// Returns the build ID that the linker wrote.
    pub(crate) fn build_id(&self) -> Option<Vec<u8>> {
        let notes = self.sections.iter().filter(|h| h.sh_type(LittleEndian) == SHT_NOTE);
        notes.filter_map(|h| self.bytes(h)).find_map(build_id_of)
    }

    fn bytes(&self, header: &SectionHeader64<LittleEndian>) -> Option<&'a [u8]> {
        is_readable(header).then(|| header.data(LittleEndian, self.data).ok())?
    }
}

/// Returns true if a section is neither compressed nor too large.
fn is_readable(header: &SectionHeader64<LittleEndian>) -> bool {
    let compressed = header.sh_flags(LittleEndian).0 & SHF_COMPRESSED.0 != 0;
    !compressed && header.sh_size(LittleEndian) <= MAX_SECTION_BYTES
}

#[cfg(target_arch = "x86_64")]
const MACHINE: object::elf::Machine = object::elf::EM_X86_64;
#[cfg(not(target_arch = "x86_64"))]
const MACHINE: object::elf::Machine = object::elf::EM_AARCH64;

/// Returns the build ID if `note` begins with one: three 32-bit words, "GNU\0", and the ID.
fn build_id_of(note: &[u8]) -> Option<Vec<u8>> {
    const GNU_BUILD_ID: [u8; 8] = *b"\x03\0\0\0GNU\0";
    let (sizes, rest) = note.split_first_chunk::<8>()?;
    let length = u32::from_le_bytes([sizes[4], sizes[5], sizes[6], sizes[7]]) as usize;
    let id = rest.strip_prefix(&GNU_BUILD_ID)?.get(..length)?;
    (2..=64).contains(&length).then(|| id.to_vec())
}
