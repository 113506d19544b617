//! Finds the function of the program itself in a stack.

use stacks::Frame;

/// Returns the innermost function that does not merely wait on behalf of its caller, with its file and line.
pub(super) fn own_function(frames: &[Frame]) -> Option<String> {
    frames.iter().find(|frame| is_own(frame)).map(Frame::label_and_place)
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
    }
}
