//! How far local time is ahead of UTC, read from the system's zone file.
//! It knows the offset in force at one moment, not rules for others.

/// Returns the minutes that local time is ahead of UTC at `now` (seconds since the Unix epoch); 0 where nothing says.
pub fn offset_minutes(tz: Option<&str>, now: i64) -> i16 {
    let path = match tz.map(|name| name.trim_start_matches(':')) {
        None => "/etc/localtime".to_owned(),
        Some("") => return 0,
        Some(name) if name.starts_with('/') => name.to_owned(),
        Some(name) if name.contains("..") => return 0,
        Some(name) => format!("/usr/share/zoneinfo/{name}"),
    };
    std::fs::read(path)
        .ok()
        .and_then(|bytes| offset_in(&bytes, now))
        .and_then(|seconds| i16::try_from(seconds / 60).ok())
        .unwrap_or(0)
}

/// One data block of a zone file: how many of each part there are, and how wide its times are.
struct Block<'a> {
    times: usize,
    types: usize,
    time_bytes: usize,
    data: &'a [u8],
}

const HEADER: usize = 44;

fn offset_in(bytes: &[u8], now: i64) -> Option<i32> {
    let first = block(bytes, 4)?;
    let old = first.0;
    if bytes.get(4)? < &b'2' {
        return old.offset(now);
    }
    block(bytes.get(first.1..)?, 8)?.0.offset(now)
}

/// Returns the block at the start of `bytes` and the length of header and block together.
fn block(bytes: &[u8], time_bytes: usize) -> Option<(Block<'_>, usize)> {
    if bytes.get(..4)? != b"TZif" {
        return None;
    }
    let count = |index: usize| -> Option<usize> {
        let at = 20 + 4 * index;
        let four: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
        usize::try_from(u32::from_be_bytes(four)).ok()
    };
    let (utc, std, leaps, times, types, chars) = (
        count(0)?,
        count(1)?,
        count(2)?,
        count(3)?,
        count(4)?,
        count(5)?,
    );
    let length = times
        .checked_mul(time_bytes + 1)?
        .checked_add(types.checked_mul(6)?)?
        .checked_add(chars)?
        .checked_add(leaps.checked_mul(time_bytes + 4)?)?
        .checked_add(std)?
        .checked_add(utc)?;
    let data = bytes.get(HEADER..HEADER.checked_add(length)?)?;
    let block = Block {
        times,
        types,
        time_bytes,
        data,
    };
    Some((block, HEADER + length))
}

impl Block<'_> {
    fn offset(&self, now: i64) -> Option<i32> {
        let last = (0..self.times)
            .take_while(|index| self.time(*index).is_some_and(|time| time <= now))
            .last();
        let kind = match last {
            Some(index) => usize::from(*self.data.get(self.times * self.time_bytes + index)?),
            None => 0,
        };
        if kind >= self.types {
            return None;
        }
        let at = self.times * (self.time_bytes + 1) + 6 * kind;
        let four: [u8; 4] = self.data.get(at..at + 4)?.try_into().ok()?;
        Some(i32::from_be_bytes(four))
    }

    fn time(&self, index: usize) -> Option<i64> {
        let raw = self
            .data
            .get(index * self.time_bytes..(index + 1) * self.time_bytes)?;
        match self.time_bytes {
            4 => Some(i64::from(i32::from_be_bytes(raw.try_into().ok()?))),
            _ => Some(i64::from_be_bytes(raw.try_into().ok()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A version 1 file: before second 100 one hour ahead, from then on two.
    fn zone() -> Vec<u8> {
        let mut bytes = b"TZif\0".to_vec();
        bytes.resize(20, 0);
        for count in [0_u32, 0, 0, 1, 2, 0] {
            bytes.extend(count.to_be_bytes());
        }
        bytes.extend(100_i32.to_be_bytes());
        bytes.push(1);
        for offset in [3600_i32, 7200] {
            bytes.extend(offset.to_be_bytes());
            bytes.extend([0, 0]);
        }
        bytes
    }

    #[test]
    fn the_offset_changes_at_the_transition() {
        assert_eq!(offset_in(&zone(), 99), Some(3600));
        assert_eq!(offset_in(&zone(), 100), Some(7200));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_zone_or_none(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), now: i64) {
            let _ = offset_in(&bytes, now);
            bytes.splice(0..0, zone().into_iter().take(30));
            let _ = offset_in(&bytes, now);
        }
    }
}
