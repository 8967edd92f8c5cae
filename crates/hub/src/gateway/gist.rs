//! What a text of A2A is about, without reading it all.
//!
//! Tasks can be megabytes, and pass through the hub as they are. Their names and their state
//! stand at the beginning.

use nuncio_protocol::{
    json::{Error, Fields, Reader},
    state::TaskState,
};

/// Names and states are found within so many bytes or not at all.
const HEAD: usize = 2_048;

/// What an answer or an event is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gist {
    pub(crate) task: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) state: Option<TaskState>,
}

/// Finds out what a task is about, or an answer or event that has one.
pub(crate) fn of(json: &[u8]) -> Gist {
    let head = json.get(..HEAD).unwrap_or(json);
    let head = match std::str::from_utf8(head) {
        Ok(head) => head,
        // Cut in the middle of a letter.
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let mut gist = Gist::default();
    // It ends where the head does, or where everything is known.
    let _ = read(&mut Reader::new(head), &mut gist);
    gist
}

fn read(reader: &mut Reader<'_>, gist: &mut Gist) -> Result<(), Error> {
    let mut fields = reader.begin_object()?;
    while let Some(key) = reader.next_key(&mut fields)? {
        match &*key {
            "task" | "statusUpdate" | "artifactUpdate" => return read(reader, gist),
            "id" | "taskId" => gist.task = Some(reader.string()?.into_owned()),
            "contextId" => gist.context = Some(reader.string()?.into_owned()),
            "status" => {
                gist.state = state(reader)?;
                return Ok(());
            }
            // A message, or what stands behind all that is looked for.
            "message" | "artifact" | "artifacts" | "history" => return Ok(()),
            _ => reader.skip_member(&mut fields, &key)?,
        }
    }
    Ok(())
}

fn state(reader: &mut Reader<'_>) -> Result<Option<TaskState>, Error> {
    let mut fields: Fields<'_> = reader.begin_object()?;
    while let Some(key) = reader.next_key(&mut fields)? {
        if &*key == "state" {
            return Ok(TaskState::from_name(&reader.string()?));
        }
        reader.skip_member(&mut fields, &key)?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: (Option<&str>, Option<&str>, Option<TaskState>)) {
        let Gist { task, context, state } = of(json.as_bytes());
        assert_eq!((task.as_deref(), context.as_deref(), state), expected, "{json}");
    }

    #[test]
    fn names_and_state_are_found_at_the_beginning() {
        let working = (Some("t"), Some("c"), Some(TaskState::Working));
        let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"#;
        check(&format!(r#"{task}"}},"artifacts":["#), working);
        check(&format!(r#"{{"task":{task}"}}}}}}"#), working);
        let long = format!(r#"{task}"}},"history":[{{"text":"{}"#, "ä".repeat(5_000));
        check(&long, working);
        let update = r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"message":{},"state":"TASK_STATE_WORKING"}}}"#;
        check(update, working);
        let piece = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"id":"x"}}}"#;
        check(piece, (Some("t"), Some("c"), None));
        check(r#"{"message":{"messageId":"m","contextId":"x"}}"#, (None, None, None));
        for text in ["", "[]", "{", r#"{"id":7}"#, r#"{"id":"#, "\u{0}"] {
            check(text, (None, None, None));
        }
    }
}
