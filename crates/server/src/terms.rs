//! What the card of an agent promises and demands, checked before the agent is asked.

use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind, reason},
    operation::SendMessageRequest,
    service::CallContext,
};

use crate::media::MediaTypes;

/// The terms on which an agent can be called.
#[derive(Clone, Debug)]
pub struct Terms {
    streaming: bool,
    push: bool,
    required: Vec<String>,
    input: MediaTypes,
    output: MediaTypes,
}

impl Terms {
    /// Reads the terms of a card.
    pub fn of(card: &AgentCard) -> Self {
        let capabilities = &card.capabilities;
        let extensions = capabilities.extensions.iter();
        let skills = card.skills.iter();
        Self {
            streaming: capabilities.streaming == Some(true),
            push: capabilities.push_notifications == Some(true),
            required: extensions
                .filter(|extension| extension.required)
                .map(|extension| extension.uri.clone())
                .collect(),
            input: MediaTypes::new(
                card.default_input_modes.iter().chain(skills.clone().flat_map(|s| &s.input_modes)),
            ),
            output: MediaTypes::new(
                card.default_output_modes.iter().chain(skills.flat_map(|s| &s.output_modes)),
            ),
        }
    }

    pub(crate) fn check_streaming(&self) -> Result<(), Error> {
        if self.streaming {
            return Ok(());
        }
        let text = "the agent does not stream; send without streaming, and poll";
        Err(Error::new(ErrorKind::UnsupportedOperation, text))
    }

    pub(crate) fn check_push(&self) -> Result<(), Error> {
        if self.push {
            return Ok(());
        }
        let text = "the agent has no webhooks; subscribe or poll instead";
        Err(Error::new(ErrorKind::PushNotificationNotSupported, text))
    }

    /// Checks a message against everything the card says about messages.
    pub(crate) fn check_send(
        &self,
        ctx: &CallContext,
        request: &SendMessageRequest,
    ) -> Result<(), Error> {
        self.check_message(ctx, request)?;
        let wishes = request.configuration.as_ref();
        match wishes.and_then(|wishes| wishes.task_push_notification_config.as_ref()) {
            Some(_) => self.check_push(),
            None => Ok(()),
        }
    }

    /// Checks a message against what the card says of the agent itself: the extensions that it
    /// needs, and the media types that it takes and gives. Streams and webhooks may be given to
    /// it by whoever carries its calls.
    pub fn check_message(
        &self,
        ctx: &CallContext,
        request: &SendMessageRequest,
    ) -> Result<(), Error> {
        self.check_extensions(ctx)?;
        self.check_input(request)?;
        match &request.configuration {
            Some(wishes) => self.check_output(&wishes.accepted_output_modes),
            None => Ok(()),
        }
    }

    fn check_extensions(&self, ctx: &CallContext) -> Result<(), Error> {
        let missing: Vec<&str> = self
            .required
            .iter()
            .filter(|uri| !ctx.extensions.contains(*uri))
            .map(String::as_str)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join(",");
        let text = format!("the agent needs extensions; send A2A-Extensions: {missing}");
        Err(Error::new(ErrorKind::ExtensionSupportRequired, text)
            .with_metadata("requiredExtensions", missing))
    }

    /// A part that does not say what it is, is left to the agent.
    fn check_input(&self, request: &SendMessageRequest) -> Result<(), Error> {
        for (index, part) in request.message.parts.iter().enumerate() {
            let media_type = &part.media_type;
            if media_type.is_empty() || self.input.takes(media_type) {
                continue;
            }
            let field = format!("message.parts[{index}].mediaType");
            let text = format!("the agent does not take it, but {}", self.input.list());
            return Err(Error::new(ErrorKind::ContentTypeNotSupported, format!("{field}: {text}"))
                .with_metadata("mediaType", media_type.clone())
                .with_violation(field, text));
        }
        Ok(())
    }

    /// The caller has to accept at least one type that the agent gives (P-18). What cannot be
    /// read says nothing about what they accept.
    fn check_output(&self, accepted: &[String]) -> Result<(), Error> {
        let accepted = MediaTypes::new(accepted);
        if accepted.is_empty() || self.output.meets(&accepted) {
            return Ok(());
        }
        let field = "configuration.acceptedOutputModes";
        let text = format!("the agent gives none of these, but {}", self.output.list());
        Err(Error::new(ErrorKind::ContentTypeNotSupported, format!("{field}: {text}"))
            .with_reason(reason::OUTPUT_MODE_NOT_SUPPORTED)
            .with_violation(field, text))
    }
}
