//! Commands about who may: links and devices.

use super::out::{note, say};
use super::{
    DataArgs, Failure, ListArgs,
    client::{ask, strange},
    lifecycle::print_json,
    plain::one_line,
};
use crate::local::{Ask, Tell};

pub(super) fn link_owner(data: &DataArgs) -> Result<(), Failure> {
    let Tell::OwnerLink { link, seconds } = ask(data, &Ask::OwnerLink)? else {
        return Err(strange());
    };
    say!("{link}");
    note!("");
    note!(
        "Whoever uses this link first has everything that you have here. It works once, for {} minutes.",
        seconds / 60
    );
    note!("Run `porthole` and paste it there.");
    if link.starts_with("http://") {
        note!("It reaches only this machine; from another one use `ssh -L` to forward the port.");
    }
    Ok(())
}

pub(super) fn devices(list: &ListArgs) -> Result<(), Failure> {
    let Tell::Devices { devices } = ask(&list.data, &Ask::Devices)? else {
        return Err(strange());
    };
    if list.json {
        return print_json(&devices);
    }
    if devices.is_empty() {
        say!("No devices yet; `portholed link owner` makes a link for one.");
    }
    for device in devices {
        say!("{}  {}", device.id, one_line(&device.name));
    }
    Ok(())
}

pub(super) fn sign_out(device: String, data: &DataArgs) -> Result<(), Failure> {
    let asked = ask(
        data,
        &Ask::SignOut {
            device: device.clone(),
        },
    );
    asked.map_err(|failure| failure.hint("`portholed devices` lists them"))?;
    say!("Signed out {}", one_line(&device));
    Ok(())
}
