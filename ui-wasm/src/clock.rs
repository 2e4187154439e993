//! Times as people read them. The time itself always comes in as an argument.

const DAY_MS: i64 = 86_400_000;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns when something happened, as short as it stays clear: "14:02" today, "Tue" this week, else "3 Nov" or "2025".
pub(crate) fn when(at_ms: u64, now_ms: u64, utc_offset_minutes: i16) -> String {
    let at = local(at_ms, utc_offset_minutes);
    let now = local(now_ms, utc_offset_minutes);
    let days = now.div_euclid(DAY_MS) - at.div_euclid(DAY_MS);
    if days <= 0 {
        let minute = at.rem_euclid(DAY_MS) / 60_000;
        return format!("{:02}:{:02}", minute / 60, minute % 60);
    }
    let day = at.div_euclid(DAY_MS);
    if days < 7 {
        return DAYS[day.rem_euclid(7) as usize].to_owned();
    }
    let (year, month, date) = civil(day);
    if year == civil(now.div_euclid(DAY_MS)).0 {
        format!("{date} {}", MONTHS[month as usize - 1])
    } else {
        year.to_string()
    }
}

/// Returns when something that comes ends, as short as it stays clear: "18:30" today, "Tue 18:30" this week, else "3 Nov".
pub(crate) fn until(at_ms: u64, now_ms: u64, utc_offset_minutes: i16) -> String {
    let at = local(at_ms, utc_offset_minutes);
    let now = local(now_ms, utc_offset_minutes);
    let day = at.div_euclid(DAY_MS);
    let minute = at.rem_euclid(DAY_MS) / 60_000;
    let time = format!("{:02}:{:02}", minute / 60, minute % 60);
    match day - now.div_euclid(DAY_MS) {
        ..=0 => time,
        1..7 => format!("{} {time}", DAYS[day.rem_euclid(7) as usize]),
        _ => {
            let (_, month, date) = civil(day);
            format!("{date} {}", MONTHS[month as usize - 1])
        }
    }
}

fn local(ms: u64, utc_offset_minutes: i16) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX / 2) + i64::from(utc_offset_minutes) * 60_000
}

/// Year, month and date of a day counted from 1970 (proleptic Gregorian; Hinnant's algorithm).
fn civil(day: i64) -> (i64, i64, i64) {
    let z = day + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    (year, month, doy - (153 * mp + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_as_short_as_it_stays_clear() {
        let now = 1_700_000_000_000; // Tue 14 Nov 2023, 22:13 UTC
        let table = [
            (now - 60_000, 0, "22:12"),
            (now + 60_000, 0, "22:14"),
            (now - 60_000, 60, "23:12"),
            (now - 86_400_000, 0, "Mon"),
            (now - 6 * 86_400_000, 0, "Wed"),
            (now - 7 * 86_400_000, 0, "7 Nov"),
            (now - 400 * 86_400_000, 0, "2022"),
        ];
        for (at, offset, text) in table {
            assert_eq!(when(at, now, offset), text);
        }
        let ends = [
            (60_000, "22:14"),
            (86_400_000, "Wed 22:13"),
            (7 * 86_400_000, "21 Nov"),
        ];
        for (in_ms, text) in ends {
            assert_eq!(until(now + in_ms, now, 0), text);
        }
    }
}
