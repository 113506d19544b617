//! Symbols of a program file. An address gets the name of a symbol only if the symbol's size covers the address. The
//! nearest symbol before an address is not enough, because in a stripped program, many functions have no symbol.

use object::LittleEndian;
use object::elf::{SHN_UNDEF, STB_LOCAL, STT_FUNC, STT_GNU_IFUNC, STT_OBJECT, Sym64};

/// Maximum number of symbols of one file. Chromium, the largest known program, has 1.2 million symbols.
const MAX_SYMBOLS: usize = 2_000_000;

/// Maximum number of symbols that are checked for one address. The checked symbols are the last ones that start before
/// the address. A small maximum is enough, because symbols rarely overlap.
const MAX_OVERLAPS: usize = 16;

/// Kind of a symbol: code or data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Function,
    Object,
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    address: u64,
    size: u32,
    name: u32,
    kind: Kind,
    local: bool,
}

/// Symbols of one file, ordered by address.
#[derive(Default)]
pub(crate) struct Symbols {
    symbols: Vec<Symbol>,
    names: Vec<u8>,
}

impl Symbols {
    /// Adds those functions and objects of a symbol table that have a size. `strings` is the table of the symbols'
    /// names.
    pub(crate) fn add(&mut self, table: &[Sym64<LittleEndian>], strings: &[u8]) {
        let base = self.names.len();
        let mut added = 0;
        for symbol in table.iter().take(MAX_SYMBOLS.saturating_sub(self.symbols.len())) {
            let Some(kind) = kind_of(symbol) else { continue };
            let (name, size) = (symbol.st_name.get(LittleEndian), symbol.st_size.get(LittleEndian));
            let Ok(name) = u32::try_from(base + name as usize) else { continue };
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            let address = symbol.st_value.get(LittleEndian);
            let local = symbol.st_info.st_bind() == STB_LOCAL;
            self.symbols.push(Symbol { address, size, name, kind, local });
            added += 1;
        }
        if added > 0 {
            self.names.extend_from_slice(strings);
            self.names.push(0);
        }
    }

    /// Sorts the symbols by address. Call this function after the last [`Symbols::add`].
    pub(crate) fn sort(&mut self) {
        self.symbols.sort_by_key(|s| (s.address, s.size));
        self.symbols.shrink_to_fit();
    }

    /// Returns the start and the name of the symbol of this `kind` that covers `address`. If several symbols cover the
    /// address, prefers the symbol with the highest start.
    pub(crate) fn covering(&self, address: u64, kind: Kind) -> Option<(u64, &[u8])> {
        let after = self.symbols.partition_point(|s| s.address <= address);
        let covers = |s: &&Symbol| s.kind == kind && address - s.address < u64::from(s.size);
        let near = &self.symbols[after.saturating_sub(MAX_OVERLAPS)..after];
        let best = near.iter().filter(covers).min_by_key(|s| {
            let name = self.name(s);
            let underscores = name.iter().take_while(|b| **b == b'_').count();
            (std::cmp::Reverse(s.address), s.local, underscores, name.len())
        })?;
        Some((best.address, self.name(best)))
    }

    /// Returns the address of the object called `name`.
    pub(crate) fn object(&self, name: &[u8]) -> Option<u64> {
        self.object_range(name).map(|(address, _)| address)
    }

    /// Returns the address and the size (bytes) of the object called `name`.
    pub(crate) fn object_range(&self, name: &[u8]) -> Option<(u64, u64)> {
        let symbol = self.symbols.iter().find(|s| s.kind == Kind::Object && self.name(s) == name)?;
        Some((symbol.address, symbol.size.into()))
    }

    fn name(&self, symbol: &Symbol) -> &[u8] {
        let from = self.names.get(symbol.name as usize..).unwrap_or(&[]);
        &from[..from.iter().position(|b| *b == 0).unwrap_or(from.len())]
    }
}

/// Returns the kind of a symbol if it names code or data of its own file and has a size. Returns `None` for
/// thread-local symbols, because their value is not an address.
fn kind_of(symbol: &Sym64<LittleEndian>) -> Option<Kind> {
    if symbol.st_shndx.get(LittleEndian) == SHN_UNDEF || symbol.st_size.get(LittleEndian) == 0 {
        return None;
    }
    match symbol.st_info.st_type() {
        STT_FUNC | STT_GNU_IFUNC => Some(Kind::Function),
        STT_OBJECT => Some(Kind::Object),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::{STB_GLOBAL, STT_TLS, SymbolInfo, SymbolOther, SymbolSection, SymbolType};
    use object::{U16, U32, U64};

    fn symbol(name: u32, address: u64, size: u64, kind: SymbolType) -> Sym64<LittleEndian> {
        Sym64 {
            st_name: U32::new(LittleEndian, name),
            st_info: SymbolInfo::new(STB_GLOBAL, kind),
            st_other: SymbolOther(0),
            st_shndx: U16::new(LittleEndian, SymbolSection(1)),
            st_value: U64::new(LittleEndian, address),
            st_size: U64::new(LittleEndian, size),
        }
    }

    #[test]
    fn only_a_symbol_whose_size_covers_the_address_names_it() {
        let table = [
            symbol(1, 0x100, 0x10, STT_FUNC),
            symbol(7, 0x100, 0x10, STT_FUNC),
            symbol(13, 0x200, 0x40, STT_OBJECT),
            symbol(1, 0x108, 0x100, STT_TLS),
        ];
        let mut symbols = Symbols::default();
        symbols.add(&table, b"\0__run\0lock\0\0data\0");
        symbols.sort();
        let name = |at, kind| symbols.covering(at, kind).map(|(_, name)| String::from_utf8_lossy(name).into_owned());
        assert_eq!(name(0x10f, Kind::Function).as_deref(), Some("lock"));
        assert_eq!(name(0x110, Kind::Function), None);
        assert_eq!(name(0x23f, Kind::Object).as_deref(), Some("data"));
        assert_eq!((name(0x240, Kind::Object), name(0x110, Kind::Object)), (None, None));
        assert_eq!(symbols.object(b"data"), Some(0x200));
    }
}
