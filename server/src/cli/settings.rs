//! The settings from the shell: the same calls that a UI makes, over the server's socket.

use porthole_protocol::{Call, RequestId, SettingChange, SettingsFault, SettingsState};

use super::out::say;
use super::{
    DataArgs, Failure, SettingsArgs, SettingsChange, client::Link, lifecycle::print_json,
    plain::one_line,
};
use crate::token::random_id;

pub(super) fn settings(args: &SettingsArgs) -> Result<(), Failure> {
    match &args.change {
        None => show(args),
        Some(SettingsChange::Set { key, value, data }) => change(data, key, Some(value.clone())),
        Some(SettingsChange::Unset { key, data }) => change(data, key, None),
    }
}

fn show(args: &SettingsArgs) -> Result<(), Failure> {
    let state: SettingsState = Link::open(&args.data)?.call(Call::SettingsGet {})?;
    if args.json {
        return print_json(&state);
    }
    let values = serde_json::to_value(&state.settings)
        .map_err(|error| Failure::new(format!("cannot show the settings: {error}")))?;
    for (key, value) in values.as_object().into_iter().flatten() {
        match value.as_object() {
            Some(table) => {
                for (name, value) in table {
                    say!("{}", one_line(&format!("{key}.{name} = {value}")));
                }
            }
            None => say!("{}", one_line(&format!("{key} = {value}"))),
        }
    }
    say!("\nThey are in {}", one_line(&state.path));
    for fault in state.fault.iter().chain(&state.warnings) {
        say!("{}", one_line(&told(fault)));
    }
    Ok(())
}

fn told(fault: &SettingsFault) -> String {
    match fault.line {
        0 => fault.message.clone(),
        line => format!("line {line}: {}", fault.message),
    }
}

fn change(data: &DataArgs, key: &str, value: Option<String>) -> Result<(), Failure> {
    let request = RequestId::parse(&random_id::<12>())
        .map_err(|error| Failure::new(format!("cannot name the request: {error}")))?;
    let key = key.to_owned();
    let _: SettingsState = Link::open(data)?.call(Call::SettingsSave {
        request,
        changes: vec![SettingChange { key, value }],
    })?;
    Ok(())
}
