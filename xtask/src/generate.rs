//! Rust code from the protobuf files in `proto/`.
//!
//! The output is committed, so that building the library needs neither `protoc` nor a
//! build script. It is formatted by the generator rather than by rustfmt: the result
//! then depends on `Cargo.lock` alone, not on the toolchain of whoever runs this.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use prost_build::Module;

/// Writes the generated files.
pub(crate) fn write() -> anyhow::Result<()> {
    fs::create_dir_all(root().join(OUTPUT)).with_context(|| format!("create {OUTPUT}"))?;
    for file in generate()? {
        fs::write(root().join(&file.path), &file.code)
            .with_context(|| format!("write {}", file.path.display()))?;
    }
    Ok(())
}

/// Fails when a committed file differs from what [`write()`] would leave.
pub(crate) fn check() -> anyhow::Result<()> {
    for file in generate()? {
        let path = file.path.display();
        let committed = fs::read_to_string(root().join(&file.path))
            .with_context(|| format!("read {path}; `cargo run -p xtask -- generate` writes it"))?;
        if committed != file.code {
            bail!("{path} is stale; run `cargo run -p xtask -- generate` and commit the result");
        }
    }
    Ok(())
}

/// A protobuf file, the package it declares and the Rust module it becomes.
struct Source {
    proto: &'static str,
    package: &'static str,
    module: &'static str,
}

const SOURCES: [Source; 3] = [
    Source { proto: "a2a.proto", package: "lf.a2a.v1", module: "v1" },
    Source { proto: "a2a_v03.proto", package: "a2a.v1", module: "v03" },
    Source { proto: "google_rpc.proto", package: "google.rpc", module: "rpc" },
];

/// Fields that can hold whole files: `Bytes` lets them share the buffer they came in.
const SHARED_BYTES: [&str; 2] = [".lf.a2a.v1.Part.raw", ".a2a.v1.FilePart.file_with_bytes"];

const OUTPUT: &str = "crates/protocol/src/grpc/generated";

/// One file of generated code, its path relative to the workspace.
struct Generated {
    path: PathBuf,
    code: String,
}

fn generate() -> anyhow::Result<Vec<Generated>> {
    let mut modules = compile()?;
    SOURCES
        .iter()
        .map(|source| {
            let code = modules
                .remove(&Module::from_protobuf_package_name(source.package))
                .with_context(|| format!("{} has no package {}", source.proto, source.package))?;
            let path = Path::new(OUTPUT).join(source.module).with_extension("rs");
            Ok(Generated { path, code })
        })
        .collect()
}

fn compile() -> anyhow::Result<HashMap<Module, String>> {
    let protos = SOURCES.iter().map(|source| source.proto);
    // Only the `Debug` form of this error names the file and line.
    let descriptors = protox::compile(protos, [root().join("proto")])
        .map_err(|error| anyhow!("compile the protobuf files: {error:?}"))?;

    // The library does no I/O: its clients and servers take any transport.
    let services = tonic_prost_build::configure().build_transport(false).service_generator();
    prost_build::Config::new()
        .bytes(SHARED_BYTES)
        // Ordered maps, so that equal messages have equal bytes.
        .btree_map(["."])
        .service_generator(services)
        .generate(
            descriptors
                .file
                .into_iter()
                .map(|file| (Module::from_protobuf_package_name(file.package()), file))
                .collect(),
        )
        .context("generate Rust code")
}

fn root() -> &'static Path {
    // This crate sits one folder below the workspace.
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_code_is_fresh() {
        super::check().unwrap();
    }
}
