//! The numbers of one `CSI` sequence, in a form that both ways of reading a frame share.

/// Most numbers that a sequence may have; a longer sequence is dropped whole.
const MOST: usize = 32;

/// Numbers with a note of which of them are sub-parameters (after a colon).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    values: [u16; MOST],
    subs: u32,
    len: usize,
}

impl Numbers {
    /// Returns the numbers that vte has read.
    pub(super) fn from_vte(params: &vte::Params) -> Self {
        let mut numbers = Numbers::none();
        for group in params {
            for (at, value) in group.iter().enumerate() {
                if numbers.len < MOST {
                    numbers.push(*value, at > 0);
                }
            }
        }
        numbers
    }

    /// Reads `[0-9;:]*` as vte does. `None`: another byte is there, or more numbers than fit.
    #[inline]
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut numbers = Numbers::none();
        let mut value: u16 = 0;
        let mut sub = false;
        for byte in bytes {
            match byte {
                b'0'..=b'9' => {
                    value = value
                        .saturating_mul(10)
                        .saturating_add(u16::from(byte - b'0'));
                }
                b';' | b':' if numbers.len + 1 < MOST => {
                    numbers.push(value, sub);
                    value = 0;
                    sub = *byte == b':';
                }
                _ => return None,
            }
        }
        numbers.push(value, sub);
        Some(numbers)
    }

    fn none() -> Self {
        Numbers {
            values: [0; MOST],
            subs: 0,
            len: 0,
        }
    }

    #[inline]
    fn push(&mut self, value: u16, sub: bool) {
        self.values[self.len] = value;
        self.subs |= u32::from(sub) << self.len;
        self.len += 1;
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the number at `at`; 0 where there is none.
    #[inline]
    pub(super) fn get(&self, at: usize) -> u16 {
        self.values.get(at).copied().unwrap_or(0)
    }

    /// Returns where the group that starts at `at` ends.
    #[inline]
    pub(super) fn group_end(&self, at: usize) -> usize {
        let mut end = at + 1;
        while end < self.len && self.subs >> end & 1 == 1 {
            end += 1;
        }
        end
    }

    /// Returns the number at `at` as a count: at least 1.
    pub(super) fn count(&self, at: usize) -> u16 {
        self.get(at).max(1)
    }
}
