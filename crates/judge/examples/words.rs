//! Prints one example of every kind of sentence that the crate `judge` makes, so that a person can read all kinds
//! together.
//!
//! `cargo run -p loadline-judge --features planted --example words`

fn main() {
    for s in loadline_judge::planted::sentences() {
        println!("{:<11} {:<22} {}", s.kind, s.id, s.text);
    }
}
