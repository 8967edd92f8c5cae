//! Several calls in one body (PD-04, C-42).

use crate::{
    error::{Error, ErrorKind},
    jsonrpc::{Id, Refusal, split_batch},
    wire::{Call, JsonRpcForm},
};

/// The most calls that one body may hold.
pub const MAX_BATCH: usize = 20;

/// Reads the calls of a batch in any JSON-RPC form; `None` if the body is none.
///
/// Each call is read or refused for itself; a stream cannot be asked for. The batch as a whole
/// is refused if it is empty or too long.
pub fn read_batch(
    form: &dyn JsonRpcForm,
    body: &str,
) -> Result<Option<Vec<Result<Call, Refusal>>>, Error> {
    let Some(items) = split_batch(body)? else { return Ok(None) };
    if items.is_empty() || items.len() > MAX_BATCH {
        let length = items.len();
        let message = format!("a batch has 1 to {MAX_BATCH} calls, this has {length}");
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    Ok(Some(items.into_iter().map(|item| read_item(form, item)).collect()))
}

fn read_item(form: &dyn JsonRpcForm, item: &str) -> Result<Call, Refusal> {
    let call = form.read_call(item)?;
    if call.echo.operation.is_streaming() {
        let error = Error::new(ErrorKind::InvalidRequest, "a stream cannot be part of a batch");
        return Err(Refusal { id: call.echo.id.unwrap_or_else(Id::null), error });
    }
    Ok(call)
}

/// Joins the answers to a batch; `None` if no call wants one.
pub fn write_batch(answers: &[String]) -> Option<String> {
    (!answers.is_empty()).then(|| format!("[{}]", answers.join(",")))
}
