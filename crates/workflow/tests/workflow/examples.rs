//! The examples that users copy.

use std::{fs, path::Path};

use nuncio_workflow::validate::{Known, validate};

#[test]
fn every_example_is_fine() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    // The hub's own file lies beside them.
    for file in files.into_iter().filter(|file| !file.ends_with("nuncio.yaml")) {
        let (workflow, problems) = validate(&fs::read_to_string(&file).unwrap(), &Known::default());
        assert_eq!(problems, [], "{}", file.display());
        assert!(workflow.is_some());
    }
}
