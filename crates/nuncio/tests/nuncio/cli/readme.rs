//! The session of the README, played as it is written.

use crate::cli::support::{User, came_of, normal, serve};

/// Returns the commands of the session, each with what it is said to print.
fn session(readme: &str) -> Vec<(String, String)> {
    let start = readme.find("```console\n").expect("the README has a session") + 11;
    let text = &readme[start..][..readme[start..].find("```").expect("it ends")];
    let mut steps: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, printed))) => printed.extend([line, "\n"]),
            (None, None) => panic!("the session begins with a command: {line}"),
        }
    }
    steps
}

#[test]
fn the_session_of_the_readme_works_as_typed() {
    let readme = include_str!("../../../../../README.md");
    let mut steps = session(readme).into_iter();
    let (first, _) = steps.next().expect("the session has steps");
    // Somebody may use the usual port of this machine, so the test takes another.
    let words = first.strip_prefix("nuncio serve ").and_then(|rest| rest.strip_suffix(" &"));
    let words: Vec<&str> = words.expect("it serves an agent first").split(' ').collect();
    let (_server, url) = serve(&words);
    let address = url.strip_prefix("http://").expect("a URL");
    let user = User::new();
    let mut count = 0;
    for (command, printed) in steps {
        let mut shell = user.command(&[]);
        let program = shell.get_program().to_owned();
        let typed = command.replace("localhost:7420", address);
        let script = typed.replacen("nuncio", &format!("'{}'", program.to_string_lossy()), 1);
        let home = user.home().to_owned();
        shell = std::process::Command::new("sh");
        shell.args(["-c", &script]).current_dir(&home);
        shell.env_clear().env("HOME", &home).env("PATH", "/usr/bin:/bin");
        let came = came_of(shell, "");
        assert_eq!(came.code, 0, "{command}: {came:?}");
        assert_eq!(came.out, normal(&printed).replace("localhost:7420", address), "{command}");
        count += 1;
    }
    assert!(count >= 3, "a session shows something");
}
