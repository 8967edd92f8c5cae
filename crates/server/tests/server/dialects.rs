//! The dialects of the five seeds, over a real listener. Tests name the requirements they are
//! about by their identifiers in the catalogue.

mod molecule;
mod opportunity;
mod pocketpaw;
mod upal;
mod world;
