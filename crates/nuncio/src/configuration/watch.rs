//! Notices that the file has changed.

use std::{io, path::PathBuf, time::Duration};

use tokio::{
    task::spawn_blocking,
    time::{Interval, MissedTickBehavior, interval},
};

use super::{
    Error, Layers, Loaded,
    layers::{LARGEST_FILE, read_file},
};

/// How often somebody looks.
const LOOK: Duration = Duration::from_secs(1);

/// Watches a file.
///
/// It looks at the content once a second. A change counts when it has been the same twice, so
/// that a file is not taken while somebody is in the middle of writing it: half a file may
/// well be a good configuration, with half of the agents.
#[derive(Debug)]
pub struct FileWatcher {
    path: PathBuf,
    limit: u64,
    /// What was taken last, good or bad.
    taken: Content,
    /// What was seen last, if that is something else.
    seen: Option<Content>,
    ticks: Interval,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(String),
    /// There is none, for this reason.
    Unreadable(io::ErrorKind),
}

impl FileWatcher {
    /// Watches a file of at most so many bytes, which has had this content. Needs a runtime.
    pub fn new(path: PathBuf, limit: u64, text: String) -> Self {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { path, limit, taken: Content::Text(text), seen: None, ticks }
    }

    /// Waits for another content, and returns it, or why there is none. Dropping the future
    /// loses nothing.
    pub async fn changed(&mut self) -> Result<String, Error> {
        loop {
            self.ticks.tick().await;
            let (content, result) = self.look().await;
            if self.is_settled(&content) {
                self.take(content);
                return result;
            }
        }
    }

    /// Returns the content as it is.
    async fn read(&mut self) -> Result<String, Error> {
        let (content, result) = self.look().await;
        self.take(content);
        result
    }

    fn take(&mut self, content: Content) {
        self.taken = content;
        self.seen = None;
    }

    /// Tells whether the content is new and has been seen before.
    fn is_settled(&mut self, content: &Content) -> bool {
        if *content == self.taken {
            self.seen = None;
            return false;
        }
        let is_settled = self.seen.as_ref() == Some(content);
        self.seen = Some(content.clone());
        is_settled
    }

    async fn look(&self) -> (Content, Result<String, Error>) {
        let (path, limit) = (self.path.clone(), self.limit);
        let read = spawn_blocking(move || read_file(&path, limit)).await;
        let read = read.unwrap_or_else(|panicked| {
            Err(Error::Unreadable { path: self.path.clone(), source: io::Error::other(panicked) })
        });
        let content = match &read {
            Ok(text) => Content::Text(text.clone()),
            Err(Error::Unreadable { source, .. }) => Content::Unreadable(source.kind()),
            Err(_) => Content::Unreadable(io::ErrorKind::FileTooLarge),
        };
        (content, read)
    }
}

/// Watches the file of a configuration, and hears `SIGHUP`.
#[derive(Debug)]
pub struct Watcher {
    layers: Layers,
    file: Option<FileWatcher>,
    hangup: Hangup,
}

impl Watcher {
    /// Watches the layers that a configuration was loaded from. Needs a runtime.
    pub fn new(layers: Layers, loaded: &Loaded) -> io::Result<Self> {
        let watch =
            |path: &PathBuf| FileWatcher::new(path.clone(), LARGEST_FILE, loaded.text.clone());
        let file = layers.file.as_ref().map(watch);
        Ok(Self { layers, file, hangup: Hangup::new()? })
    }

    /// Waits for a change. Returns the new configuration, or what is wrong with it; then the
    /// old one should stay.
    ///
    /// `SIGHUP` counts as a change even if the file is the same. Dropping the future loses
    /// nothing.
    pub async fn changed(&mut self) -> Result<Loaded, Error> {
        let Some(file) = &mut self.file else {
            self.hangup.heard().await;
            return self.layers.load();
        };
        let text = tokio::select! {
            () = self.hangup.heard() => None,
            text = file.changed() => Some(text),
        };
        let text = match text {
            Some(text) => text,
            None => file.read().await,
        };
        self.layers.load_text(text?)
    }
}

/// Hears that the terminal is gone, which for a daemon means: read your files again.
#[derive(Debug)]
struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    #[cfg(unix)]
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self { signal: signal(SignalKind::hangup())? })
    }

    #[cfg(unix)]
    async fn heard(&mut self) {
        if self.signal.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "it fails elsewhere")]
    const fn new() -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn heard(&mut self) {
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Watched {
        folder: tempfile::TempDir,
        watcher: Watcher,
    }

    fn watch(text: &str) -> Watched {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("nuncio.yaml");
        fs::write(&path, text).expect("the file is written");
        let layers = Layers { file: Some(path), ..Layers::default() };
        let loaded = layers.load().expect("the first one is good");
        let watcher = Watcher::new(layers, &loaded).expect("signals can be heard");
        Watched { folder, watcher }
    }

    impl Watched {
        fn write(&self, text: &str) {
            fs::write(self.folder.path().join("nuncio.yaml"), text).expect("the file is written");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_file_is_noticed() {
        let mut watched = watch("organisation: one");
        watched.write("organisation: two");
        let loaded = watched.watcher.changed().await.unwrap();
        assert_eq!(loaded.configuration.organisation, "two");
    }

    #[tokio::test(start_paused = true)]
    async fn a_mistake_is_told_once_and_mended_later() {
        let mut watched = watch("organisation: one");
        watched.write("organisaton: two");
        let error = watched.watcher.changed().await.unwrap_err();
        assert!(error.to_string().contains("did you mean `organisation`?"), "{error}");
        let again = tokio::time::timeout(Duration::from_secs(60), watched.watcher.changed()).await;
        assert!(again.is_err(), "{again:?}");
        watched.write("organisation: three");
        let loaded = watched.watcher.changed().await.unwrap();
        assert_eq!(loaded.configuration.organisation, "three");
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_is_gone_is_told() {
        let mut watched = watch("organisation: one");
        fs::remove_file(watched.folder.path().join("nuncio.yaml")).unwrap();
        let error = watched.watcher.changed().await.unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    }

    #[test]
    fn a_file_that_is_being_written_is_not_taken() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _entered = runtime.enter();
        let mut watcher = watch("organisation: one").watcher.file.expect("there is one");
        let text = |text: &str| Content::Text(text.to_owned());
        assert!(!watcher.is_settled(&text("half")));
        assert!(!watcher.is_settled(&text("half and whole")));
        assert!(watcher.is_settled(&text("half and whole")));
        assert!(!watcher.is_settled(&watcher.taken.clone()));
    }
}
