//! Tests of the transcript: what people see, and that nothing moves under a reader.

mod hostile;
mod looks;
mod reading;
mod talk;
