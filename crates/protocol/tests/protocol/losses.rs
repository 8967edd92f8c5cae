//! What translations lose, and the proof that they lose exactly that (T-02).
//!
//! A test file for a form lists its losses and calls [`Translation::check`] with arbitrary
//! models, and [`Translation::check_losses`] once. The ids are those of the rows in
//! `docs/reference/translation.md`.

use nuncio_protocol::{
    http::{HttpCall, HttpForm},
    json,
    jsonrpc::Id,
    operation::{Operation, Request, Response},
    task::StreamResponse,
    wire::{Echo, JsonRpcForm, StreamEnd},
};

/// Anything that is said over a wire.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a test value")]
pub(crate) enum Said {
    /// By a client.
    Request(Request),
    /// By a server.
    Response(Operation, Response),
    /// By a server, in a stream.
    Event(StreamResponse),
}

impl Said {
    /// Reads a request from its form in A2A 1.0.
    pub(crate) fn request(operation: Operation, v1: &str) -> Self {
        let request = json::read_with(v1, |reader| Request::read(operation, reader));
        Self::Request(request.expect("the text is a request of A2A 1.0"))
    }

    /// Reads an answer from its form in A2A 1.0.
    pub(crate) fn response(operation: Operation, v1: &str) -> Self {
        let response = json::read_with(v1, |reader| Response::read(operation, reader));
        Self::Response(operation, response.expect("the text is an answer of A2A 1.0"))
    }

    /// Reads an event from its form in A2A 1.0.
    pub(crate) fn event(v1: &str) -> Self {
        Self::Event(json::from_str(v1).expect("the text is an event of A2A 1.0"))
    }
}

/// One thing that a form cannot carry.
pub(crate) struct Loss {
    /// The row in `docs/reference/translation.md`.
    pub id: &'static str,
    /// Changes a model into what is left of it.
    pub forget: fn(&mut Said),
    /// A model of which something is lost.
    pub witness: fn() -> Said,
}

/// A form and what it cannot carry.
pub(crate) struct Translation {
    /// The form's name in `docs/reference/translation.md`.
    pub form: &'static str,
    /// What it cannot carry.
    pub losses: &'static [Loss],
    /// Writes a model and reads it back; nothing if the form has no such operation.
    pub round_trip: fn(&Said) -> Option<Said>,
}

impl Translation {
    /// Asserts that a model comes back unchanged but for the losses.
    #[track_caller]
    pub(crate) fn check(&self, said: &Said) {
        let Some(back) = (self.round_trip)(said) else { return };
        let mut expected = said.clone();
        for loss in self.losses {
            (loss.forget)(&mut expected);
        }
        assert_eq!(back, expected, "{} changed {said:?}", self.form);
    }

    /// Asserts that each loss is real, is just what it says, and stands in the document with
    /// no others.
    pub(crate) fn check_losses(&self) {
        for loss in self.losses {
            let witness = (loss.witness)();
            let back = (self.round_trip)(&witness).expect("a witness must be expressible");
            let mut expected = witness.clone();
            (loss.forget)(&mut expected);
            assert_ne!(expected, witness, "{}: {} forgets nothing", self.form, loss.id);
            assert_eq!(back, expected, "{}: {}", self.form, loss.id);
        }
        let ids: Vec<&str> = self.losses.iter().map(|loss| loss.id).collect();
        assert_eq!(ids, documented(self.form), "docs/reference/translation.md, {}", self.form);
    }
}

/// Returns the ids in the document's rows of one form, in order.
fn documented(form: &str) -> Vec<&'static str> {
    const PAGE: &str = include_str!("../../../../docs/reference/translation.md");
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix('|'));
    let cells = rows.map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`')));
    cells.filter_map(|mut cells| (cells.next()? == form).then(|| cells.next()).flatten()).collect()
}

/// Sends a model through a form in which every call is one JSON document.
pub(crate) fn through_json_rpc(form: &dyn JsonRpcForm, said: &Said) -> Option<Said> {
    let echo = |operation| Echo::new(Id::text("1"), operation);
    Some(match said {
        Said::Request(request) => {
            let body = form.write_call(&Id::text("1"), request).ok()?;
            Said::Request(
                form.read_call(&body).unwrap_or_else(|error| panic!("{error:?}\n{body}")).request,
            )
        }
        Said::Response(operation, response) => {
            form.method(*operation)?;
            let body = form.write_reply(&echo(*operation), Ok(response));
            let back = form.read_reply(*operation, &body);
            Said::Response(*operation, back.unwrap_or_else(|error| panic!("{error:?}\n{body}")))
        }
        Said::Event(event) => {
            form.method(Operation::SendStreamingMessage)?;
            let echo = echo(Operation::SendStreamingMessage);
            let frame = form.write_frame(&echo, Ok(event), StreamEnd::Open);
            let back = form.read_frame(&frame.data);
            Said::Event(back.unwrap_or_else(|error| panic!("{error:?}\n{}", frame.data)))
        }
    })
}

/// Sends a model through a form in which method and path speak too.
pub(crate) fn through_http(form: &dyn HttpForm, said: &Said) -> Option<Said> {
    Some(match said {
        Said::Request(request) => {
            let target = form.write_call(request).ok()?;
            let (path, query) = target.path.split_once('?').unwrap_or((&target.path, ""));
            let body = target.body.as_deref().unwrap_or_default().as_bytes();
            let call = HttpCall { method: target.method, path, query, body };
            let back = form.read_call(&call);
            Said::Request(back.unwrap_or_else(|error| panic!("{error:?}\n{target:?}")))
        }
        Said::Response(operation, response) => {
            let reply = form.write_reply(*operation, Ok(response));
            let back = form.read_reply(*operation, reply.status, reply.body.as_bytes());
            Said::Response(*operation, back.unwrap_or_else(|error| panic!("{error:?}\n{reply:?}")))
        }
        Said::Event(event) => {
            let frame = form.write_frame(Ok(event), StreamEnd::Open);
            let back = form.read_frame(&frame.data);
            Said::Event(back.unwrap_or_else(|error| panic!("{error:?}\n{}", frame.data)))
        }
    })
}
