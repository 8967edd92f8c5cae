//! A shell with a home of its own, in which a page is played.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use regex::{Captures, Regex};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

/// Longer than any command of a page: who waits so long waits for ever.
const PATIENCE: Duration = Duration::from_secs(180);

/// The ports that pages name.
const PORTS: [u16; 6] = [7420, 7421, 7422, 7423, 8080, 9000];

/// Gives a program a port that nobody has, if the page tells it none.
const WRAPPER: &str = r#"#!/bin/sh
case "$1" in
up | serve)
    for word; do
        case "$word" in --port | --port=*) exec "$REAL" "$@" ;; --) break ;; esac
    done
    command=$1
    shift
    exec "$REAL" "$command" --port "$PORT" "$@"
    ;;
esac
exec "$REAL" "$@"
"#;

/// Waits until a program of the background says that it is ready.
const READY: &str = r#"
ready() {
    until grep -qs -e 'listening on' -e 'connected' "$1"; do
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.05
    done
}
"#;

pub(super) struct Shell {
    home: TempDir,
    child: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    /// What is written, and what is meant.
    ports: BTreeMap<u16, u16>,
    commands: usize,
}

impl Shell {
    pub(super) fn open() -> Self {
        let home = tempfile::tempdir().expect("a folder of its own");
        let tools = home.path().join(".tools");
        fs::create_dir_all(&tools).expect("our own folder");
        let wrapper = tools.join("nuncio");
        fs::write(&wrapper, WRAPPER).expect("our own folder");
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("our own file");
        let ports = free_ports();
        let mut child = Command::new("sh")
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", tools.display()))
            .env("REAL", env!("CARGO_BIN_EXE_nuncio"))
            .env("PORT", ports[&PORTS[0]].to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("there is a shell");
        let mut input = child.stdin.take().expect("it is piped");
        input.write_all(READY.as_bytes()).expect("it reads");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (tell, answers) = channel();
        // It ends with the shell.
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        Self { home, child, input, answers, ports, commands: 0 }
    }

    /// Writes a file where commands are run.
    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.home.path().join(name), self.outward(text)).expect("our own folder");
    }

    /// Runs a command; returns its exit code, and everything that it printed. One that ends with
    /// `&` is waited for until it is ready.
    pub(super) fn run(&mut self, typed: &str) -> Result<(i32, String), String> {
        let (file, output) = self.next_output();
        let command = self.outward(typed);
        let order = match background(&command) {
            Some(command) => {
                // Not in braces: `$!` has to be the program itself.
                format!("{command} </dev/null >{file} 2>&1 &\nready {file} $!\n")
            }
            None => format!("{{\n{command}\n}} </dev/null >{file} 2>&1\n"),
        };
        let is_background = background(&command).is_some();
        let code = self.order(&format!("{order}echo $?\n"), typed)?;
        let printed = if is_background && code == 0 { String::new() } else { self.read(&output) };
        Ok((code, printed))
    }

    /// Runs a command until it has printed this, and breaks it off.
    pub(super) fn run_until(&mut self, typed: &str, words: &str) -> Result<String, String> {
        let (file, output) = self.next_output();
        let command = self.outward(typed);
        let words = words.replace('\'', "'\\''");
        let order = format!(
            "exec_it() {{ exec {command}\n}}\nexec_it </dev/null >{file} 2>&1 &\n\
             until grep -qs -F -e '{words}' {file}; do kill -0 $! || break; sleep 0.05; done\n\
             kill -INT $!\nwait $!\necho 0\n"
        );
        self.order(&order, typed)?;
        Ok(self.read(&output))
    }

    fn order(&mut self, order: &str, typed: &str) -> Result<i32, String> {
        self.input.write_all(order.as_bytes()).map_err(|error| format!("{typed}: {error}"))?;
        let answer = self.answers.recv_timeout(PATIENCE).map_err(|_| {
            let log = self.home.path().join(format!(".output-{}", self.commands));
            format!("$ {typed}\ndoes not end; it has printed\n{}", self.read(&log))
        })?;
        answer.trim().parse().map_err(|_| format!("$ {typed}\nthe shell says {answer}"))
    }

    fn next_output(&mut self) -> (String, PathBuf) {
        self.commands += 1;
        let name = format!(".output-{}", self.commands);
        let path = self.home.path().join(&name);
        (format!("\"$HOME/{name}\""), path)
    }

    fn read(&self, path: &Path) -> String {
        let bytes = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let text = text.replace(&self.home.path().display().to_string(), "~");
        let ports = self.ports.iter().map(|(written, meant)| (*meant, *written)).collect();
        replace_ports(&text, &ports)
    }

    fn outward(&self, text: &str) -> String {
        replace_ports(text, &self.ports)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // Hubs take the programs along that they have started, if they are asked.
            let _ = kill_process_group(group, Signal::TERM);
            thread::sleep(Duration::from_millis(200));
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// Returns what is to run in the background.
fn background(command: &str) -> Option<&str> {
    let pattern = Regex::new(r"(?s)^(.*[^&\s])\s*&\s*(#[^\n]*)?$").expect("a pattern");
    let found = pattern.captures(command.trim_end())?.get(1)?;
    Some(found.as_str())
}

fn free_ports() -> BTreeMap<u16, u16> {
    // All at once, so that none is given twice.
    let listeners = PORTS.map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let ports = listeners.iter().map(|one| one.local_addr().expect("it has one").port());
    PORTS.into_iter().zip(ports).collect()
}

fn replace_ports(text: &str, ports: &BTreeMap<u16, u16>) -> String {
    let number = Regex::new(r"\b\d{4,5}\b").expect("a pattern");
    let replaced = number.replace_all(text, |found: &Captures<'_>| {
        let port = found[0].parse().ok().and_then(|port: u16| ports.get(&port));
        port.map_or_else(|| found[0].to_owned(), u16::to_string)
    });
    replaced.into_owned()
}
