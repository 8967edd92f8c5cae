//! A program that serves, as a user would start it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use rustix::process::{Pid, Signal, kill_process};

/// A program that says `listening on http://…` on standard error. Dropping it kills it.
#[derive(Debug)]
pub struct Program {
    child: Child,
    /// Reads what it says once it listens: whom nobody reads, a full pipe would stop.
    log: Option<JoinHandle<String>>,
    said: String,
    address: String,
}

impl Program {
    /// Starts a program, and waits until it listens.
    ///
    /// # Panics
    /// If it cannot be started, or ends before.
    pub fn start(command: &mut Command) -> Self {
        Self::start_until(command, "listening on http://")
    }

    /// Starts a program, and waits until it says a line that begins so. What follows in that line
    /// is taken for its address.
    ///
    /// # Panics
    /// If it cannot be started, or ends before.
    pub fn start_until(command: &mut Command, ready: &str) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("cargo has built it");
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut program = Self { child, log: None, said: String::new(), address: String::new() };
        while program.address.is_empty() {
            let mut line = String::new();
            let count = log.read_line(&mut line).expect("it writes text");
            assert!(count > 0, "it ended: {}", program.said);
            match line.trim().strip_prefix(ready) {
                Some(address) => address.clone_into(&mut program.address),
                None => program.said.push_str(&line),
            }
        }
        program.log = Some(thread::spawn(move || {
            let mut rest = Vec::new();
            // What cannot be read any more is not there.
            let _ = log.read_to_end(&mut rest);
            String::from_utf8_lossy(&rest).into_owned()
        }));
        program
    }

    /// What it said before it listened.
    pub fn said(&self) -> &str {
        &self.said
    }

    /// Returns where it listens, as host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request of A2A 1.0 over a connection of its own; returns head and body as they
    /// come. `headers` are whole lines.
    ///
    /// # Panics
    /// If there is no answer.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> (String, String) {
        let mut connection = TcpStream::connect(&self.address).expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\na2a-version: 1.0\r\n\
             {headers}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        connection.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("it answers HTTP");
        (head.to_owned(), body.to_owned())
    }

    /// Tells whether it takes connections.
    pub fn listens(&self) -> bool {
        TcpStream::connect(&self.address).is_ok()
    }

    /// Asks it to end (`SIGTERM`).
    ///
    /// # Panics
    /// If it has ended already.
    pub fn terminate(&self) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a child has a number"), Signal::TERM).expect("it runs");
    }

    /// Waits for its end, and returns whether that was a success.
    ///
    /// # Panics
    /// If it cannot be waited for.
    pub fn wait(&mut self) -> bool {
        self.child.wait().expect("a child can be waited for").success()
    }

    /// Posts a body; returns that of the answer.
    pub fn post(&self, path: &str, body: &str) -> String {
        self.send("POST", path, "", body).1
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let Some(rest) = self.log.take().and_then(|log| log.join().ok()) else { return };
        if !thread::panicking() {
            assert!(!rest.contains("panicked"), "{rest}");
        }
    }
}
