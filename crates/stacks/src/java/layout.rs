//! Offsets and addresses of the fields of HotSpot's structures that lead to the frames of Java.

use super::tables::Tables;
use crate::memory::{Memory, Remote};

/// First version of Java whose compressed numbers contain no zero bytes. Source: OpenJDK issue 8292758.
const WITHOUT_ZEROS: u32 = 20;

/// Fields of a thread.
pub(super) struct ThreadFields {
    pub(super) os_thread: u64,
    pub(super) id: u64,
    pub(super) last_sp: u64,
    pub(super) last_pc: u64,
    pub(super) last_fp: u64,
}

/// Fields of the list of all threads.
pub(super) struct ListFields {
    /// Address of the pointer to the list.
    pub(super) list: u64,
    pub(super) length: u64,
    pub(super) threads: u64,
}

/// Fields of the memory that contains compiled code.
pub(super) struct CodeFields {
    /// Address of the pointer to the array of code heaps.
    pub(super) heaps: u64,
    pub(super) heaps_length: u64,
    pub(super) heaps_data: u64,
    pub(super) memory: u64,
    pub(super) segments: u64,
    pub(super) segment_shift: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) block_bytes: u64,
    pub(super) name: u64,
    pub(super) frame_words: u64,
    pub(super) method: u64,
}

/// Fields that lead from a method to its name.
pub(super) struct MethodFields {
    pub(super) constant: u64,
    pub(super) pool: u64,
    pub(super) name_index: u64,
    pub(super) pool_bytes: u64,
    pub(super) holder: u64,
    pub(super) class_name: u64,
    pub(super) text_length: u64,
    pub(super) text: u64,
}

/// Fields that lead from a return address in compiled code to the inlined methods.
pub(super) struct InlinedFields {
    pub(super) code_begin: u64,
    pub(super) places: u64,
    pub(super) places_end: u64,
    pub(super) metadata: u64,
    pub(super) scopes: u64,
    pub(super) has_no_zeros: bool,
}

/// Layout of one JVM.
pub(super) struct Layout {
    pub(super) thread: ThreadFields,
    pub(super) list: ListFields,
    pub(super) code: CodeFields,
    pub(super) method: MethodFields,
    /// `None` for a JVM that stores inlined methods in another way.
    pub(super) inlined: Option<InlinedFields>,
    /// Offset of the pointer to the method, from the frame pointer of an interpreted frame, in words.
    pub(super) interpreted_method: i64,
}

impl Layout {
    /// Returns the layout that the tables of a JVM describe. Returns `None` if a field is missing.
    pub(super) fn of(tables: &Tables, memory: &mut Remote) -> Option<Self> {
        let of_any = |types: &[&str], name: &str| types.iter().find_map(|of| tables.field(of, name));
        let field = |of: &str, name: &str| tables.field(of, name);
        let anchor = field("JavaThread", "_anchor")?;
        let in_anchor = |name: &str| field("JavaFrameAnchor", name)?.checked_add(anchor);
        let last_sp = i64::from(tables.constant("frame::interpreter_frame_last_sp_offset")?);
        Some(Self {
            thread: ThreadFields {
                os_thread: field("JavaThread", "_osthread")?,
                id: field("OSThread", "_thread_id")?,
                last_sp: in_anchor("_last_Java_sp")?,
                last_pc: in_anchor("_last_Java_pc")?,
                last_fp: in_anchor("_last_Java_fp")?,
            },
            list: ListFields {
                list: field("ThreadsSMRSupport", "_java_thread_list")?,
                length: field("ThreadsList", "_length")?,
                threads: field("ThreadsList", "_threads")?,
            },
            code: CodeFields {
                heaps: field("CodeCache", "_heaps")?,
                heaps_length: of_any(&["GrowableArrayBase", "GenericGrowableArray"], "_len")?,
                heaps_data: field("GrowableArray<int>", "_data")?,
                memory: field("CodeHeap", "_memory")?,
                segments: field("CodeHeap", "_segmap")?,
                segment_shift: field("CodeHeap", "_log2_segment_size")?,
                low: field("VirtualSpace", "_low")?,
                high: field("VirtualSpace", "_high")?,
                block_bytes: tables.size("HeapBlock")?,
                name: field("CodeBlob", "_name")?,
                frame_words: field("CodeBlob", "_frame_size")?,
                method: of_any(&["CompiledMethod", "nmethod"], "_method")?,
            },
            method: MethodFields {
                constant: field("Method", "_constMethod")?,
                pool: field("ConstMethod", "_constants")?,
                name_index: field("ConstMethod", "_name_index")?,
                pool_bytes: tables.size("ConstantPool")?,
                holder: field("ConstantPool", "_pool_holder")?,
                class_name: field("Klass", "_name")?,
                text_length: field("Symbol", "_length")?,
                text: field("Symbol", "_body")?,
            },
            inlined: InlinedFields::of(tables, memory),
            // The pointer to the method is stored before the last stack pointer. Source: frame_x86.hpp and
            // frame_aarch64.hpp.
            interpreted_method: last_sp - 1,
        })
    }
}

impl InlinedFields {
    fn of(tables: &Tables, memory: &mut Remote) -> Option<Self> {
        let major = memory.half(tables.field("Abstract_VM_Version", "_vm_major_version")?)?;
        let field = |of: &str, name: &str| tables.field(of, name);
        Some(Self {
            code_begin: field("CodeBlob", "_code_begin")?,
            places: field("nmethod", "_scopes_pcs_offset")?,
            places_end: field("nmethod", "_dependencies_offset")?,
            metadata: field("nmethod", "_metadata_offset")?,
            scopes: field("CompiledMethod", "_scopes_data_begin")?,
            has_no_zeros: major >= WITHOUT_ZEROS,
        })
    }
}
