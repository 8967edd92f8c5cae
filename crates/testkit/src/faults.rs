//! Disks that fail, programs that die in the middle of a write.
//!
//! A small library is loaded into the program under test before the C library
//! (`LD_PRELOAD`), counts its writes and syncs, and makes the chosen one fail. It sees what
//! goes through the C library, as `rusqlite` and the standard library do; a program that makes its
//! system calls itself escapes it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::leftovers::Directory;

/// Variables for [`Process::spawn`](crate::process::Process::spawn).
pub type Environment = Vec<(OsString, OsString)>;

/// When a program is killed at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// In place of the call.
    Before,
    /// When the call has written half of its bytes; a sync is then not carried out.
    Torn,
    /// When the call has been carried out, but its caller does not know yet.
    After,
}

impl Moment {
    /// All of them, in the order of what remains of the call.
    pub const ALL: [Self; 3] = [Self::Before, Self::Torn, Self::After];
}

/// Faults for the files under one directory.
#[derive(Debug, Clone)]
pub struct Faults {
    under: PathBuf,
}

impl Faults {
    /// Only calls on files under `directory` are counted and fail.
    ///
    /// # Panics
    /// If there is no such directory.
    pub fn under(directory: impl AsRef<Path>) -> Self {
        let under = fs::canonicalize(directory).expect("the directory exists");
        Self { under }
    }

    /// Kills the program at the `call`th of its writes, syncs and truncations, counted from 1.
    ///
    /// # Panics
    /// If there is no C compiler.
    pub fn kill_at(&self, call: u64, moment: Moment) -> Environment {
        let moment = match moment {
            Moment::Before => "before",
            Moment::Torn => "torn",
            Moment::After => "after",
        };
        self.environment(format!("kill-{moment} {call}"))
    }

    /// Lets the `call`th `fsync` or `fdatasync`, counted from 1, and all later ones fail with
    /// an input/output error.
    ///
    /// # Panics
    /// If there is no C compiler.
    pub fn fsync_error_at(&self, call: u64) -> Environment {
        self.environment(format!("sync-error {call}"))
    }

    /// Lets writes fail for want of space while there is a file `marker`, which should lie
    /// elsewhere.
    ///
    /// # Panics
    /// If there is no C compiler.
    pub fn disk_full_while(&self, marker: impl AsRef<Path>) -> Environment {
        let mut fault = OsString::from("disk-full ");
        fault.push(std::path::absolute(marker).expect("the marker has a path"));
        self.environment(fault)
    }

    fn environment(&self, fault: impl Into<OsString>) -> Environment {
        vec![
            ("LD_PRELOAD".into(), library().into()),
            ("NUNCIO_FAULT_UNDER".into(), self.under.clone().into()),
            ("NUNCIO_FAULT".into(), fault.into()),
        ]
    }
}

/// The path of the library, which is compiled once in each test process.
fn library() -> PathBuf {
    static COMPILED: Mutex<Option<Directory>> = Mutex::new(None);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    compiled.get_or_insert_with(compile).path().join("faults.so")
}

fn compile() -> Directory {
    let directory = Directory::new(None);
    let source = directory.path().join("faults.c");
    fs::write(&source, include_str!("../faults/faults.c")).expect("our directory takes files");
    let output = Command::new("cc")
        .args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(directory.path().join("faults.so"))
        .arg(source)
        .output()
        .unwrap_or_else(|error| panic!("this test needs a C compiler: start cc: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "faults.c does not compile: {errors}");
    directory
}
