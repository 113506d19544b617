use std::time::Instant;

use super::*;

/// A child process starts after the sampler's search. From the start of the measurement on, each round reads the
/// child.
#[test]
fn a_child_that_starts_before_the_measurement_is_in_every_round_of_it() {
    let mut parent = crate::testing::forks_later();
    let sampler = WaitSampler::start(vec![parent.pid()], None, None).unwrap();
    testkit::eventually(|| (sampler.so_far().rounds > 0).then_some(()));
    std::io::Write::write_all(parent.0.stdin.as_mut().unwrap(), b"go\n").unwrap();
    testkit::eventually(|| testkit::children(parent.pid()).pop());
    sampler.edge();
    testkit::eventually(|| (sampler.so_far().rounds > 2).then_some(()));
    sampler.edge();
    let found = sampler.finish().processes;
    assert_eq!(found.iter().map(|process| process.processes).collect::<Vec<_>>(), [2.0], "{found:#?}");
}

#[test]
fn a_profile_covers_the_window_alone() {
    let sampler = WaitSampler::start(vec![std::process::id()], None, None).unwrap();
    let (start, before) = (Instant::now(), Duration::from_millis(100));
    std::thread::sleep(before);
    sampler.edge();
    while sampler.so_far().rounds < 3 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let window = sampler.so_far().seconds;
    assert!(window <= (start.elapsed() - before).as_secs_f64(), "{window} s include the time before the window");
    sampler.edge();
    let frozen = sampler.so_far();
    assert!(frozen.rounds >= 3);
    std::thread::sleep(before);
    assert_eq!(sampler.finish(), frozen, "rounds after the window do not count");
}
