//! Events and answers, bare or wrapped.

use super::{Loose, Outline, list, once, optional};
use crate::{
    json::{Error, Kind, Reader, read_value, read_with},
    operation::ListTasksResponse,
    task::{SendMessageResponse, StreamResponse},
};

impl Loose {
    /// Reads one event, bare or inside an object that names it, as protobuf writes a oneof.
    pub(in crate::dialect) fn wrapped_event(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<StreamResponse, Error> {
        let outline = Outline::read(reader)?;
        read_with(outline.text, |reader| {
            if ["kind", "status", "artifact", "role", "parts"].iter().any(|key| outline.has(key)) {
                return self.event(reader);
            }
            let mut event = None;
            reader.members(|reader, key| {
                let found = match &*key {
                    "task" => {
                        optional(reader, |reader| self.task(reader))?.map(StreamResponse::Task)
                    }
                    "message" | "msg" => optional(reader, |reader| self.message(reader))?
                        .map(StreamResponse::Message),
                    "statusUpdate" | "status_update" => {
                        optional(reader, |reader| self.status_update(reader))?
                            .map(StreamResponse::StatusUpdate)
                    }
                    "artifactUpdate" | "artifact_update" => {
                        optional(reader, |reader| self.artifact_update(reader))?
                            .map(StreamResponse::ArtifactUpdate)
                    }
                    _ => return reader.skip(),
                };
                if found.is_some() && event.is_some() {
                    return Err(Error::shape("stands beside another event"));
                }
                event = event.take().or(found);
                Ok(())
            })?;
            event.ok_or_else(|| Error::shape("is neither a task nor a message nor an event"))
        })
    }

    /// Reads the answer to a message, bare or wrapped.
    pub(in crate::dialect) fn answer(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<SendMessageResponse, Error> {
        match self.wrapped_event(reader)? {
            StreamResponse::Task(task) => Ok(SendMessageResponse::Task(task)),
            StreamResponse::Message(message) => Ok(SendMessageResponse::Message(message)),
            StreamResponse::StatusUpdate(_) | StreamResponse::ArtifactUpdate(_) => {
                Err(Error::shape("is an event; expected a task or a message"))
            }
        }
    }

    /// Reads a page of tasks, or the bare list of them.
    pub(in crate::dialect) fn tasks(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<ListTasksResponse, Error> {
        if reader.peek()? == Kind::Array {
            let tasks = list(reader, |reader| self.task(reader))?;
            return Ok(ListTasksResponse { tasks, ..ListTasksResponse::default() });
        }
        let mut tasks = None;
        let mut next_page_token = None;
        let mut page_size = None;
        let mut total_size = None;
        reader.members(|reader, key| match &*key {
            "tasks" => once(
                &mut tasks,
                optional(reader, |reader| list(reader, |reader| self.task(reader)))?,
            ),
            "nextPageToken" | "next_page_token" => once(&mut next_page_token, read_value(reader)?),
            "pageSize" | "page_size" => once(&mut page_size, read_value(reader)?),
            "totalSize" | "total_size" => once(&mut total_size, read_value(reader)?),
            _ => reader.skip(),
        })?;
        Ok(ListTasksResponse {
            tasks: tasks.unwrap_or_default(),
            next_page_token: next_page_token.unwrap_or_default(),
            page_size: page_size.unwrap_or_default(),
            total_size: total_size.unwrap_or_default(),
        })
    }
}
