//! Finds the function of the program itself in a stack.

use stacks::Frame;

/// Module of the frames of Python functions.
const PYTHON: &str = "python";

/// Returns the innermost function that does not merely wait on behalf of its caller, with its file and line. If a stack
/// of Python has no such function, returns the innermost function of Python's standard library, which tells an idle
/// thread of a pool.
pub(super) fn own_function(frames: &[Frame]) -> Option<String> {
    own_frame(frames).map(Frame::label_and_place)
}

/// Returns the same function as [`own_function`], with its file but without a line. A thread that computes executes
/// many lines of its function.
pub(super) fn computing_function(frames: &[Frame]) -> Option<String> {
    own_frame(frames).map(|frame| Frame { line: None, ..frame.clone() }.label_and_place())
}

fn own_frame(frames: &[Frame]) -> Option<&Frame> {
    let of_library = || frames.iter().find(|frame| &*frame.module == PYTHON);
    frames.iter().find(|frame| is_own(frame)).or_else(of_library)
}

/// Returns true if a function does not merely wait on behalf of its caller.
pub(super) fn is_own(frame: &Frame) -> bool {
    !run::is_library(&frame.module) && frame.function.as_deref().is_some_and(run::is_own_function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: Option<&str>, module: &str, line: Option<u32>) -> Frame {
        let file = line.map(|_| "/srv/app.c".into());
        Frame { function: function.map(Into::into), module: module.into(), file, line }
    }

    #[test]
    fn the_function_that_calls_the_library_is_told() {
        let frames = [
            frame(Some("pthread_mutex_lock"), "libc.so.6", None),
            frame(None, "app", None),
            frame(Some("<std::sync::Mutex<T>>::lock"), "app", None),
            frame(Some("handle"), "app", Some(41)),
            frame(Some("main"), "app", Some(7)),
        ];
        assert_eq!(own_function(&frames).as_deref(), Some("handle (app.c:41)"));
        assert_eq!(own_function(&frames[..3]), None);
        assert_eq!(computing_function(&frames).as_deref(), Some("handle (app.c)"));
    }

    #[test]
    fn the_function_that_calls_python_s_standard_library_is_told() {
        let frames = [
            frame(Some("threading.Condition.wait"), PYTHON, Some(327)),
            frame(Some("queue.Queue.get"), PYTHON, Some(171)),
            frame(Some("Handler.do_GET"), PYTHON, Some(11)),
            frame(Some("socketserver.BaseServer.finish_request"), PYTHON, Some(361)),
        ];
        assert_eq!(own_function(&frames).as_deref(), Some("Handler.do_GET (app.c:11)"));
        let idle = [
            frame(Some("concurrent.futures.thread._worker"), PYTHON, Some(81)),
            frame(Some("threading.Thread.run"), PYTHON, Some(975)),
        ];
        assert_eq!(own_function(&idle).as_deref(), Some("concurrent.futures.thread._worker (app.c:81)"));
    }
}
