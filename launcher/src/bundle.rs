//! Follows in the next commits.
