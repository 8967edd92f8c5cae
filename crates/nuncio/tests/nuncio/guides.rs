//! README and guides, tried out as they are written.
//!
//! What a block says in its first line decides what becomes of it:
//!
//! | first line | what becomes of it |
//! |---|---|
//! | `sh` | its commands are run, one after the other, and each must succeed |
//! | `console` | lines that begin with `$ ` are run, and must print what stands below them |
//! | `yaml` | is held against the reader that it is meant for |
//! | `yaml NAME` | the same, and becomes a file of that name where commands are run |
//! | `yaml PATH`, `rust PATH` | must stand in that file of the repository, which is copied there |
//! | `json` | must be JSON |
//! | `text` | is nothing to try |
//! | any, `not-run: REASON` | is not tried, for the reason that it gives |
//!
//! In what a command prints `…` stands for anything, identifiers and times for those that there
//! are, and `^C` for breaking it off there. What a reader need not see stands in a comment that
//! begins with `<!-- run`. Ports are others than those written, so that several can be tried at once;
//! `nuncio up` and `serve` are given one if they are told none.
//!
//! `NUNCIO_GUIDE=workflows` tries one page.

mod expect;
mod links;
mod page;
mod shell;

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Mutex,
    thread,
};

use self::{
    expect::Known,
    page::{Block, Page, Step},
    shell::Shell,
};

/// So many are played at the same time.
const TOGETHER: usize = 3;

pub(super) fn root() -> PathBuf {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    root.canonicalize().expect("the repository")
}

/// Returns every page that is to be tried.
fn pages() -> Vec<PathBuf> {
    let root = root();
    let mut pages = vec![root.join("README.md"), root.join("docs/README.md")];
    let guides = fs::read_dir(root.join("docs/guides")).expect("there are guides");
    pages.extend(guides.map(|entry| entry.expect("our own folder").path()));
    pages.sort();
    pages
}

#[test]
fn readme_and_guides_work_as_typed() {
    let wish = env::var("NUNCIO_GUIDE").ok();
    let is_wished = |page: &PathBuf| {
        let name = page.file_stem().and_then(|name| name.to_str());
        wish.as_deref().is_none_or(|wish| Some(wish) == name)
    };
    let left = Mutex::new(pages().into_iter().filter(is_wished).collect::<Vec<_>>());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..TOGETHER {
            scope.spawn(|| {
                loop {
                    let next = left.lock().expect("nobody panics").pop();
                    let Some(path) = next else { break };
                    if let Err(what) = try_out(&path) {
                        wrong.lock().expect("nobody panics").push(what);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panics");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Plays a page from its beginning to its end.
fn try_out(path: &Path) -> Result<(), String> {
    let shown = path.strip_prefix(root()).unwrap_or(path).display().to_string();
    let text = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    let page = Page::read(&text).map_err(|what| format!("{shown}:{what}"))?;
    let mut shell = Shell::open();
    let mut known = Known::default();
    for block in page.blocks {
        let at = |line: usize, what: String| format!("{shown}:{line}: {what}");
        for (line, step) in block.steps().map_err(|what| at(block.line, what))? {
            take(&mut shell, &mut known, &step).map_err(|what| at(line, what))?;
        }
        check(&mut shell, &block).map_err(|what| at(block.line, what))?;
    }
    Ok(())
}

fn take(shell: &mut Shell, known: &mut Known, step: &Step) -> Result<(), String> {
    match step {
        Step::Succeeds(typed) => {
            let (code, printed) = shell.run(&known.meant(typed))?;
            let succeeded = code == 0;
            succeeded.then_some(()).ok_or_else(|| format!("$ {typed}\nexit code {code}\n{printed}"))
        }
        Step::Prints(typed, told) => {
            let meant = known.meant(typed);
            let printed = match told.split_once("^C") {
                Some((before, _)) => shell.run_until(&meant, expect::last_words(before))?,
                None => shell.run(&meant)?.1,
            };
            known.compare(&told.replace(" ^C", "^C").replace("^C", "…"), &printed).map_err(|what| {
                format!("$ {typed}\nis said to print\n{told}\nand prints\n{printed}\n({what})")
            })
        }
    }
}

/// Judges a block that is no commands.
fn check(shell: &mut Shell, block: &Block) -> Result<(), String> {
    let Some(name) = block.file() else { return check_nameless(shell, block) };
    if name.contains('/') {
        let source = fs::read_to_string(root().join(name)).map_err(|e| format!("{name}: {e}"))?;
        if !contains(&source, &block.text) {
            return Err(format!("{name} has no such lines:\n{}", block.text));
        }
        let base = name.rsplit('/').next().unwrap_or(name);
        shell.write(base, &source);
        return Ok(());
    }
    shell.write(name, &block.text);
    if block.language == "yaml" { check_yaml(shell, name, &block.text) } else { Ok(()) }
}

fn check_nameless(shell: &mut Shell, block: &Block) -> Result<(), String> {
    match block.language.as_str() {
        "yaml" => {
            shell.write("block.yaml", &block.text);
            check_yaml(shell, "block.yaml", &block.text)
        }
        "json" => match serde_json::from_str::<serde_json::Value>(&block.text) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("is no JSON: {error}")),
        },
        "rust" => Err("say in which file of the repository it stands: `rust PATH`".to_owned()),
        _ => Ok(()),
    }
}

/// Has the program read it.
fn check_yaml(shell: &mut Shell, name: &str, text: &str) -> Result<(), String> {
    let has = |member: &str| text.lines().any(|line| line.starts_with(&format!("{member}:")));
    let command = if has("nodes") {
        format!("nuncio workflow validate --offline {name}")
    } else if ["rules", "otherwise", "card", "faults"].iter().any(|one| has(one)) && !has("agents")
    {
        format!("nuncio mock {name} --port 0 &")
    } else {
        format!("nuncio config check {name}")
    };
    let (code, printed) = shell.run(&command)?;
    if code == 0 { Ok(()) } else { Err(format!("{command}\n{printed}")) }
}

/// Tells whether a file has these lines one after the other, however far they are indented, in
/// its code or in an example of its documentation.
fn contains(source: &str, part: &str) -> bool {
    let strip = |line: &str| {
        let line = line.trim();
        let code = ["///", "//!"].iter().find_map(|mark| line.strip_prefix(mark));
        code.unwrap_or(line).trim().to_owned()
    };
    // Lines that are hidden in documentation begin so.
    let lines = |text: &str| -> Vec<String> {
        text.lines().map(strip).filter(|line| !line.starts_with("# ") && line != "#").collect()
    };
    let (source, part) = (lines(source), lines(part));
    !part.is_empty() && source.windows(part.len()).any(|window| window == part)
}
