//! Allocators that count, so that a test can hold a loop to its promise of taking no memory, and a server to its promise
//! of giving all of it back. Nothing uses them unless a binary names one as its `#[global_allocator]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The system's allocator with a count of its calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

static ARMED: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Only threads whose name begins so are counted: the generator's.
const WATCHED: &[u8] = b"load-";

thread_local! {
    static IS_WATCHED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether the calling thread is counted; asks for its name once. Takes no memory.
fn is_watched() -> bool {
    let ask = |known: &Cell<Option<bool>>| {
        known.get().unwrap_or_else(|| {
            let mut name = [0u8; 16];
            // SAFETY: PR_GET_NAME writes at most 16 bytes to the pointer, which is valid for 16.
            unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
            let watched = name.starts_with(WATCHED);
            known.set(Some(watched));
            watched
        })
    };
    IS_WATCHED.try_with(ask).unwrap_or(false)
}

/// Starts counting at 0.
pub fn arm() {
    CALLS.store(0, Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
}

/// Stops counting; how many calls took memory (or changed its size) since [`arm`].
pub fn disarm() -> u64 {
    ARMED.store(false, Ordering::SeqCst);
    CALLS.load(Ordering::SeqCst)
}

fn note() {
    if ARMED.load(Ordering::Relaxed) && is_watched() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is handed to the system's allocator unchanged; counting takes no memory and cannot unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on; `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note();
        // SAFETY: as in `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        note();
        // SAFETY: as in `dealloc`, and for the new size as in `alloc`.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Gives memory that was freed back to the system, as far as the system's allocator can: a process that goes on with another
/// task is as large as a new one.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) takes a number and only touches memory that nobody holds; it is safe with threads.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The system's allocator with a count of what is live.
#[derive(Clone, Copy, Debug, Default)]
pub struct Living;

static PIECES: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// Pieces of memory and their bytes that all threads of the process have taken and not given back; 0 for a program that
/// does not allocate through [`Living`].
pub fn live() -> (u64, u64) {
    (PIECES.load(Ordering::SeqCst), BYTES.load(Ordering::SeqCst))
}

fn taken(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if !pointer.is_null() {
        PIECES.fetch_add(1, Ordering::Relaxed);
        BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    pointer
}

// SAFETY: every call is handed to the system's allocator unchanged; counting takes no memory and cannot unwind.
unsafe impl GlobalAlloc for Living {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise about `layout` is passed on.
        taken(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        PIECES.fetch_sub(1, Ordering::Relaxed);
        BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on; `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        taken(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`, and for the new size as in `alloc`.
        let moved = unsafe { System.realloc(ptr, layout, new_size) };
        if !moved.is_null() {
            BYTES.fetch_add((new_size as u64).wrapping_sub(layout.size() as u64), Ordering::Relaxed);
        }
        moved
    }
}
