//! Colours for code: which part of a line plays which role. It knows no themes and lays nothing out.
