//! Log lines and metrics of calls.
