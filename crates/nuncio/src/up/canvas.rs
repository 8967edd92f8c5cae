//! The canvas, as it was built into the program.

use nuncio_hub::canvas::Canvas;

/// Its files, by their paths.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/canvas.rs"));

pub(super) fn canvas() -> Canvas {
    Canvas::new(FILES)
}
