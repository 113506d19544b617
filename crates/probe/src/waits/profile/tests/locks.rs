//! Tests with a planted lock: its holder and the threads that wait for it.

use run::{FutexKind, HolderState, HolderThread, ThreadState};

use super::super::super::round::{FutexSample, Round, WaitKey};
use super::{LOCK, locked, profile, thread};

#[test]
fn the_holder_of_a_planted_lock_and_its_waiters_are_counted() {
    let rounds: Vec<Round> = (0..8).map(|n| locked(n % 4 + 1)).collect();
    let found = profile(&rounds);
    assert_eq!((found.rounds, found.samples), (8, 32));
    let futex = &found.futexes[0];
    assert_eq!(
        (futex.process.as_str(), futex.address.as_str(), futex.kind),
        ("app:7", "0x5000", FutexKind::OwnedMutex)
    );
    assert_eq!((futex.users, futex.waiting, futex.contended, futex.unheld), (4, 3.0, 1.0, 0.0));
    assert_eq!((futex.active, futex.owned), (1.0, 1.0));
    assert_eq!(futex.holders, [HolderState { state: ThreadState::Sleep, key: String::new(), share: 1.0 }]);
    let rows: Vec<(ThreadState, &str, f64)> =
        found.groups.iter().map(|g| (g.state, g.key.as_str(), g.threads)).collect();
    assert_eq!(rows, [(ThreadState::Futex, "0x5000", 3.0), (ThreadState::Sleep, "", 1.0)]);
    assert_eq!(found, profile(&rounds));
}

#[test]
fn a_holder_counts_as_it_was_read_while_it_held_the_lock() {
    let rounds: Vec<Round> = (0..8)
        .map(|n| {
            // When the round read the thread, the thread was on a CPU for its client. When the round read the lock, the
            // thread slept. In half of the rounds, the lock changed its owner before the round read the owner's thread.
            let mut round = locked(1);
            round.threads[0].state = ThreadState::OnCpu;
            round.futexes[0].holder = round.futexes[0].holder.take().filter(|_| n % 2 == 0);
            round
        })
        .collect();
    let found = profile(&rounds);
    assert_eq!(found.futexes[0].owned, 1.0);
    assert_eq!(found.futexes[0].holders, [HolderState { state: ThreadState::Sleep, key: String::new(), share: 1.0 }]);
}

/// Returns a round as [`locked`] does, but the futex does not store its owner.
fn unowned(holder: u32) -> Round {
    let mut round = locked(holder);
    round.futexes[0] = FutexSample { kind: FutexKind::Mutex, owner: None, holder: None, ..round.futexes[0].clone() };
    round
}

/// On a busy machine, the sampler may lose its CPU in the middle of a round. If the lock changes its holder while the
/// sampler is off the CPU, the round sees no holder.
#[test]
fn a_round_whose_readings_belong_to_different_moments_does_not_show_that_nobody_holds_the_lock() {
    let torn = |is_torn| {
        let mut round = unowned(1);
        round.threads[0] = thread(1, ThreadState::Futex, WaitKey::Futex(LOCK));
        Round { is_torn, ..round }
    };
    let seen = |rounds: Vec<Round>| {
        let found = profile(&rounds);
        (found.futexes[0].unheld, found.futexes[0].active)
    };
    let whole: Vec<Round> = (1..=4).map(unowned).collect();
    assert_eq!(seen([whole.clone(), vec![torn(true); 4]].concat()), (0.0, 1.0));
    assert_eq!(seen([whole.clone(), vec![torn(false); 4]].concat()), (0.5, 0.5), "rounds at one moment count");
    // If no round read all threads at one moment, the mean number of active threads decides: one round finds no holder,
    // and another finds two.
    let mut two = Round { is_torn: true, ..unowned(1) };
    two.threads[1] = thread(2, ThreadState::Sleep, WaitKey::None);
    assert_eq!(seen(vec![torn(true), two]), (0.0, 1.0));
    assert_eq!(seen(vec![torn(true); 4]), (1.0, 0.0));
}

#[test]
fn the_thread_that_holds_a_lock_is_told_by_its_owner_or_as_the_only_active_user() {
    let rounds = |round: fn(u32) -> Round| [vec![round(2), round(3)], vec![round(1); 8]].concat();
    let first = |rounds: &[Round]| profile(rounds).futexes[0].holder_threads.first().cloned();
    let most = |share| Some(HolderThread { name: "worker-1".into(), id: 1, readings: 8, share });
    assert_eq!(first(&rounds(locked)), most(0.8));
    // In the first round, thread 2 was not known to use the lock.
    assert_eq!(first(&rounds(unowned)), most(8.0 / 9.0));
    let hidden = |change: fn(&mut Round)| {
        let mut rounds = rounds(unowned);
        rounds.iter_mut().for_each(change);
        first(&rounds)
    };
    assert_eq!(hidden(|round| round.is_torn = true), None);
    assert_eq!(hidden(|round| round.weight = 2.0), None, "further threads were not read");
    assert_eq!(hidden(|round| round.threads.push(thread(9, ThreadState::Disk, WaitKey::None))), None, "two are active");
    let stranger = vec![unowned(9); 8].into_iter().map(|mut round| {
        round.threads.push(thread(9, ThreadState::Sleep, WaitKey::None));
        round
    });
    assert_eq!(first(&stranger.collect::<Vec<_>>()), None, "it never waited for the lock");
}
