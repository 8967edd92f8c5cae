//! Credentials are kept, shown to those they belong to, and to nobody else.

use crate::cli::support::{User, came_of, serve};

#[test]
fn whoever_is_not_let_in_is_told_how_to_log_in_and_then_is() {
    let user = User::new();
    let file = user.home().join("keys.json");
    let file = file.to_str().unwrap();
    let key = user.run(&["key", "new", "ann", "--keys", file]).out;
    let (_echo, url) = serve(&["--in-memory", "--keys", file]);
    let send = ["send", "-a", &url, "hello", "-o", "json"];

    let came = user.run(&send);
    assert_eq!(came.code, 4, "{came:?}");
    assert!(came.err.contains("A2ACLI_ERR_CREDENTIALS_MISSING"), "{came:?}");
    assert!(came.err.contains(&format!("nuncio auth login {url}")), "{came:?}");

    let mut wrong = send.to_vec();
    wrong.extend(["--api-key", "swordfish"]);
    let came = user.run(&wrong);
    assert!(came.code == 4 && came.err.contains("A2ACLI_ERR_AUTH_FAILED"), "{came:?}");
    assert!(!came.err.contains("swordfish"), "{came:?}");

    let came = user.run_with(&["auth", "login", &url], &key);
    assert_eq!((came.code, &*came.out), (0, ""), "{came:?}");
    assert!(came.err.starts_with(&format!("api-key for {url} is kept in ")), "{came:?}");
    assert_eq!(user.run(&send).code, 0);
    assert_eq!(user.run(&["auth", "list"]).out, format!("{url}: api-key\n"));

    let kept = user.home().join(".config/nuncio/credentials.json");
    assert!(is_private(&kept));
    assert_eq!(user.run(&["auth", "logout", &url]).code, 0);
    assert_eq!(user.run(&send).code, 4);
    assert_eq!(user.run(&["auth", "logout", &url]).code, 1);
}

#[cfg(unix)]
fn is_private(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().expect("it is there").permissions().mode() & 0o777 == 0o600
}

#[cfg(not(unix))]
fn is_private(path: &std::path::Path) -> bool {
    path.exists()
}

#[test]
fn settings_come_from_flags_then_the_environment_then_files() {
    let user = User::new();
    user.write(".config/a2a-cli/.env", "A2ACLI_AGENT_CARD=global.example\nA2ACLI_TIMEOUT=1s\nA2ACLI_TRANSPORT=grpc\nA2ACLI_BEARER=swordfish\n");
    user.write(".env", "A2ACLI_AGENT_CARD=local.example\nA2ACLI_TIMEOUT=2s\n");
    let mut command = user.command(&["config", "show", "-a", "flag.example"]);
    command.env("A2ACLI_TIMEOUT", "3s");
    let came = came_of(command, "");
    let home = user.home().display();
    for line in [
        "agent-card: flag.example (flag)".to_owned(),
        "timeout: 3s (env A2ACLI_TIMEOUT)".to_owned(),
        format!("transport: grpc (file {home}/.config/a2a-cli/.env)"),
        format!("bearer: (secret) (file {home}/.config/a2a-cli/.env)"),
        "poll-interval: 2s (default)".to_owned(),
    ] {
        assert!(came.out.lines().any(|found| found == line), "{line}: {came:?}");
    }
    let came = user.run(&["config", "show"]);
    assert!(
        came.out.contains(&format!("agent-card: local.example (file {home}/.env)")),
        "{came:?}"
    );
    user.write("other.env", "A2ACLI_AGENT_CARD=other.example\nA2ACLI_TIMEUOT=1s\n");
    let came = user.run(&["config", "check", "--config", "other.env"]);
    assert!(came.code == 2 && came.err.contains("A2ACLI_TIMEUOT is no setting"), "{came:?}");
    assert!(!came.err.contains("swordfish"), "{came:?}");
}

#[test]
fn the_wire_is_shown_without_secrets() {
    let (_echo, url) = serve(&["--in-memory"]);
    let words = [
        "send",
        "-a",
        &url,
        "hello",
        "--debug",
        "--bearer",
        "swordfish",
        "--svc-param",
        "x-a:marlin",
    ];
    let came = User::new().run(&words);
    assert_eq!(came.code, 0, "{came:?}");
    assert!(came.err.contains("> SendStreamingMessage (A2A 1.0 JSON-RPC at "), "{came:?}");
    assert!(!came.err.contains("swordfish") && !came.err.contains("marlin"), "{came:?}");
}
