//! What a terminal gets beside plain text: colours, and a line that says what is waited for.
//! Pipes and files get neither, and nobody who has set `NO_COLOR` gets colours.

use std::{
    env,
    io::{self, IsTerminal, Write as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use tokio::{task::JoinHandle, time::Instant};

use crate::settings::Settings;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const CARE: Style = AnsiColor::Yellow.on_default();
pub(crate) const ASIDE: Style = AnsiColor::Cyan.on_default();

/// Tells whether what goes there may have colours.
pub(crate) fn has_colour(stream: &impl IsTerminal) -> bool {
    obeys(stream) && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns a text in a colour.
pub(crate) fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

fn obeys(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && env::var_os("TERM").is_none_or(|name| name != "dumb")
}

/// A line on the terminal that says what is waited for. It appears when the wait is long enough
/// to be noticed, and is gone when this is dropped.
#[must_use]
pub(crate) struct Waiting {
    drawing: Option<(Arc<Mutex<Line>>, JoinHandle<()>)>,
}

struct Line {
    text: String,
    since: Instant,
    frame: usize,
    is_over: bool,
}

/// Nobody minds a wait that is shorter.
const UNNOTICED: Duration = Duration::from_millis(300);
const FRAME: Duration = Duration::from_millis(120);
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];
const ERASE: &str = "\r\x1b[K";

impl Waiting {
    /// Shows a line, if people look at standard error and want to read text.
    pub(crate) fn start(settings: &Settings, text: &str) -> Self {
        let is_set = |name: &str, value: &str| settings.get(name).as_deref() == Some(value);
        let is_quiet = is_set("output", "json") || settings.is_on("debug").unwrap_or(false);
        if is_quiet || !obeys(&io::stderr()) {
            return Self { drawing: None };
        }
        let since = Instant::now();
        let line = Line { text: text.to_owned(), since, frame: 0, is_over: false };
        let line = Arc::new(Mutex::new(line));
        let task = tokio::spawn(draw(Arc::clone(&line)));
        Self { drawing: Some((line, task)) }
    }

    /// Says something else from now on.
    pub(crate) fn say(&self, text: &str) {
        if let Some((line, _)) = &self.drawing {
            text.clone_into(&mut lock(line).text);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some((line, task)) = self.drawing.take() else { return };
        task.abort();
        let mut line = lock(&line);
        line.is_over = true;
        if line.frame > 0 {
            write(ERASE);
        }
    }
}

async fn draw(line: Arc<Mutex<Line>>) {
    tokio::time::sleep(UNNOTICED).await;
    let has_colour = has_colour(&io::stderr());
    loop {
        // Drawn under the lock: what has been erased stays erased.
        let drawn = lock(&line).draw(has_colour);
        if !drawn {
            return;
        }
        tokio::time::sleep(FRAME).await;
    }
}

impl Line {
    fn draw(&mut self, has_colour: bool) -> bool {
        if self.is_over {
            return false;
        }
        let frame = FRAMES[self.frame % FRAMES.len()];
        self.frame += 1;
        let text = format!("{frame} {}, {} s", self.text, self.since.elapsed().as_secs());
        let text = if has_colour { painted(ASIDE, &text) } else { text };
        write(&format!("{ERASE}{text}"));
        true
    }
}

fn write(text: &str) {
    let mut stream = io::stderr().lock();
    // Nobody looks if it cannot be written.
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
