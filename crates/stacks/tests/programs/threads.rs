// Test program whose threads run known functions: one waits for a lock, one for a condition variable, and one computes.
use std::io::Read;
use std::sync::{Condvar, Mutex};

static PLANTED_LOCK: Mutex<u64> = Mutex::new(1);
static PLANTED_COUNT: Mutex<u64> = Mutex::new(1);
static PLACE_IS_FREE: Condvar = Condvar::new();

#[inline(never)]
fn wait_for_planted_lock() -> u64 {
    *PLANTED_LOCK.lock().unwrap()
}

// Waits in a loop, so compilers call the waiting function through a register.
#[inline(never)]
fn wait_for_planted_place() -> u64 {
    let count = PLANTED_COUNT.lock().unwrap();
    *PLACE_IS_FREE.wait_while(count, |count| *count >= 1).unwrap()
}

#[inline(never)]
fn compute_planted_sum() {
    let mut sum = 1_u64;
    for i in 0_u64.. {
        sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(i));
    }
}

fn main() {
    let _held = PLANTED_LOCK.lock().unwrap();
    std::thread::spawn(|| wait_for_planted_lock() + 1);
    std::thread::spawn(|| wait_for_planted_place() + 1);
    std::thread::spawn(|| {
        compute_planted_sum();
        std::hint::black_box(2)
    });
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
}
