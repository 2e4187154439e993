//! The owner's settings: the last good ones of `settings.toml`, saving, and watching the file. What each setting means
//! is decided where it is used, in the workers for the most part.

mod file;
mod form;
mod watch;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use porthole_protocol::{
    CallError, ErrorCode, SettingChange, Settings, SettingsFault, SettingsState, limits,
};

pub use watch::watch;

use crate::server::locked;

/// The settings of a server.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    state: Mutex<SettingsState>,
}

/// What a look at the file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// What it says is in force.
    Good,
    /// It has a fault, or is empty as while it is being written; what was good before is in force.
    Faulty,
}

impl Kept {
    /// Returns the settings in the data folder. With a fault in the file the defaults hold, and the fault is told.
    pub fn open(data: &Path) -> Arc<Self> {
        let path = data.join("settings.toml");
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let state = SettingsState {
            version: 1,
            path: path.display().to_string(),
            model_from_environment: set("PORTHOLE_DEFAULT_PROVIDER")
                && set("PORTHOLE_DEFAULT_MODEL"),
            ..SettingsState::default()
        };
        let kept = Arc::new(Self {
            path,
            state: Mutex::new(state),
        });
        kept.look(true);
        kept
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the settings in force, and what is wrong with the file.
    pub fn state(&self) -> SettingsState {
        locked(&self.state).clone()
    }

    /// Looks at the file; with `last`, a fault is told, otherwise it may be that someone is writing.
    pub fn look(&self, last: bool) -> Found {
        let read = file::read(&self.path).map_err(|error| SettingsFault {
            line: 0,
            message: format!("`{}` cannot be read: {error}", self.path.display()),
            hint: "the settings of the last good file hold".to_owned(),
        });
        let mut state = locked(&self.state);
        let form = read.and_then(|text| match text {
            Some(text) if text.trim().is_empty() && state.settings != Settings::default() => {
                Err(SettingsFault {
                    line: 0,
                    message: "the file is empty".to_owned(),
                    hint: "remove it, or write a comment into it, to have every default".to_owned(),
                })
            }
            text => form::parse(text.as_deref().unwrap_or_default()),
        });
        match form {
            Ok(form) => {
                if form.settings != state.settings {
                    state.version += 1;
                    state.settings = form.settings;
                    tracing::info!(version = state.version, "settings are in force");
                }
                (state.fault, state.warnings) = (None, form.warnings);
                Found::Good
            }
            Err(fault) if last => {
                if state.fault.as_ref() != Some(&fault) {
                    let line = fault.line;
                    tracing::warn!(line, "`settings.toml` is not in force: {}", fault.message);
                    state.fault = Some(fault);
                }
                Found::Faulty
            }
            Err(_) => Found::Faulty,
        }
    }

    /// Changes settings in the file as it is now, all or none, and puts them in force. Blocks.
    ///
    /// # Errors
    /// Where the file has a fault, a change makes no sense, or it cannot be written: the file is as it was.
    pub fn save(&self, changes: &[SettingChange]) -> Result<SettingsState, CallError> {
        if changes.len() > limits::SETTING_CHANGES {
            let message = format!(
                "at most {} settings change at a time",
                limits::SETTING_CHANGES
            );
            return Err(CallError::new(ErrorCode::TooLarge, message));
        }
        let failed = |error: std::io::Error| {
            let message = format!("cannot write `{}`: {error}", self.path.display());
            CallError::new(ErrorCode::Unavailable, message)
                .hint("is the disk full, or the folder read-only? The file was not changed")
        };
        let right = file::lock(&self.path).map_err(failed)?;
        let before = file::read(&self.path).map_err(failed)?.unwrap_or_default();
        let after = form::change(&before, changes).map_err(|fault| self.refused(&fault))?;
        if after != before {
            file::write(&self.path, &after, &right).map_err(failed)?;
        }
        drop(right);
        self.look(true);
        Ok(self.state())
    }

    fn refused(&self, fault: &SettingsFault) -> CallError {
        let message = match fault.line {
            0 => fault.message.clone(),
            line => format!("`{}` line {line}: {}", self.path.display(), fault.message),
        };
        CallError::new(ErrorCode::Invalid, message).hint(fault.hint.clone())
    }
}

#[cfg(test)]
mod tests;
