//! The three kinds of events, and their conversion to poll(2) bits. The names of the kinds are taken from the paper by
//! Banga, Mogul and Druschel (see `lib.rs`): EVENT_READ, EVENT_WRITE and EVENT_EXCEPT. Except with select(2), an error
//! or a hang-up is reported as every declared kind. Callers therefore need no separate kind of event for errors.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign};

use sys::poll;

/// A set of event kinds, used as an interest or as a state.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Mask(u8);

/// Kinds of events that are true for a descriptor now: a read would not block, a write would not block, or there is an
/// exceptional condition.
pub type State = Mask;

impl Mask {
    /// The empty set. Declaring the empty set as an interest revokes the interest.
    pub const NONE: Self = Self(0);
    /// Data or an end of file can be read. Value 0x1.
    pub const READ: Self = Self(1);
    /// The send buffer has space. Value 0x2.
    pub const WRITE: Self = Self(2);
    /// There is an exceptional condition, such as urgent data of TCP. Value 0x4.
    pub const EXCEPT: Self = Self(4);
    /// Mask with all kinds of events.
    pub const ALL: Self = Self(7);

    /// Returns the set as bits, 0x0 to 0x7.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// Creates a set of event kinds from bits. All bits other than the lowest three are ignored.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Self((bits & 7) as u8)
    }

    /// Returns true if the set is empty.
    #[inline]
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns true if all kinds of `other` are in this set.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns true if [`Mask::READ`] is in the set.
    #[inline]
    #[must_use]
    pub const fn is_read(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns true if [`Mask::WRITE`] is in the set.
    #[inline]
    #[must_use]
    pub const fn is_write(self) -> bool {
        self.0 & 2 != 0
    }

    /// Returns true if [`Mask::EXCEPT`] is in the set.
    #[inline]
    #[must_use]
    pub const fn is_except(self) -> bool {
        self.0 & 4 != 0
    }

    /// Returns the poll bits for this interest.
    #[inline]
    pub(crate) const fn to_poll(self) -> i16 {
        let mut bits = 0;
        if self.is_read() {
            bits |= poll::IN | poll::RDHUP;
        }
        if self.is_write() {
            bits |= poll::OUT;
        }
        if self.is_except() {
            bits |= poll::PRI;
        }
        bits
    }

    /// Converts poll bits to the kinds of events that they imply.
    #[inline]
    pub(crate) const fn from_poll(bits: i16) -> Self {
        if bits & (poll::ERR | poll::HUP) != 0 {
            return Self::ALL;
        }
        let read = (bits & (poll::IN | poll::RDHUP) != 0) as u8;
        let write = (bits & poll::OUT != 0) as u8;
        let except = (bits & poll::PRI != 0) as u8;
        Self(read | write << 1 | except << 2)
    }
}

impl BitOr for Mask {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Mask {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Mask {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [(Self::READ, "READ"), (Self::WRITE, "WRITE"), (Self::EXCEPT, "EXCEPT")];
        let set: Vec<_> = names.iter().filter(|(m, _)| self.contains(*m)).map(|(_, n)| *n).collect();
        f.write_str(if set.is_empty() { "NONE" } else { "" })?;
        f.write_str(&set.join("|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_bits_of_the_paper_and_print_names() {
        assert_eq!((Mask::READ.bits(), Mask::WRITE.bits(), Mask::EXCEPT.bits()), (1, 2, 4));
        assert_eq!(format!("{:?} {:?}", Mask::NONE, Mask::READ | Mask::EXCEPT), "NONE READ|EXCEPT");
        assert_eq!(Mask::from_bits(0xff), Mask::ALL);
    }

    #[test]
    fn errors_and_hang_ups_are_every_kind() {
        assert_eq!(Mask::from_poll(poll::HUP), Mask::ALL);
        assert_eq!(Mask::from_poll(poll::OUT | poll::RDHUP), Mask::READ | Mask::WRITE);
        for bits in 0..8 {
            let mask = Mask::from_bits(bits);
            assert_eq!(Mask::from_poll(mask.to_poll()), mask);
        }
    }
}
