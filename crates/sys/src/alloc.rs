//! Counting allocators. With a counting allocator, a test can check that a loop allocates nothing, or that a server
//! frees all its memory. A binary uses one of the counting allocators if it declares the allocator as its
//! `#[global_allocator]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The system's allocator with a counter of allocations.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

static ARMED: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Prefix of the names of those threads whose allocations are counted: the threads of the load generator.
const WATCHED_PREFIX: &[u8] = b"load-";

thread_local! {
    static IS_WATCHED: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Returns true if the allocations of the calling thread are counted. Only the first call of a thread reads the
/// thread's name. This function never allocates memory.
fn is_watched() -> bool {
    let ask = |known: &Cell<Option<bool>>| {
        known.get().unwrap_or_else(|| {
            let mut name = [0u8; 16];
            // SAFETY: PR_GET_NAME writes at most 16 bytes to the pointer, which is valid for 16.
            unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
            let watched = name.starts_with(WATCHED_PREFIX);
            known.set(Some(watched));
            watched
        })
    };
    IS_WATCHED.try_with(ask).unwrap_or(false)
}

/// Sets the count of allocations to 0 and starts to count.
pub fn arm() {
    CALLS.store(0, Ordering::SeqCst);
    ARMED.store(true, Ordering::SeqCst);
}

/// Stops counting and returns the number of allocations (including reallocations) since [`arm`].
pub fn disarm() -> u64 {
    ARMED.store(false, Ordering::SeqCst);
    CALLS.load(Ordering::SeqCst)
}

fn count_call() {
    if ARMED.load(Ordering::Relaxed) && is_watched() {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed unchanged to the system's allocator. Counting allocates nothing and cannot unwind.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count_call();
        // SAFETY: the caller's guarantee about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are passed on, and `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count_call();
        // SAFETY: the caller's guarantee about `layout` is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count_call();
        // SAFETY: `ptr` came from the system's allocator. The caller's guarantees about `layout` and `new_size` are
        // passed on.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

/// Returns freed memory to the kernel, as far as the system's allocator supports it. After the memory was returned, a
/// process that continues with another task needs no more memory than a newly started process.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) takes no pointer, only touches free memory, and is thread-safe.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The system's allocator with a counter of live allocations and their bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LiveAllocator;

static LIVE_COUNT: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

/// Returns the number of live allocations of all threads, and their total size in bytes. Both numbers are 0 in a
/// program without [`LiveAllocator`].
pub fn live() -> (u64, u64) {
    (LIVE_COUNT.load(Ordering::SeqCst), LIVE_BYTES.load(Ordering::SeqCst))
}

fn taken(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if !pointer.is_null() {
        LIVE_COUNT.fetch_add(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
    }
    pointer
}

// SAFETY: every call is passed unchanged to the system's allocator. Counting allocates nothing and cannot unwind.
unsafe impl GlobalAlloc for LiveAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantee about `layout` is passed on.
        taken(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        LIVE_COUNT.fetch_sub(1, Ordering::Relaxed);
        LIVE_BYTES.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: the caller's guarantees are passed on, and `ptr` came from the system's allocator.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's guarantee about `layout` is passed on.
        taken(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: `ptr` came from the system's allocator. The caller's guarantees about `layout` and `new_size` are
        // passed on.
        let moved = unsafe { System.realloc(ptr, layout, new_size) };
        if !moved.is_null() {
            LIVE_BYTES.fetch_add((new_size as u64).wrapping_sub(layout.size() as u64), Ordering::Relaxed);
        }
        moved
    }
}
