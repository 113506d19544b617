//! Prints every kind of sentence that judge says, so that all can be read together.
//!
//! `cargo run -p loadline-judge --features planted --example words`

fn main() {
    for s in loadline_judge::planted::sentences() {
        println!("{:<11} {:<22} {}", s.kind, s.id, s.text);
    }
}
