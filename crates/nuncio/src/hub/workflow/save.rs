//! Workflows that go from files into the hub.

use std::path::PathBuf;

use bytes::Bytes;
use http::{Method, StatusCode};
use nuncio_hub::name::AgentName;
use serde::{Deserialize, Serialize};

use super::{
    Whole,
    check::{Flaw, inputs_of, judge_alone},
    file::File,
    path,
};
use crate::{
    failure::Failure,
    hub::{Hub, LARGEST, json, parse, refused},
    output::{Output, note},
};

/// A workflow that the hub keeps now.
pub(super) struct Saved {
    pub(super) version: u32,
    /// Whether it was not there before.
    pub(super) is_new: bool,
    /// What the hub said about it.
    bytes: Bytes,
}

/// What came of an attempt.
enum Came {
    Saved(Saved),
    /// The hub would not run it.
    Flawed(Vec<Flaw>),
}

#[derive(Serialize)]
struct Written<'a> {
    source: &'a str,
}

#[derive(Deserialize)]
struct Flaws {
    problems: Vec<Flaw>,
}

/// Saves files, those first that others name.
pub(super) async fn run(
    paths: &[PathBuf],
    name: Option<AgentName>,
    hub: &Hub,
    output: &mut Output,
) -> Result<(), Failure> {
    if name.is_some() && paths.len() > 1 {
        return Err(Failure::usage("--name is for one file")
            .hint("save them one after the other, or name them in the files"));
    }
    let files = paths.iter().map(|path| File::read(path)).collect::<Result<Vec<_>, _>>()?;
    // Nothing is saved if one of them cannot be.
    let ours = inputs_of(&files);
    for file in &files {
        refuse_flawed(file, &judge_alone(file, &ours))?;
    }
    let mut left = Vec::with_capacity(files.len());
    for file in &files {
        left.push((file.name(name.as_ref())?, file));
    }
    while !left.is_empty() {
        let mut refused = Vec::new();
        let mut is_stuck = true;
        for (name, file) in left {
            match attempt(file, &name, hub).await? {
                Came::Saved(saved) => {
                    is_stuck = false;
                    told(file, &name, &saved, output)?;
                }
                Came::Flawed(flaws) => refused.push((name, file, flaws)),
            }
        }
        if let Some((_, file, flaws)) = refused.first().filter(|_| is_stuck) {
            return refuse_flawed(file, flaws);
        }
        left = refused.into_iter().map(|(name, file, _)| (name, file)).collect();
    }
    Ok(())
}

fn told(file: &File, name: &AgentName, saved: &Saved, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return json(output, &saved.bytes);
    }
    let Saved { version, is_new, .. } = saved;
    let news = if *is_new { "" } else { ", as before" };
    Ok(output.field("Saved", &format!("{name} version {version}{news} ({})", file.path))?)
}

/// Saves a file, and says everything that is wrong with it.
pub(super) async fn save(file: &File, name: &AgentName, hub: &Hub) -> Result<Saved, Failure> {
    refuse_flawed(file, &judge_alone(file, &inputs_of(std::slice::from_ref(file))))?;
    match attempt(file, name, hub).await? {
        Came::Saved(saved) => Ok(saved),
        Came::Flawed(flaws) => {
            refuse_flawed(file, &flaws)?;
            Err(Failure::invalid_workflow(format!("the hub does not take {}", file.path)))
        }
    }
}

async fn attempt(file: &File, name: &AgentName, hub: &Hub) -> Result<Came, Failure> {
    let path = path(name.as_str());
    let before = match hub.read::<Whole>(&path).await {
        // Whoever may run it need not be allowed to save it.
        Ok((whole, bytes)) if whole.source == file.text => {
            return Ok(Came::Saved(Saved { version: whole.version, is_new: false, bytes }));
        }
        Ok((whole, _)) => whole.version,
        Err(failure) if failure.is_hub_status(StatusCode::NOT_FOUND) => 0,
        Err(failure) => return Err(failure),
    };
    let written = Written { source: &file.text };
    let response = hub.open(Method::PUT, &path, Some(&written)).await?;
    let status = response.status();
    let bytes = response.collect(LARGEST).await.map_err(|error| Failure::net(&error))?;
    match status {
        status if status.is_success() => {
            let Whole { version, .. } = parse(&bytes)?;
            Ok(Came::Saved(Saved { version, is_new: version != before, bytes }))
        }
        StatusCode::UNPROCESSABLE_ENTITY => {
            let Flaws { problems } = parse(&bytes).map_err(|_| refused(status, &bytes))?;
            Ok(Came::Flawed(problems))
        }
        status => Err(refused(status, &bytes)),
    }
}

/// Says what is wrong with a file; a failure if there is an error.
fn refuse_flawed(file: &File, flaws: &[Flaw]) -> Result<(), Failure> {
    let errors: Vec<&Flaw> = flaws.iter().filter(|flaw| flaw.is_error()).collect();
    match errors.as_slice() {
        [] => Ok(()),
        [only] => Err(Failure::invalid_workflow(only.line(&file.path))),
        [.., last] => {
            let lines = errors.iter().take(errors.len() - 1);
            lines.for_each(|flaw| note(&flaw.line(&file.path)));
            Err(Failure::invalid_workflow(last.line(&file.path))
                .hint(format!("nuncio workflow validate {}", file.path)))
        }
    }
}
