//! `nuncio config check|schema|import`, for the hub's file.

use crate::cli::support::{User, came_of};

#[test]
fn a_mistake_is_named_with_its_line_and_remedy() {
    let user = User::new();
    user.write(
        "hub.yaml",
        "listen: 127.0.0.1:1\nagents:\n  - name: a\n    crad: https://a.example\n",
    );
    let came = user.run(&["config", "check", "hub.yaml"]);
    assert_eq!(
        (came.code, came.err.as_str()),
        (
            2,
            "nuncio: hub.yaml:4:5: agents[0].crad: `crad` is no key here\n\
             hint: did you mean `card`?\n"
        )
    );
    let came = user.run(&["config", "check", "hub.yaml", "-o", "json"]);
    assert_eq!(came.code, 2);
    assert!(came.err.contains(r#""hint":"did you mean `card`?""#), "{}", came.err);
}

#[test]
fn several_mistakes_are_all_named() {
    let user = User::new();
    user.write("hub.yaml", "agents: [{name: a}, {name: B, url: 'https://b'}]\n");
    for command in [["config", "check", "hub.yaml"], ["up", "--config", "hub.yaml"]] {
        let came = user.run(&command);
        assert_eq!(came.code, 2);
        for part in ["agents[0]: ", "agents[1].name: ", "2 mistakes in hub.yaml"] {
            assert!(came.err.contains(part), "{}", came.err);
        }
    }
    let missing = user.run(&["config", "check", "none.yaml"]);
    assert!(missing.code == 2 && missing.err.contains("read none.yaml"), "{}", missing.err);
}

#[test]
fn the_file_here_is_checked_and_without_one_the_settings_are() {
    let user = User::new();
    assert_eq!(user.run(&["config", "check"]).out, "Settings: good\n");
    user.write("nuncio.yaml", "agents: [{name: a, parent: b, url: 'https://a'}]\n");
    let came = user.run(&["config", "check"]);
    assert_eq!((came.code, came.out.as_str()), (0, "Configuration: nuncio.yaml is good\n"));
    assert!(came.err.starts_with("warning: nuncio.yaml:1:28: agents[0].parent: "), "{}", came.err);
    let mut command = user.command(&["config", "check"]);
    command.env("NUNCIO_LISTEN", "nonsense");
    let came = came_of(command, "");
    assert!(came.code == 2 && came.err.starts_with("nuncio: NUNCIO_LISTEN: "), "{}", came.err);
}

/// What `config check` finds is told by the hub with the same code.
#[test]
fn no_hub_starts_by_a_file_with_mistakes() {
    let user = User::new();
    user.write("hub.yaml", "listne: 127.0.0.1:1\n");
    let came = user.run(&["up", "--config", "hub.yaml"]);
    assert_eq!(came.code, 2, "{came:?}");
    assert!(came.err.starts_with("nuncio: hub.yaml:1:1: listne: "), "{came:?}");
    let came = user.run(&["up", "--config", "none.yaml"]);
    assert_eq!(came.code, 2, "{came:?}");
    assert!(came.err.starts_with("nuncio: read none.yaml: "), "{came:?}");
    let came = user.run(&["mock", "none.yaml"]);
    assert_eq!(came.code, 2, "{came:?}");
    assert!(came.err.starts_with("nuncio: read none.yaml: "), "{came:?}");
}

#[test]
fn the_schema_is_json_and_the_tables_are_markdown() {
    let user = User::new();
    let schema = user.run(&["config", "schema"]).out;
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("it is JSON");
    assert_eq!(schema["title"], "nuncio.yaml");
    assert!(user.run(&["config", "schema", "--markdown"]).out.contains("\n## Agent\n"));
}

#[test]
fn what_is_imported_can_be_checked() {
    let user = User::new();
    user.write("harbor.yaml", "tools: {a2a_peers: [{url: 'https://a.example', trust_tier: 4}]}\n");
    let yaml = user.run(&["config", "import", "harbor.yaml"]).out;
    user.write("nuncio.yaml", &yaml);
    assert_eq!(user.run(&["config", "check"]).code, 0);
    let mut command = user.command(&["config", "import", "empty.json", "--from", "pocketpaw"]);
    user.write("empty.json", "{}");
    command.env("POCKETPAW_A2A_ENABLED", "true");
    let came = came_of(command, "");
    assert!(came.out.contains("add its `url` to `agents`"), "{}{}", came.out, came.err);
    let came = user.run(&["config", "import", "empty.json"]);
    assert!(came.code == 2 && came.err.contains("--from"), "{}", came.err);
}
