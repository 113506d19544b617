//! The text of the C header, generated from the constants that the C functions use. A test compares this text with the
//! file in the repository.

use event::Mask;

/// The header file in the repository.
pub const HEADER: &str = include_str!("../include/loadline_event.h");

/// Generates the text of the header.
pub fn generate() -> String {
    let mut text = String::from(TOP);
    for (name, mask, what) in [
        ("EVENT_READ", Mask::READ, "something to read, or an end of file"),
        ("EVENT_WRITE", Mask::WRITE, "room to write"),
        ("EVENT_EXCEPT", Mask::EXCEPT, "an exceptional condition, such as urgent data"),
    ] {
        text.push_str(&format!("#define {name:<12} 0x{:x} /* {what} */\n", mask.bits()));
    }
    text.push_str(REST);
    text
}

const TOP: &str = "\
/* loadline_event.h: an explicit event API. Generated; change crates/sys/event-c/src/header.rs.
 *
 * A thread declares in which descriptors it is interested and takes events out of its queue. Events are delivered in
 * the order of their arrival, many arrivals of one descriptor as one event, and only what still holds. They can be
 * repeated and are never lost; descriptors should be non-blocking.
 *
 * The interface is that of Banga, Mogul and Druschel, \"A Scalable and Explicit Event Delivery Mechanism for UNIX\",
 * USENIX 1999. Every function returns -1 and sets errno on failure.
 */
#ifndef LOADLINE_EVENT_H
#define LOADLINE_EVENT_H

#include <sys/time.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

const REST: &str = "
typedef struct {
    int fd;
    unsigned mask;
} event_descr_t;

/* Declares interest of this thread in events of fd; replaces what was declared before, 0 revokes. If statemask is not
 * NULL, the present state is stored there, from before any event is queued. Returns 0. */
int declare_interest(int fd, int interestmask, int *statemask);

/* Stores at most array_max events, oldest first, and returns how many. Returns at once if there is one; otherwise
 * waits, at most timeout (NULL: without end). 0: the time is over or a signal came. */
int get_next_event(int array_max, event_descr_t *ev_array, struct timeval *timeout);

/* Declares the same interest in every present and future thread that uses this interface. */
int declare_processwide_interest(int fd, int interestmask, int *statemask);

/* As declare_processwide_interest, but each event goes to one thread only: the first that looks. */
int event_wakeup_one(int fd, int interestmask, int *statemask);

/* Closes fd and ends all interest in it of this thread and process-wide. Use it in place of close(). */
int event_close(int fd);

/* Chooses the back end of this thread: \"epoll\", \"uring\", \"poll\" or \"select\". Before its first other call. */
int event_use_backend(const char *name);

#ifdef __cplusplus
}
#endif

#endif
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_in_the_repository_is_the_generated_one() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/include/loadline_event.h");
        if std::env::var_os("LOADLINE_BLESS").is_some() {
            std::fs::write(path, generate()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), generate(), "LOADLINE_BLESS=1 writes it anew");
    }
}
