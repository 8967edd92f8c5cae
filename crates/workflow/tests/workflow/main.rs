//! Workflows from outside: the examples, the corpus of the fuzz targets, and runs.

mod corpus;
mod examples;
mod runner;
