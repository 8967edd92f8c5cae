//! Keys in a file.

use std::{error::Error as _, fs};

use nuncio_auth::{
    ApiKey, ApiKeys, KeySource as _,
    api_key::{Error, Pepper},
};

#[test]
fn keys_survive_in_a_file_that_only_its_owner_reads() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    let keys = ApiKeys::new();
    let (first, record) = ApiKey::generate("alice");
    keys.add(record);
    keys.write_file(&path).unwrap();
    keys.revoke(first.id());
    keys.add(ApiKey::generate("billing").1.for_agent());
    keys.write_file(&path).unwrap();

    let read = ApiKeys::new();
    read.read_file(&path).unwrap();
    assert_eq!(read.list(), keys.list());
    assert!(read.find(first.id()).unwrap().revoked().is_some());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left over");
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_refused_with_the_remedy() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    let keys = ApiKeys::from_iter([ApiKey::generate("alice").1]);
    keys.write_file(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for mode in [0o640, 0o604, 0o620, 0o601, 0o777] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let error = ApiKeys::new().read_file(&path).unwrap_err();
        assert!(matches!(error, Error::Exposed { mode: found, .. } if found == mode));
        assert!(error.to_string().contains(&format!("chmod 600 {}", path.display())), "{error}");
    }
}

#[test]
fn a_file_that_is_not_a_key_file_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    let keys = ApiKeys::from_iter([ApiKey::generate("alice").1]);
    keys.write_file(&path).unwrap();
    let good = fs::read_to_string(&path).unwrap();
    for (text, what) in [
        (String::new(), "the text ends"),
        ("{}".to_owned(), "keys"),
        (good.replace("\"user\"", "\"usr\""), "a member of a key"),
        (good.replace("\"user\":\"alice\"", "\"user\":\"\""), "a name"),
        (good.replace("sha256:", "md5:"), "sha256"),
        (good.replace("\"keys\"", "\"key\""), "keys"),
        (good.replace("\"created\"", "\"expires\""), "created"),
    ] {
        fs::write(&path, &text).unwrap();
        let error = keys.read_file(&path).unwrap_err();
        let source = error.source().expect("a reason").to_string();
        assert!(source.contains(what), "{text}: {source}");
        assert_eq!(keys.list().len(), 1);
    }
    let missing = keys.read_file(&directory.path().join("none.json")).unwrap_err();
    assert!(matches!(missing, Error::Read { .. }));
}

#[test]
fn a_peppered_file_needs_its_pepper() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys.json");
    let keys = ApiKeys::peppered(Pepper::new(b"pepper"));
    keys.add(ApiKey::generate("alice").1);
    keys.write_file(&path).unwrap();
    let error = ApiKeys::new().read_file(&path).unwrap_err();
    assert!(matches!(error, Error::NeedsPepper { .. }));
    ApiKeys::peppered(Pepper::new(b"pepper")).read_file(&path).unwrap();
}
