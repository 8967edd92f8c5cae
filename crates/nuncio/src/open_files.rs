//! How many files this process may open. Every connection is one.

/// Allows this process as many open files as the system lets it have. Shells and service managers
/// begin with few, 1,024 mostly, for old programs that cannot count further.
pub(crate) fn allow_most() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            // A system that does not let us leaves it as it is.
            setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).ok();
        }
    }
}
