//! What a response cost, by the price table: arithmetic in whole numbers. What is not known stays not known.

use porthole_protocol::{Price, Usage};

/// Millionths for a million tokens are a thousandth of a billionth for one.
const NANOS: u128 = 1_000;

/// Returns what a response cost in billionths of the table's currency; `None` where the provider did not tell enough, or
/// the table has no price for a part of it.
pub fn cost_nanos(price: &Price, usage: &Usage) -> Option<u64> {
    let (input, output) = (usage.input?, usage.output?);
    let (read, write) = (
        usage.cache_read.unwrap_or(0),
        usage.cache_write.unwrap_or(0),
    );
    let fresh = input.saturating_sub(read).saturating_sub(write);
    let part = |tokens: u64, price: Option<u64>| match (tokens, price) {
        (0, _) => Some(0),
        (tokens, price) => Some(u128::from(tokens) * u128::from(price?)),
    };
    let parts = [
        part(fresh, Some(price.input))?,
        part(read, price.cache_read)?,
        part(write, price.cache_write)?,
        part(output, Some(price.output))?,
    ];
    let sum = parts.into_iter().fold(0_u128, u128::saturating_add);
    u64::try_from(sum / NANOS).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Price = Price {
        input: 3_000_000,
        output: 15_000_000,
        cache_read: Some(300_000),
        cache_write: None,
    };

    fn used(input: u64, output: u64, read: Option<u64>, write: Option<u64>) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            cache_read: read,
            cache_write: write,
            cost_nanos: None,
        }
    }

    #[test]
    fn each_part_has_its_own_price_and_what_has_none_is_not_known() {
        for (usage, cost) in [
            (used(1_000_000, 0, None, None), Some(3_000_000_000)),
            (used(0, 1_000_000, None, None), Some(15_000_000_000)),
            (
                used(1_000, 10, Some(900), Some(0)),
                Some(300_000 + 270_000 + 150_000),
            ),
            (used(1, 0, None, None), Some(3_000)),
            (used(1_000, 10, None, Some(5)), None),
            (used(0, 0, None, None), Some(0)),
            (used(u64::MAX, u64::MAX, None, None), None),
            (
                Usage {
                    input: None,
                    ..used(0, 5, None, None)
                },
                None,
            ),
            (
                Usage {
                    output: None,
                    ..used(5, 0, None, None)
                },
                None,
            ),
        ] {
            assert_eq!(cost_nanos(&TABLE, &usage), cost, "{usage:?}");
        }
    }
}
