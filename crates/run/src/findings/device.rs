//! A device and how busy it was: what judge says of each, for whoever shows it.

/// One device and the share of its time that it was busy.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// `server`, `client`, or `host` where both are one.
    pub side: &'static str,
    /// What it is: `CPUs`, `thread`, `interface`, ….
    pub kind: &'static str,
    /// Which one: `nginx:1234/1240`, `eth0`; may be empty.
    pub instance: String,
    /// 0 to 1: the share of its time, or of its limit.
    pub busy: f64,
    /// Whether that is so much that it stands out.
    pub full: bool,
}

impl Device {
    /// Side, kind and instance.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.side, self.kind, self.instance).trim_end().into()
    }

    /// Side and kind, for where room is short.
    pub fn short(&self) -> String {
        format!("{} {}", self.side, self.kind)
    }
}
