//! A2A 0.2.x on JSON-RPC: the form of [0.3](super::v03) with few differences (compatibility
//! digest §8).
//!
//! - There is no method for the extended card: it is fetched from [`EXTENDED_CARD_PATH`].
//! - `acceptedOutputModes` is always written inside a configuration, which 0.2.0 to 0.2.5
//!   require.
//! - 0.2.0 to 0.2.4 know one webhook a task, and neither list nor remove it; they answer the
//!   methods of 0.2.5 with `MethodNotFound`.
//! - The card stands at [`CARD_PATH`].
//!
//! It loses what 0.3 does.

use super::{
    loose::Loose,
    v03::{
        METHODS, V03,
        request::{self, EmptyModes},
        write,
    },
};
use crate::{
    card::{AgentCard, LegacyCard},
    error::Error,
    json::{self, Reader, Writer},
    operation::{Operation, Request, Response},
    task::StreamResponse,
    wire::{JsonRpcForm, StreamEnd},
};

/// Where an agent of 0.2 has its card.
pub const CARD_PATH: &str = "/.well-known/agent.json";

/// Where an agent of 0.2 has its extended card, beside the URL of its card: a `GET` with
/// credentials.
pub const EXTENDED_CARD_PATH: &str = "/agent/authenticatedExtendedCard";

/// A2A 0.2.x on JSON-RPC.
#[derive(Clone, Copy, Debug)]
pub struct V02;

impl JsonRpcForm for V02 {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        // All of 0.3 but its last: here the extended card is a page of its own.
        METHODS.split_last().map_or(&[], |(_, rest)| rest)
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, json::Error> {
        request::read(Loose::default(), operation, reader)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        request::write(request, EmptyModes::Written, writer);
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        V03.read_response(operation, reader)
    }

    fn write_response(&self, operation: Operation, response: &Response, writer: &mut Writer) {
        match response {
            Response::Card(card) => self.write_card(card, writer),
            _ => V03.write_response(operation, response, writer),
        }
    }

    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        V03.read_event(reader)
    }

    fn write_event(&self, event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
        V03.write_event(event, end, writer);
    }

    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, json::Error> {
        V03.read_error(reader)
    }

    fn write_error(&self, error: &Error, writer: &mut Writer) {
        V03.write_error(error, writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        write::card(card, LegacyCard::v02(card), writer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::ErrorKind,
        jsonrpc::Id,
        operation::{GetExtendedAgentCardRequest, SendMessageConfiguration, SendMessageRequest},
        wire::card_document,
    };

    #[test]
    fn only_the_extended_card_has_no_method_that_0_3_has() {
        for &operation in Operation::ALL {
            let expected =
                V03.method(operation).filter(|_| operation != Operation::GetExtendedAgentCard);
            assert_eq!(V02.method(operation), expected);
        }
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}"#;
        assert_eq!(V02.read_call(body).unwrap_err().error.kind(), ErrorKind::MethodNotFound);
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        assert!(V02.write_call(&Id::number(1), &request).is_err());
    }

    #[test]
    fn a_card_names_its_json_rpc_in_its_url() {
        let v1 = r#"{"name":"Echo","supportedInterfaces":[{"url":"g","protocolBinding":"GRPC","protocolVersion":"0.3"},{"url":"u","protocolBinding":"JSONRPC","protocolVersion":"0.3"}],"version":"1"}"#;
        let card = json::from_str(v1).unwrap();
        let document = card_document(&V02, &card);
        assert!(document.contains(r#""url":"u""#), "{document}");
        assert!(!document.contains("supportedInterfaces"), "{document}");
    }

    #[test]
    fn output_modes_stand_in_every_configuration() {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"x"}]},"configuration":{"acceptedOutputModes":[],"blocking":true}}}"#;
        let call = V02.read_call(body).unwrap();
        assert_eq!(V02.write_call(&call.echo.id(), &call.request).unwrap(), body);
        let Request::SendMessage(read) = &call.request else { panic!("{call:?}") };
        let wishes = Some(SendMessageConfiguration::default());
        let expected = SendMessageRequest::new(read.message.clone());
        assert_eq!(*read, SendMessageRequest { configuration: wishes, ..expected });
    }
}
