//! What the program prints, whole: `tests/nuncio/snapshots`, one file for the help of each
//! command, and some for what else people read. `NUNCIO_SNAPSHOTS=write` writes them anew.

use std::{collections::BTreeSet, env, fs, path::PathBuf};

use crate::cli::support::{User, Waiter, serve, serve_here};

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nuncio/snapshots"))
}

#[track_caller]
fn check(name: &str, text: &str) {
    let path = folder().join(name).with_extension("txt");
    if env::var("NUNCIO_SNAPSHOTS").is_ok_and(|wish| wish == "write") {
        fs::create_dir_all(folder()).expect("our own folder");
        fs::write(&path, text).expect("our own folder");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        text, kept,
        "{name} is not as it was; if that is meant, write it anew with NUNCIO_SNAPSHOTS=write"
    );
}

/// Plays commands; returns what is typed and printed, as one would see it. What goes to
/// standard error is marked with `!`.
fn play(user: &User, commands: &[&[&str]], agent: &str) -> String {
    let mut text = String::new();
    for words in commands {
        let came = user.run(words);
        text.extend(["$ nuncio ", &words.join(" "), "\n", &came.out]);
        came.err.lines().for_each(|line| text.extend(["! ", line, "\n"]));
        if came.code != 0 {
            text.extend(["[exit code ", &came.code.to_string(), "]\n"]);
        }
    }
    let address = agent.strip_prefix("http://").unwrap_or(agent);
    let port = address.rsplit(':').next().unwrap_or_default();
    text.replace(agent, "http://AGENT")
        .replace(address, "AGENT")
        .replace(&format!("127.0.0.1:{port}"), "AGENT")
        .replace(&user.home().display().to_string(), "HOME")
}

/// Returns the commands below one, as its help names them.
fn below(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = commands.take_while(|line| !line.is_empty()).filter_map(|line| {
        // What is said behind a name may go on in the next line, which is indented further.
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?;
        name.split_whitespace().next()
    });
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn the_help_of_every_command_is_as_it_was() {
    let user = User::new();
    let mut left = vec![Vec::new()];
    let mut names = BTreeSet::new();
    while let Some(path) = left.pop() {
        let mut words: Vec<&str> = path.iter().map(String::as_str).collect();
        words.push("--help");
        let came = user.run(&words);
        assert_eq!((came.code, &*came.err), (0, ""), "{words:?}");
        let name = path.iter().fold("help".to_owned(), |name, word| format!("{name}-{word}"));
        check(&name, &came.out);
        names.insert(format!("{name}.txt"));
        left.extend(below(&came.out).into_iter().map(|one| [&path[..], &[one]].concat()));
    }
    let kept = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let kept: BTreeSet<String> = kept
        .map(|name| name.into_string().unwrap())
        .filter(|name| name.starts_with("help"))
        .collect();
    assert_eq!(kept, names, "there are snapshots of commands that are gone");
    assert!(names.len() > 20, "{names:?}");
}

#[test]
fn what_people_read_of_an_agent_is_as_it_was() {
    let (_agent, url) = serve(&["--name", "upper", "--in-memory", "--", "tr", "a-z", "A-Z"]);
    let user = User::new();
    let commands: [&[&str]; 6] = [
        &["card", "get", &url],
        &["send", "-a", &url, "hello"],
        &["send", "-a", &url, "hello", "--stream"],
        &["send", "-a", &url, "hello", "--verbose"],
        &["task", "list", "-a", &url, "--status", "failed"],
        &["auth", "list"],
    ];
    check("agent", &play(&user, &commands, &url));
    let (_runtime, url) = serve_here("waiter", Waiter);
    check("question", &play(&user, &[&["send", "-a", &url, "a table"]], &url));
}

#[test]
fn what_people_read_of_failures_is_as_it_was() {
    let (_agent, url) = serve(&["--in-memory", "--", "false"]);
    let user = User::new();
    user.write("broken.json", "{}");
    let commands: [&[&str]; 12] = [
        &["sned"],
        &["send", "hello"],
        &["send", "-a", &url],
        &["send", "-a", &url, "hello", "--timeut", "1s"],
        &["send", "-a", &url, "hello", "--timeout", "soon"],
        &["send", "-a", &url, "hello", "--metadata", "[]"],
        &["send", "-a", &url, "hello"],
        &["task", "get", "-a", &url, "none"],
        &["task", "get", "-a", &url, "none", "-o", "json"],
        &["task", "cancel", "-a", &url, "none"],
        &["card", "get", "missing.json"],
        &["card", "get", "broken.json"],
    ];
    check("failures", &play(&user, &commands, &url));
    // Nobody listens at the port of TCP that discards.
    check(
        "unreachable",
        &play(&user, &[&["send", "-a", "127.0.0.1:9", "hello"]], "http://127.0.0.1:9"),
    );
}
