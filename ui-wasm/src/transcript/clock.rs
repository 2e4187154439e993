//! Times as people read them. It reads no clock.

/// Returns the time of day, `14:02`.
pub(crate) fn time_of_day(at_ms: u64, utc_offset_minutes: i16) -> String {
    let minutes = i64::try_from(at_ms / 60_000).unwrap_or(0) + i64::from(utc_offset_minutes);
    let of_day = minutes.rem_euclid(24 * 60);
    format!("{:02}:{:02}", of_day / 60, of_day % 60)
}

/// Returns how long something took: `40 ms`, `8.4 s`, `2 m 05 s`, `1 h 02 m`.
pub(crate) fn duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..59_950 => format!("{}.{} s", (ms + 50) / 1000, (ms + 50) / 100 % 10),
        59_950..3_600_000 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Returns how long something has been going on: `0:07`, `12:30`, `1:02:30`.
pub(crate) fn elapsed(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        assert_eq!(time_of_day(0, 120), "02:00");
        assert_eq!(time_of_day(0, -30), "23:30");
        let shown: Vec<String> = [40, 999, 1_000, 8_449, 59_940, 125_000, 3_720_000]
            .map(duration)
            .into();
        assert_eq!(
            shown,
            [
                "40 ms", "999 ms", "1.0 s", "8.4 s", "59.9 s", "2 m 05 s", "1 h 02 m"
            ]
        );
        let shown: Vec<String> = [7_900, 750_000, 3_750_000].map(elapsed).into();
        assert_eq!(shown, ["0:07", "12:30", "1:02:30"]);
    }
}
