//! Watching over a connection that breaks.

use std::{
    fs,
    io::{self, BufRead as _, BufReader},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use super::Shop;

/// Somebody between a command and the hub who can cut every connection.
struct Between {
    address: String,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Between {
    /// Cuts the connection of a number, counted from nought, before anything is answered on it.
    fn new(hub: &str, spoilt: Option<usize>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens").to_string();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let (hub, kept) = (hub.to_owned(), Arc::clone(&open));
        // It ends with the tests.
        thread::spawn(move || {
            for (number, inner) in listener.incoming().map_while(Result::ok).enumerate() {
                if Some(number) == spoilt {
                    // It is closed by going out of scope.
                    continue;
                }
                let Ok(outer) = TcpStream::connect(&hub) else { return };
                for (from, to) in [(&inner, &outer), (&outer, &inner)] {
                    let (mut from, mut to) = (copy(from), copy(to));
                    thread::spawn(move || {
                        // Cut off.
                        let _ = io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                kept.lock().expect("nobody panics").push(inner);
            }
        });
        Self { address, open }
    }

    /// Cuts what is open; returns how many connections that were.
    fn cut(&self) -> usize {
        let open = std::mem::take(&mut *self.open.lock().expect("nobody panics"));
        open.iter().filter(|stream| stream.shutdown(Shutdown::Both).is_ok()).count()
    }
}

fn copy(stream: &TcpStream) -> TcpStream {
    stream.try_clone().expect("one more")
}

/// Watches a run by way of somebody between.
fn watch(shop: &Shop, between: &Between, run: &str) -> Command {
    let key = shop.user.home().join(".local/share/nuncio/hub/admin.key");
    let key = fs::read_to_string(key).expect("the hub has made it");
    let mut watching = shop.user.command(&["run", "watch", run]);
    watching.env("NUNCIO_URL", format!("http://{}", between.address));
    watching.env("NUNCIO_KEY", key.trim()).stdout(Stdio::piped());
    watching
}

#[test]
fn a_question_that_breaks_off_while_watching_is_asked_again() {
    let shop = Shop::open();
    shop.did(&["workflow", "save", "shout.yaml"]);
    fs::write(shop.user.home().join("paper"), "").expect("the user's own folder");
    let run = shop.begin(&["publish.yaml", "--input", "text=hi"]);
    // The first connection has the events; how to reply is asked for on the second.
    let between = Between::new(shop.hub.address(), Some(1));
    let mut watching = watch(&shop, &between, &run);
    let mut watching = watching.stderr(Stdio::piped()).spawn().expect("cargo has built it");
    let mut told = BufReader::new(watching.stderr.take().expect("it is piped")).lines();
    assert!(told.any(|line| line.expect("text").contains("Reply: ")), "it says how to reply");
    shop.did(&["run", "answer", &run, "check", "approve"]);
    assert!(watching.wait().expect("it ends").success());
}

#[test]
fn a_lost_connection_goes_on_behind_the_last_event() {
    let shop = Shop::open();
    shop.did(&["workflow", "save", "shout.yaml"]);
    fs::write(shop.user.home().join("paper"), "").expect("the user's own folder");
    let run = shop.begin(&["publish.yaml", "--input", "text=hi"]);
    let between = Between::new(shop.hub.address(), None);
    let mut watching = watch(&shop, &between, &run).spawn().expect("cargo has built it");
    let mut lines = BufReader::new(watching.stdout.take().expect("it is piped")).lines();
    let mut seen = Vec::new();
    while seen.last().is_none_or(|line: &String| !line.contains("node.waiting")) {
        seen.push(lines.next().expect("it goes on").expect("text"));
    }
    assert!(between.cut() > 0, "it was connected");
    shop.did(&["run", "answer", &run, "check", "approve"]);
    seen.extend(lines.map(|line| line.expect("text")));
    assert!(watching.wait().expect("it ends").success());

    let whole = shop.did(&["run", "watch", &run]);
    assert_eq!(seen, whole.lines().collect::<Vec<_>>(), "nothing twice, nothing lost");
    assert!(seen.first().is_some_and(|line| line.contains("run.started")), "{seen:?}");
    assert!(seen.last().is_some_and(|line| line.contains("run.completed")), "{seen:?}");
    // From an event on, there is only the rest; and from the last one, nothing.
    let number = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
    let rest = shop.did(&["run", "watch", &run, "--after", &number(&seen[seen.len() - 3])]);
    assert_eq!(rest.lines().collect::<Vec<_>>(), seen[seen.len() - 2..]);
    let last = number(&seen[seen.len() - 1]);
    assert_eq!(shop.did(&["run", "watch", &run, "--after", &last]), "");
    let json = shop.did(&["run", "watch", &run, "-o", "json"]);
    assert_eq!(json.lines().count(), seen.len());
    assert!(json.lines().all(|line| line.starts_with(r#"{"seq":"#)), "{json}");
}
