//! The calls of the C interface. Each thread has its own event queue, and all queues of the process belong to one
//! [`Group`].

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::OnceLock;
use std::time::Duration;

use event::{Backend, Event, EventError, EventQueue, Group, Mask, State};

/// One event, in the memory layout of C.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs)] // the layout is the interface
pub struct EventDescr {
    /// Descriptor that the event is about.
    pub fd: c_int,
    /// Kinds of events, as `EVENT_…` bits.
    pub mask: c_uint,
}

/// The event queue of one thread, and a buffer for the events that are taken from this queue.
struct Thread {
    queue: EventQueue,
    events: Vec<Event>,
}

thread_local! {
    static THREAD: RefCell<Option<Thread>> = const { RefCell::new(None) };
}

static GROUP: OnceLock<Group> = OnceLock::new();

/// Declares the interest of this thread in a descriptor, as `include/loadline_event.h` specifies.
///
/// # Safety
/// `statemask` is null or points to a writable `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn declare_interest(fd: c_int, interestmask: c_int, statemask: *mut c_int) -> c_int {
    let outcome = with_thread(|thread| {
        thread.queue.declare_interest(fd, Mask::from_bits(interestmask as u32), !statemask.is_null())
    });
    // SAFETY: `statemask` is null or writable, as the caller guarantees.
    unsafe { give_state(outcome, statemask) }
}

/// Takes events from the queue of this thread, as `include/loadline_event.h` specifies.
///
/// # Safety
/// `ev_array` has room for `array_max` events; `timeout` is null or points to a `struct timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn get_next_event(
    array_max: c_int,
    ev_array: *mut EventDescr,
    timeout: *const libc::timeval,
) -> c_int {
    let Some(room) = usize::try_from(array_max).ok().filter(|&n| n > 0 && !ev_array.is_null()) else {
        return fail(libc::EINVAL);
    };
    // SAFETY: the caller guarantees that `timeout` is null or valid for reading.
    let timeout = match unsafe { timeout.as_ref() }.map(duration) {
        Some(None) => return fail(libc::EINVAL),
        Some(timeout) => timeout,
        None => None,
    };
    let taken = with_thread(|thread| {
        // The buffer is limited, because a C caller may pass any `array_max`.
        let room = room.min(65_536);
        if thread.events.len() < room {
            thread.events.resize(room, Event::default());
        }
        let count = thread.queue.get_next_event(&mut thread.events[..room], timeout)?;
        for (at, event) in thread.events[..count].iter().enumerate() {
            let event = EventDescr { fd: event.fd, mask: event.mask.bits() };
            // SAFETY: `at` is below `array_max`, for which the caller guarantees room.
            unsafe { ev_array.add(at).write(event) };
        }
        Ok(count)
    });
    match taken {
        Ok(count) => count as c_int,
        Err(errno) => fail(errno),
    }
}

/// Declares the interest of every thread of the process in a descriptor, as `include/loadline_event.h` specifies.
///
/// # Safety
/// `statemask` is null or points to a writable `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn declare_processwide_interest(fd: c_int, interestmask: c_int, statemask: *mut c_int) -> c_int {
    let mask = Mask::from_bits(interestmask as u32);
    let outcome = group().and_then(|group| errno(group.declare_processwide_interest(fd, mask, !statemask.is_null())));
    // SAFETY: `statemask` is null or writable, as the caller guarantees.
    unsafe { give_state(outcome, statemask) }
}

/// Declares the interest of every thread of the process in a descriptor. Each event goes to only one of the threads, as
/// `include/loadline_event.h` specifies.
///
/// # Safety
/// `statemask` is null or points to a writable `int`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn event_wakeup_one(fd: c_int, interestmask: c_int, statemask: *mut c_int) -> c_int {
    let mask = Mask::from_bits(interestmask as u32);
    let outcome = group().and_then(|group| errno(group.declare_wake_one(fd, mask, !statemask.is_null())));
    // SAFETY: `statemask` is null or writable, as the caller guarantees.
    unsafe { give_state(outcome, statemask) }
}

/// Closes a descriptor and forgets the interest in it, as `include/loadline_event.h` specifies.
#[unsafe(no_mangle)]
pub extern "C" fn event_close(fd: c_int) -> c_int {
    if let Some(group) = GROUP.get() {
        group.forget(fd);
    }
    let known = THREAD.with_borrow_mut(|thread| thread.as_mut().map(|thread| thread.queue.forget(fd)));
    // SAFETY: the caller asked to close this descriptor, and the kernel refuses a number that is not open.
    let closed = unsafe { libc::close(fd) };
    if known.is_some() {
        let _ = with_thread(|thread| thread.queue.flush());
    }
    closed
}

/// Chooses the backend of this thread, as `include/loadline_event.h` specifies.
///
/// # Safety
/// `name` is null or points to a string that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn event_use_backend(name: *const c_char) -> c_int {
    if name.is_null() {
        return fail(libc::EINVAL);
    }
    // SAFETY: `name` is not null, and the caller guarantees a final zero byte.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    let made = Backend::named(name).and_then(make);
    match (made, THREAD.with_borrow(Option::is_some)) {
        (_, true) => fail(libc::EBUSY),
        (Ok(thread), false) => {
            THREAD.set(Some(thread));
            0
        }
        (Err(error), false) => fail(error.errno()),
    }
}

fn group() -> Result<&'static Group, c_int> {
    if let Some(group) = GROUP.get() {
        return Ok(group);
    }
    let made = errno(Group::new())?;
    Ok(GROUP.get_or_init(|| made))
}

fn make(backend: Backend) -> event::Result<Thread> {
    let mut queue = EventQueue::new(backend)?;
    if let Ok(group) = group() {
        queue.join(group)?;
    }
    Ok(Thread { queue, events: Vec::new() })
}

/// Runs a closure with the queue of this thread. The first call creates the queue.
fn with_thread<T>(run: impl FnOnce(&mut Thread) -> event::Result<T>) -> Result<T, c_int> {
    THREAD.with_borrow_mut(|place| {
        if place.is_none() {
            let name = std::env::var("LOADLINE_EVENTS").unwrap_or_else(|_| "epoll".into());
            *place = Some(errno(Backend::named(&name).and_then(make))?);
        }
        place.as_mut().map_or(Err(libc::EINVAL), |thread| errno(run(thread)))
    })
}

fn errno<T>(outcome: event::Result<T>) -> Result<T, c_int> {
    outcome.map_err(|e: EventError| e.errno())
}

/// # Safety
/// `statemask` is null or writable.
unsafe fn give_state(outcome: Result<Option<State>, c_int>, statemask: *mut c_int) -> c_int {
    match outcome {
        Ok(state) => {
            if let Some(state) = state
                && !statemask.is_null()
            {
                // SAFETY: `statemask` is not null, and the caller guarantees that it is writable.
                unsafe { statemask.write(state.bits() as c_int) };
            }
            0
        }
        Err(errno) => fail(errno),
    }
}

/// Converts a time span from C. Returns `None` if it is invalid.
fn duration(t: &libc::timeval) -> Option<Duration> {
    let (s, us) = (u64::try_from(t.tv_sec).ok()?, u32::try_from(t.tv_usec).ok().filter(|&us| us < 1_000_000)?);
    Some(Duration::new(s, us * 1000))
}

fn fail(errno: c_int) -> c_int {
    // SAFETY: errno is a variable of the calling thread, which no other thread accesses.
    unsafe { *libc::__errno_location() = errno };
    -1
}
