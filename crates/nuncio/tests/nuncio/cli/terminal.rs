//! What a real terminal is shown, and nobody else.

use std::{
    fs::File,
    io::Read as _,
    process::{Child, Command, Stdio},
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

use crate::cli::support::{User, came_of, normal, serve};

/// Runs a command in a terminal; returns its exit code and everything it wrote there.
pub(crate) fn play(command: Command) -> (i32, Vec<u8>) {
    let (mut child, mut master) = begin(command);
    let mut written = Vec::new();
    // Linux ends it with an error when nobody is left who writes.
    if let Err(error) = master.read_to_end(&mut written) {
        assert_eq!(error.raw_os_error(), Some(Errno::IO.raw_os_error()), "{error}");
    }
    (child.wait().expect("it ends").code().expect("it was not killed"), written)
}

/// Begins a command in a terminal; returns it, and the side on which people sit.
pub(crate) fn begin(mut command: Command) -> (Child, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("our own");
    unlockpt(&master).expect("our own");
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&master, size).expect("our own");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let inner = open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("it is there");
    let inner = File::from(inner);
    let copy = || Stdio::from(inner.try_clone().expect("one more"));
    let child = command.stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("it can be run");
    // The last one who writes there is the child, then.
    drop((command, inner));
    (child, File::from(master))
}

/// Returns what is left on the screen in the end, line by line and without colours.
pub(crate) fn seen(written: &[u8]) -> String {
    let text = String::from_utf8(written.to_vec()).expect("text");
    let mut lines = vec![String::new()];
    let mut column = 0;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let line = lines.last_mut().expect("there is one");
        match letter {
            '\r' => column = 0,
            '\n' => {
                lines.push(String::new());
                column = 0;
            }
            '\u{1b}' => {
                let order: String =
                    letters.by_ref().take_while(|end| !end.is_alphabetic()).collect();
                // `take_while` has eaten the end: colours and erasing are all that is used.
                if order == "[" && column == 0 {
                    line.clear();
                }
            }
            letter => {
                let start: String = line.chars().take(column).collect();
                let rest: String = line.chars().skip(column + 1).collect();
                *line = format!("{start}{letter}{rest}");
                column += 1;
            }
        }
    }
    lines.join("\n")
}

fn in_terminal(user: &User, words: &[&str], environment: &[(&str, &str)]) -> (i32, String) {
    let mut command = user.command(words);
    command.env("TERM", "xterm").envs(environment.iter().copied());
    let (code, written) = play(command);
    (code, String::from_utf8(written).expect("text"))
}

const ERASE: &str = "\r\u{1b}[K";
const COLOUR: &str = "\u{1b}[3";

#[test]
fn a_long_wait_is_shown_on_a_terminal_and_leaves_no_trace() {
    let (_slow, url) = serve(&["--in-memory", "--", "sh", "-c", "sleep 1; tr a-z A-Z"]);
    let user = User::new();
    for words in [&["send", "-a", &url, "hello"][..], &["send", "-a", &url, "hello", "--stream"]] {
        let (code, written) = in_terminal(&user, words, &[]);
        assert_eq!(code, 0, "{written}");
        assert!(written.contains(&format!("{ERASE}{COLOUR}")), "{written:?}");
        assert!(written.contains(" the agent"), "{written:?}");
        let seen = seen(written.as_bytes());
        assert!(seen.starts_with("Task: ") && seen.contains("HELLO"), "{seen}");
        assert!(!seen.contains("agent"), "{seen}");
        let came = came_of(user.command(words), "");
        assert!(!came.out.contains('\u{1b}') && !came.err.contains(['\u{1b}', '\r']), "{came:?}");
    }
    let (_, json) = in_terminal(&user, &["send", "-a", &url, "hello", "-o", "json"], &[]);
    assert!(json.starts_with('{') && !json.contains('\u{1b}'), "{json:?}");
}

#[test]
fn a_terminal_is_left_with_what_a_pipe_gets() {
    let (_agent, url) = serve(&["--name", "upper", "--in-memory", "--", "tr", "a-z", "A-Z"]);
    let user = User::new();
    for words in [
        &["send", "-a", &url, "hello, agents"][..],
        &["send", "-a", &url, "once more", "--stream"],
        &["card", "get", &url],
    ] {
        let came = user.run(words);
        let (code, written) = in_terminal(&user, words, &[]);
        assert_eq!((code, normal(&seen(written.as_bytes()))), (came.code, came.out));
    }
}

#[test]
fn states_and_errors_have_colours_on_a_terminal_only() {
    let (_agent, url) = serve(&["--in-memory"]);
    let user = User::new();
    let good = ["send", "-a", &url, "hello"];
    let bad = ["task", "get", "-a", &url, "none"];
    for (words, code) in [(&good[..], 0), (&bad[..], 1)] {
        let (came, written) = in_terminal(&user, words, &[]);
        assert!(came == code && written.contains(COLOUR), "{written:?}");
        for environment in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let (came, written) = in_terminal(&user, words, &[environment]);
            assert!(came == code && !written.contains(COLOUR), "{environment:?}: {written:?}");
        }
        let came = user.run(words);
        assert!(!came.out.contains('\u{1b}') && !came.err.contains('\u{1b}'), "{came:?}");
    }
}
