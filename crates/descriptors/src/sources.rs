//! Reads descriptors from the user's files: proto files, and descriptor sets that `protoc` made.

use std::path::{Path, PathBuf};

use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use protox::Compiler;
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

use crate::error::{TypesError, words};
use crate::types::Types;

/// Maximum size of a descriptor set, bytes.
const MAX_SET_BYTES: u64 = 64 << 20;

/// Paths of files with descriptors, as the user wrote them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// Paths of proto files.
    pub protos: &'a [String],
    /// Folders in which loadline searches for the files that proto files import.
    pub import_dirs: &'a [String],
    /// Paths of descriptor sets.
    pub sets: &'a [String],
}

impl Sources<'_> {
    /// Returns true if there is neither a proto file nor a descriptor set.
    pub const fn is_empty(&self) -> bool {
        self.protos.is_empty() && self.sets.is_empty()
    }
}

/// Reads the types that the given files define. The imports of a proto file are searched first in the given folders,
/// and then in the folder of the proto file. Protobuf's own files, such as `google/protobuf/timestamp.proto`, need not
/// exist on disk.
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

/// Compiles a proto file and the files that it imports.
fn compiled(path: &str, import_dirs: &[String]) -> Result<Vec<FileDescriptorProto>, TypesError> {
    std::fs::metadata(path).map_err(|error| TypesError::Unreadable { path: path.into(), error })?;
    let own = Path::new(path).parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dirs = import_dirs.iter().map(PathBuf::from).chain([own.to_owned()]);
    let wrong = |error: protox::Error| TypesError::Proto { path: path.into(), why: explained(&error) };
    let mut compiler = Compiler::new(dirs).map_err(wrong)?;
    compiler.include_imports(true).open_file(path).map_err(wrong)?;
    Ok(compiler.file_descriptor_set().file)
}

/// Returns the compiler's error message, which begins with the position of the error in the file if the compiler knows
/// the position.
fn explained(error: &protox::Error) -> String {
    words(&error.to_string())
}

/// A proto file in memory, which the compiler reads in place of a file on disk.
struct InMemory {
    name: &'static str,
    text: &'static str,
}

impl FileResolver for InMemory {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        if name == self.name { File::from_source(name, self.text) } else { Err(protox::Error::file_not_found(name)) }
    }
}

/// Returns the types in the proto file `text`, which is part of the loadline program.
pub fn compiled_text(name: &'static str, text: &'static str) -> Result<Types, TypesError> {
    Types::new(from_text(name, text)?)
}

/// Compiles the proto file `text`, which is part of the loadline program.
pub(crate) fn from_text(name: &'static str, text: &'static str) -> Result<Vec<FileDescriptorProto>, TypesError> {
    let wrong = |error: protox::Error| TypesError::Proto { path: name.into(), why: explained(&error) };
    let mut resolver = ChainFileResolver::new();
    resolver.add(InMemory { name, text });
    resolver.add(GoogleFileResolver::new());
    let mut compiler = Compiler::with_file_resolver(resolver);
    compiler.include_imports(true).open_file(name).map_err(wrong)?;
    Ok(compiler.file_descriptor_set().file)
}
