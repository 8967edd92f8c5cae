//! The pages that a browser gets, as they were built.

use std::{collections::HashMap, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::HeaderValue;

/// Names that change with their content begin like this, so they never have to be asked for again.
const HASHED: &str = "assets/";

/// The files of the canvas. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Canvas(Arc<HashMap<String, File>>);

/// A file, in every form in which it can be sent.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) kind: &'static str,
    pub(crate) etag: HeaderValue,
    pub(crate) is_immutable: bool,
    pub(crate) plain: &'static [u8],
    pub(crate) gzip: Option<&'static [u8]>,
    pub(crate) brotli: Option<&'static [u8]>,
}

impl Canvas {
    /// Takes files by their paths. `index.html.br` and `index.html.gz` are `index.html` in other
    /// forms.
    pub fn new(files: &[(&'static str, &'static [u8])]) -> Self {
        let find =
            |path: String| files.iter().find(|(name, _)| **name == path).map(|(_, data)| *data);
        let is_plain = |path: &str| !matches!(path.rsplit_once('.'), Some((_, "br" | "gz")));
        let plain = files.iter().filter(|(path, _)| is_plain(path));
        let files = plain.map(|(path, data)| {
            let hash = digest(&SHA256, data);
            let etag = format!("\"{}\"", URL_SAFE_NO_PAD.encode(&hash.as_ref()[..12]));
            let file = File {
                kind: kind(path),
                // Letters, digits and quotes.
                etag: HeaderValue::try_from(etag).unwrap_or(HeaderValue::from_static("\"\"")),
                is_immutable: path.starts_with(HASHED),
                plain: data,
                gzip: find(format!("{path}.gz")),
                brotli: find(format!("{path}.br")),
            };
            ((*path).to_owned(), file)
        });
        Self(Arc::new(files.collect()))
    }

    pub(crate) fn find(&self, path: &str) -> Option<&File> {
        self.0.get(if path.is_empty() { "index.html" } else { path })
    }
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" | "map" => "application/json",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}
