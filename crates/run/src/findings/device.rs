//! A device and its utilization. The crate `judge` computes the devices for every page that shows devices.

/// One device and its utilization.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Side of the device: `server`, `client`, or `host` if client and server are the same host.
    pub side: &'static str,
    /// Kind of device: `CPUs`, `thread`, `interface`, ….
    pub kind: &'static str,
    /// Instance: `nginx:1234/1240`, `eth0`; may be empty.
    pub instance: String,
    /// Utilization, 0 to 1: busy share of the time, or used share of the limit.
    pub busy: f64,
    /// True if the utilization is so high that the device counts as full.
    pub full: bool,
}

impl Device {
    /// Returns the side, the kind and the instance of the device as one text.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.side, self.kind, self.instance).trim_end().into()
    }

    /// Returns the side and the kind of the device as one text, for narrow columns.
    pub fn short(&self) -> String {
        format!("{} {}", self.side, self.kind)
    }
}
