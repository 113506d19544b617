//! Simulates a network distance: runs a program, and delays its standard input and output. With `--via "… delayed
//! {host}"`, the name of a host is the delay in milliseconds, so the hosts are called `0`, `20` and so on.

use std::io::{Read, Write};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

type Piece = (Instant, Vec<u8>);

/// Runs `delayed MILLISECONDS PROGRAM ARGUMENTS`. MILLISECONDS is the delay of a round trip, of which each direction
/// gets half.
pub(crate) fn run(mut args: impl Iterator<Item = String>) -> ExitCode {
    let ms: Option<f64> = args.next().and_then(|ms| ms.parse().ok()).filter(|ms: &f64| (0.0..=60_000.0).contains(ms));
    let (Some(ms), Some(program)) = (ms, args.next()) else {
        eprintln!("usage: delayed MILLISECONDS PROGRAM ARGUMENTS");
        return ExitCode::from(2);
    };
    let started = Command::new(&program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(e) => {
            eprintln!("starting {program}: {e}");
            return ExitCode::from(2);
        }
    };
    let way = Duration::from_secs_f64(ms / 2e3);
    if let Some(input) = child.stdin.take() {
        pass(std::io::stdin(), input, way);
    }
    if let Some(output) = child.stdout.take() {
        let _ = pass(output, std::io::stdout(), way).join();
    }
    let _ = child.wait();
    ExitCode::SUCCESS
}

/// Copies bytes with a fixed delay: one thread reads, and another one writes. Returns the handle of the thread that
/// writes.
fn pass(
    from: impl Read + Send + 'static,
    to: impl Write + Send + 'static,
    way: Duration,
) -> std::thread::JoinHandle<()> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || take(from, way, &sender));
    std::thread::spawn(move || hand_on(to, &receiver))
}

fn take(mut from: impl Read, way: Duration, to: &Sender<Piece>) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(n) = from.read(&mut bytes) {
        if n == 0 || to.send((Instant::now() + way, bytes[..n].to_vec())).is_err() {
            return;
        }
    }
}

fn hand_on(mut to: impl Write, pieces: &Receiver<Piece>) {
    for (at, bytes) in pieces {
        std::thread::sleep(at.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

    impl Write for SharedBuffer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().map_err(|_| std::io::ErrorKind::Other)?.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn bytes_arrive_complete_and_delayed() {
        let (kept, began) = (Arc::<Mutex<Vec<u8>>>::default(), Instant::now());
        let passed = pass(
            std::io::Cursor::new(b"all of it".to_vec()),
            SharedBuffer(Arc::clone(&kept)),
            Duration::from_millis(30),
        );
        assert!(passed.join().is_ok() && began.elapsed() >= Duration::from_millis(30));
        assert_eq!(kept.lock().map(|kept| kept.clone()).unwrap_or_default(), b"all of it");
    }
}
