//! The medium `loopback`: all hosts are in one network namespace and share its loopback interface.

use super::medium::{BuiltMedium, MediumPlan, Wire};
use crate::arguments::Arguments;
use crate::error::Result;
use crate::net::Net;

#[derive(Debug)]
struct Loopback;

pub(super) fn plan(_: &mut Arguments) -> Result<Box<dyn MediumPlan>, String> {
    Ok(Box::new(Loopback))
}

impl MediumPlan for Loopback {
    fn hosts_apart(&self) -> bool {
        false
    }

    fn join(&self, _: &Net) -> Result<Box<dyn BuiltMedium>> {
        Ok(Box::new(Self))
    }
}

impl BuiltMedium for Loopback {
    fn wires(&self) -> Vec<Wire> {
        Vec::new()
    }

    fn made_of(&self) -> String {
        "kernel: the loopback interface of one namespace".into()
    }
}
