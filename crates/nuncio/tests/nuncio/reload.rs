//! `SIGHUP` and the systemd unit. Nothing else here hears the signal.

use std::{fs, process::Command};

use nuncio::configuration::{Changes, Layers, Watcher};
use rustix::process::{Signal, getpid, kill_process};

#[tokio::test]
async fn a_hangup_reads_the_file_again_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nuncio.yaml");
    fs::write(&file, "organisation: one\n").unwrap();
    let layers = Layers { file: Some(file.clone()), ..Layers::default() };
    let before = layers.load().unwrap();
    let mut watcher = Watcher::new(layers, &before).unwrap();

    kill_process(getpid(), Signal::HUP).unwrap();
    let same = watcher.changed().await.unwrap();
    assert!(Changes::between(&before.configuration, &same.configuration).is_empty());

    fs::write(&file, "organisation: two\nroot_siblings: true\n").unwrap();
    kill_process(getpid(), Signal::HUP).unwrap();
    let after = watcher.changed().await.unwrap();
    let changes = Changes::between(&before.configuration, &after.configuration);
    assert_eq!((changes.live, changes.restart), (vec!["root_siblings"], vec!["organisation"]));
}

#[test]
fn systemd_takes_the_unit() {
    let unit = include_str!("../../../../dist/nuncio.service");
    assert!(unit.contains("ExecStart=/usr/local/bin/nuncio up --data-dir %S/nuncio\n"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nuncio.service");
    // The program is not installed where the tests run.
    let here = unit.replace("/usr/local/bin/nuncio", env!("CARGO_BIN_EXE_nuncio"));
    fs::write(&file, here).unwrap();
    let verify = Command::new("systemd-analyze").arg("verify").arg(&file).output();
    let Ok(came) = verify else {
        eprintln!("SKIPPED: systemd-analyze is not here, so dist/nuncio.service was not verified");
        return;
    };
    let told = String::from_utf8_lossy(&came.stderr);
    assert!(came.status.success() && !told.contains("nuncio.service"), "{told}");
}
