//! What a session used and what that cost, as people read it: in all, and response by response.

use porthole_protocol::{Call, ConversationInfo, Usage, replies::Responses};

use crate::{
    App, clock,
    look::Look,
    picker::{Item, Picker},
};

/// Responses asked for at once.
const ROWS: u32 = 100;

/// Returns billionths of a dollar as people write money: "$0.42", and smaller sums as far as they say something.
pub(crate) fn money(nanos: u64) -> String {
    match nanos {
        0 => "$0.00".to_owned(),
        1..=999_999 => "under $0.001".to_owned(),
        // Rounded up: what was spent is never shown as less.
        1_000_000..=99_999_999 => {
            let tenths = nanos.div_ceil(1_000_000);
            format!("${}.{:03}", tenths / 1_000, tenths % 1_000)
        }
        _ => {
            let cents = nanos.div_ceil(10_000_000);
            format!("${}.{:02}", grouped(cents / 100), cents % 100)
        }
    }
}

/// Returns a number with its thousands apart: 12,345.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn tokens_words(usage: &Usage) -> String {
    match (usage.input, usage.output) {
        (None, None) => "the provider did not say".to_owned(),
        (input, output) => format!(
            "{} in, {} out",
            grouped(input.unwrap_or(0)),
            grouped(output.unwrap_or(0))
        ),
    }
}

fn cost_words(usage: &Usage, unpriced: u64) -> String {
    let Some(nanos) = usage.cost_nanos else {
        return "not known: no price is set for the model".to_owned();
    };
    match unpriced {
        0 => money(nanos),
        1 => format!("{}, and one response without a price", money(nanos)),
        many => format!("{}, and {many} responses without a price", money(nanos)),
    }
}

fn totals(info: &ConversationInfo) -> Vec<Item> {
    let usage = &info.usage;
    let line = |label: &str, words: String| Item::words(format!("{label:<9}{words}"));
    let mut items = vec![
        line("tokens", tokens_words(usage)),
        line("cost", cost_words(usage, info.unpriced)),
    ];
    if let Some(percent) = usage.cached_percent() {
        let words = format!("{percent} % of the input came from the provider's cache");
        items.push(line("cache", words));
    }
    let window = info
        .context_limit
        .map(|limit| format!(" of {}", grouped(limit)));
    let words = format!(
        "the next request holds about {}{}",
        grouped(info.context_tokens),
        window.unwrap_or_default()
    );
    items.push(line("context", words));
    items
}

fn rows(responses: &Responses, look: &Look, now_ms: u64) -> Vec<Item> {
    let row = |row: &porthole_protocol::replies::ResponseRow| {
        let at = clock::when(row.at_ms, now_ms, look.utc_offset_minutes);
        let usage = row.usage.unwrap_or_default();
        let cached = usage.cached_percent().filter(|percent| *percent > 0);
        let cached = cached.map_or(String::new(), |percent| format!(", {percent} % cached"));
        let part = if row.incomplete { " · broken off" } else { "" };
        let words = format!(
            "{at:<6} {}{cached} · {}{part}",
            tokens_words(&usage),
            row.model
        );
        let cost = usage.cost_nanos.map_or("–".to_owned(), money);
        Item::new(crate::picker::Choice::Nothing, words, cost)
    };
    responses.responses.iter().map(row).collect()
}

impl App {
    /// Shows what the session used; the responses come a little later.
    pub(crate) fn show_usage(&mut self) {
        let (Some(info), Some((session, conversation))) = (self.info(), self.open.clone()) else {
            return;
        };
        let mut items = totals(info);
        items.push(Item::words("responses: asking the server …"));
        self.picker = Some(Picker::new("what was used", items, ""));
        self.fx.call(Call::Responses {
            session,
            conversation,
            before: None,
            limit: ROWS,
        });
    }

    /// Takes what the responses of the open conversation used.
    pub(crate) fn took_responses(&mut self, responses: &Responses) {
        let Some(info) = self.info() else { return };
        let mut items = totals(info);
        items.push(Item::words(""));
        match responses.responses.is_empty() {
            true => items.push(Item::words("no response yet")),
            false => items.extend(rows(responses, &self.look, self.fx.now_ms)),
        }
        if responses.has_older {
            items.push(Item::words("older ones are not listed"));
        }
        if let Some(picker) = self
            .picker
            .as_mut()
            .filter(|p| p.is_titled("what was used"))
        {
            picker.fill(items, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_never_rounded_down_and_small_sums_still_say_something() {
        for (nanos, words) in [
            (0, "$0.00"),
            (1, "under $0.001"),
            (1_200_000, "$0.002"),
            (99_999_999, "$0.100"),
            (420_000_000, "$0.42"),
            (1_234_561_000_000, "$1,234.57"),
        ] {
            assert_eq!(money(nanos), words);
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
