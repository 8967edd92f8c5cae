//! The way out: an HTTP client that only reaches where it may.
