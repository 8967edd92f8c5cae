//! What `--help` says.

use crate::cli::support::User;

#[test]
fn every_client_command_has_examples() {
    let user = User::new();
    for words in [
        &["send"][..],
        &["card", "get"],
        &["card", "sign"],
        &["card", "verify"],
        &["card", "keygen"],
        &["task", "get"],
        &["task", "list"],
        &["task", "cancel"],
        &["task", "subscribe"],
        &["task", "push-config", "set"],
        &["chat"],
        &["auth", "login"],
        &["config", "show"],
        &["config", "check"],
        &["config", "import"],
        &["completion"],
        &["man"],
    ] {
        let mut words = words.to_vec();
        words.push("--help");
        let came = user.run(&words);
        assert_eq!((came.code, &*came.err), (0, ""));
        assert!(came.out.contains("Examples:\n  "), "{}", came.out);
    }
}

#[test]
fn the_first_help_names_every_command() {
    let came = User::new().run(&["--help"]);
    let commands: Vec<&str> = came
        .out
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    for command in
        ["serve", "key", "send", "card", "task", "chat", "auth", "config", "completion", "man"]
    {
        assert!(commands.contains(&command), "{command}: {commands:?}");
    }
    assert_eq!(User::new().run(&["-v"]).out, User::new().run(&["--version"]).out);
}
