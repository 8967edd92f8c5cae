//! Puts the canvas into the program: the files that `make web` has built, or, without them, a
//! page that says how to get it. And says what the program was made of.

#[path = "build/commit.rs"]
mod commit;

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
    let has_canvas = built.join("index.html").exists();
    say_what_it_is(&home.join("../.."), has_canvas)?;
    if has_canvas {
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

/// Tells the program what `nuncio --version` says.
fn say_what_it_is(root: &Path, has_canvas: bool) -> anyhow::Result<()> {
    let target = env::var("TARGET")?;
    let made_of = match commit::find(root) {
        Some(commit) => format!("commit {commit}, {target}"),
        None if commit::is_release() => format!("unknown commit, {target}"),
        None => format!("development, {target}"),
    };
    println!("cargo:rustc-env=NUNCIO_MADE_OF={made_of}");
    let canvas = if has_canvas { "canvas, " } else { "no canvas, " };
    println!("cargo:rustc-env=NUNCIO_FEATURES={canvas}grpc, mcp, postgres, signing, sqlite");
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
