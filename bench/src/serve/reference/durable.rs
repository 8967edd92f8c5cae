//! The least that durability can cost: an append-only file, and one sync for all who wait.

use std::{fs::File, io::Write as _, path::Path, sync::mpsc, thread};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use tokio::sync::oneshot;

/// A file that is written by a thread of its own.
pub(super) struct Log(mpsc::Sender<(Bytes, oneshot::Sender<()>)>);

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = File::options()
            .create(true)
            .append(true)
            .open(path)
            .with_context(|| format!("open {}", path.display()))?;
        let (records, waiting) = mpsc::channel::<(Bytes, oneshot::Sender<()>)>();
        thread::spawn(move || {
            let (mut text, mut writers) = (Vec::new(), Vec::new());
            while let Ok(first) = waiting.recv() {
                for (record, writer) in std::iter::once(first).chain(waiting.try_iter()) {
                    text.extend_from_slice(&record);
                    text.push(b'\n');
                    writers.push(writer);
                }
                // Who waits is told that it failed: its sender is dropped.
                if file.write_all(&text).and_then(|()| file.sync_data()).is_err() {
                    return;
                }
                text.clear();
                for writer in writers.drain(..) {
                    let _gone = writer.send(());
                }
            }
        });
        Ok(Self(records))
    }

    /// Returns when the record is on disk, and never if it cannot be.
    pub(super) async fn keep(&self, record: Bytes) {
        let (writer, written) = oneshot::channel();
        let is_taken = self.0.send((record, writer)).is_ok();
        if !is_taken || written.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
