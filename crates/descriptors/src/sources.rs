//! Descriptors from files of the user: proto files, and descriptor sets that `protoc` made.

use std::path::{Path, PathBuf};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::error::{TypesError, words};
use crate::types::Types;

/// Maximum size of a descriptor set, bytes.
const MAX_SET_BYTES: u64 = 64 << 20;

/// Files with descriptors, as the user named them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// Proto files.
    pub protos: &'a [String],
    /// Folders in which imports of proto files are searched.
    pub import_dirs: &'a [String],
    /// Descriptor sets.
    pub sets: &'a [String],
}

impl Sources<'_> {
    /// Returns true if there is neither a proto file nor a descriptor set.
    pub const fn is_empty(&self) -> bool {
        self.protos.is_empty() && self.sets.is_empty()
    }
}

/// Reads the types in these files. Imports of a proto file are searched in the given folders, and then in the folder of
/// the file. The files of protobuf itself, such as `google/protobuf/timestamp.proto`, are always known.
pub fn from_files(sources: Sources<'_>) -> Result<Types, TypesError> {
    let mut files = Vec::new();
    for set in sources.sets {
        files.extend(set_in(set)?);
    }
    for proto in sources.protos {
        files.extend(compiled(proto, sources.import_dirs)?);
    }
    Types::new(files)
}

fn set_in(path: &str) -> Result<Vec<FileDescriptorProto>, TypesError> {
    let unreadable = |error| TypesError::Unreadable { path: path.into(), error };
    let no_set = |why: String| TypesError::NoSet { path: path.into(), why };
    let bytes = run::read_bounded(Path::new(path), MAX_SET_BYTES).map_err(unreadable)?;
    let set = FileDescriptorSet::decode(&bytes[..]).map_err(|error| no_set(words(&error.to_string())))?;
    if set.file.is_empty() { Err(no_set("it has no file".into())) } else { Ok(set.file) }
}

/// Compiles a proto file and its imports.
fn compiled(path: &str, import_dirs: &[String]) -> Result<Vec<FileDescriptorProto>, TypesError> {
    std::fs::metadata(path).map_err(|error| TypesError::Unreadable { path: path.into(), error })?;
    let own = Path::new(path).parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dirs = import_dirs.iter().map(PathBuf::from).chain([own.to_owned()]);
    let wrong = |error: protox::Error| TypesError::Proto { path: path.into(), why: explained(&error) };
    let mut compiler = Compiler::new(dirs).map_err(wrong)?;
    compiler.include_imports(true).open_file(path).map_err(wrong)?;
    Ok(compiler.file_descriptor_set().file)
}

/// Returns the compiler's words about an error. If the compiler knows the place, the words begin with it.
fn explained(error: &protox::Error) -> String {
    words(&error.to_string())
}

/// A proto file in memory, for the compiler.
struct InMemory {
    name: &'static str,
    text: &'static str,
}

impl FileResolver for InMemory {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == self.name { File::from_source(name, self.text) } else { Err(protox::Error::file_not_found(name)) }
    }
}

/// Returns the types in a proto file of the program itself.
pub fn compiled_text(name: &'static str, text: &'static str) -> Result<Types, TypesError> {
    Types::new(from_text(name, text)?)
}

/// Compiles a proto file of the program itself.
pub(crate) fn from_text(name: &'static str, text: &'static str) -> Result<Vec<FileDescriptorProto>, TypesError> {
    let wrong = |error: protox::Error| TypesError::Proto { path: name.into(), why: explained(&error) };
    let mut resolver = ChainFileResolver::new();
    resolver.add(InMemory { name, text });
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file(name).map_err(wrong)?;
    Ok(compiler.file_descriptor_set().file)
}
