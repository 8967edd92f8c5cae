//! Workflows from outside: the examples, and the corpus of the fuzz targets.

mod corpus;
mod examples;
