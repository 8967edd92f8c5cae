//! A disk that is really full.

use std::ffi::CString;
use std::io::Write as _;
use std::path::Path;

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::leftovers::{Directory, Entry};

/// A file system of a few KiB, in memory. Dropping it unmounts it.
#[derive(Debug)]
pub struct Small {
    // Declared, and so dropped, before what it is mounted on.
    _entry: Entry,
    directory: Directory,
}

impl Small {
    /// Makes a file system that holds `kib` KiB. `None`, with a line that says so: we may not
    /// mount, because we are not root.
    ///
    /// # Panics
    /// If mounting fails for another reason.
    pub fn new(kib: u32) -> Option<Self> {
        let directory = Directory::new(None);
        let size = CString::new(format!("size={kib}k,mode=0700")).expect("no zero byte in it");
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        match mount("nuncio-test", directory.path(), "tmpfs", flags, &*size) {
            Ok(()) => {}
            Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => {
                // A closed standard error is no reason to fail.
                let _ = writeln!(
                    std::io::stderr(),
                    "not tested here: a small disk (only root may mount)"
                );
                return None;
            }
            Err(error) => panic!("mount a file system of {kib} KiB: {error}"),
        }
        Some(Self { _entry: Entry::mount(directory.path()), directory })
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Also while a process that is about to end has files open there.
        let unmounted = unmount(self.path(), UnmountFlags::DETACH);
        if !std::thread::panicking() {
            unmounted.expect("what we mounted can be unmounted");
        }
    }
}
