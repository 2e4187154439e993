//! Commands that the server and other programs run: worker, environment, and the decoder of model streams.

use super::{Api, Failure};

pub(super) fn worker() -> Result<(), Failure> {
    Err(Failure::new("this build has no engine"))
}

pub(super) fn env() -> Result<(), Failure> {
    Err(Failure::new("this build has no environment"))
}

pub(super) fn model_stream(_api: Api) -> Result<(), Failure> {
    Err(Failure::new("this build has no models"))
}
