//! Ids made by the UI: of calls that change something, and of actions. They come from the seed of the start message;
//! nothing here is a secret.

use porthole_protocol::RequestId;

/// Makes ids: a counter hashed with the seed, so that two UIs never make the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    seed: [u64; 2],
    made: u64,
}

impl Ids {
    /// Returns a maker of ids for `seed`.
    pub(crate) fn new(seed: [u8; 16]) -> Self {
        let number = u128::from_le_bytes(seed);
        Self {
            seed: [number as u64, (number >> 64) as u64],
            made: 0,
        }
    }

    /// Returns a request id that was never returned before.
    pub(crate) fn request(&mut self) -> RequestId {
        self.made += 1;
        let high = mix(self.seed[0] ^ self.made);
        let low = mix(self.seed[1].wrapping_add(high));
        let text = format!("u{high:016x}{low:016x}");
        RequestId::parse(&text).expect("a letter and hexadecimal digits are a valid id")
    }

    /// Returns the number of an action.
    pub(crate) fn action(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}

/// The finaliser of splitmix64: every input bit reaches every output bit.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_id_comes_twice_and_another_seed_makes_others() {
        let mut seen = BTreeSet::new();
        for seed in [[1; 16], [2; 16]] {
            let mut ids = Ids::new(seed);
            for _ in 0..500 {
                assert!(seen.insert(ids.request()));
            }
        }
    }
}
