//! Puts the canvas into the program: the files that `make web` has built, or, without them, a
//! page that says how to get it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

const MISSING: &str = "<!doctype html><html lang=en><meta charset=utf-8><title>Nuncio</title>\
    <h1>Nuncio</h1><p>This program was built without its canvas. <code>make web</code> builds it \
    (with Node 20 or newer); then build the program again.</p>\
    <p>For programs: <a href=\"../openapi.json\">the API</a>.</p></html>";

fn main() -> anyhow::Result<()> {
    let home = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let built = home.join("../../web/dist");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed=build.rs");
    // A path that is not there would make every build begin here.
    let watched = if built.exists() { built.clone() } else { home.join("../../web/package.json") };
    println!("cargo:rerun-if-changed={}", watched.display());
    let mut files = Vec::new();
    if built.join("index.html").exists() {
        collect(&built, &built, &mut files)?;
    } else {
        let page = out.join("missing.html");
        fs::write(&page, MISSING)?;
        files.push(("index.html".to_owned(), page));
    }
    files.sort();
    let mut lines = vec!["&[".to_owned()];
    for (name, path) in files {
        let path = path.to_str().context("a path in UTF-8")?;
        lines.push(format!("    ({name:?}, include_bytes!({path:?})),"));
    }
    lines.push("]".to_owned());
    fs::write(out.join("canvas.rs"), lines.join("\n"))?;
    Ok(())
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root)?.to_str().context("a name in UTF-8")?;
            files.push((name.replace('\\', "/"), path.canonicalize()?));
        }
    }
    Ok(())
}
