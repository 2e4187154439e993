//! How paths travel in JSON: as text where they are UTF-8, else as a list of bytes.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes(Vec<u8>),
}

pub(crate) fn serialize<S: Serializer>(
    path: &impl AsRef<OsStr>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    to_wire(path.as_ref()).serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>, P: From<OsString>>(
    deserializer: D,
) -> Result<P, D::Error> {
    Ok(P::from(from_wire(Wire::deserialize(deserializer)?)))
}

fn to_wire(path: &OsStr) -> Wire {
    match path.to_str() {
        Some(text) => Wire::Text(text.to_owned()),
        None => Wire::Bytes(path.as_bytes().to_vec()),
    }
}

fn from_wire(wire: Wire) -> OsString {
    match wire {
        Wire::Text(text) => OsString::from(text),
        Wire::Bytes(bytes) => OsString::from_vec(bytes),
    }
}

/// The same for a list of variables.
pub(crate) mod pairs {
    use super::{OsString, Wire, from_wire, to_wire};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        pairs: &[(OsString, OsString)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let wire: Vec<(Wire, Wire)> = pairs
            .iter()
            .map(|(name, value)| (to_wire(name), to_wire(value)))
            .collect();
        wire.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(OsString, OsString)>, D::Error> {
        let wire = Vec::<(Wire, Wire)>::deserialize(deserializer)?;
        Ok(wire
            .into_iter()
            .map(|(name, value)| (from_wire(name), from_wire(value)))
            .collect())
    }
}
