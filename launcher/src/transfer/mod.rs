//! Files between this computer and a server: what is sent is exactly the file that was agreed to, and what is saved lands
//! beside what is there, never over it. Who is asked, and how, is the core's matter.

mod commands;
mod disposition;
mod download;
mod dropped;
mod error;
mod listing;
mod local_file;
mod name;
mod path;
mod place;
mod upload;

pub use commands::{download as download_command, upload as upload_command};
pub use disposition::name_in;
pub use download::{Saved, Wish, download};
pub use dropped::{FILES, dropped_files, is_hidden, large, paths_in};
pub use error::TransferError;
pub use listing::{Entry, EntryKind, list};
pub use local_file::{LocalFile, Refused};
pub use name::{NotAName, safe_name};
pub use path::local_path;
pub use place::{Place, download_folder};
pub use upload::{Content, Upload, upload};

/// Returns a size in words.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..=1023 => format!("{bytes} bytes"),
        1024..=1_048_575 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => {
            let tenths = bytes.saturating_mul(10) / (1 << 20);
            format!("{}.{} MiB", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod cases;
