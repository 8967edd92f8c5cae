//! Every check by its code, with what is tried, what a failure usually comes from, and the fix.

macro_rules! checks {
    ($($check:ident = $code:literal $tried:literal, $cause:literal, $fix:literal;)*) => {
        /// Something that is tried. `docs/reference/doctor.md` lists them all.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Check {
            $($check,)*
        }

        impl Check {
            /// Every check, in the order in which they are reported.
            pub(crate) const ALL: &[Self] = &[$(Self::$check),*];

            /// Returns the stable name, `card.found`.
            pub(crate) const fn code(self) -> &'static str {
                match self { $(Self::$check => $code,)* }
            }

            /// Returns what holds if the check passes.
            pub(crate) const fn tried(self) -> &'static str {
                match self { $(Self::$check => $tried,)* }
            }

            /// Returns what usually is the cause if it does not.
            pub(crate) const fn cause(self) -> &'static str {
                match self { $(Self::$check => $cause,)* }
            }

            /// Returns how to mend it.
            pub(crate) const fn fix(self) -> &'static str {
                match self { $(Self::$check => $fix,)* }
            }
        }
    };
}

impl Check {
    /// Returns the group, `card`.
    pub(crate) fn group(self) -> &'static str {
        self.code().split_once('.').map_or_else(|| self.code(), |(group, _)| group)
    }
}

checks! {
    ReachUrl = "reach.url"
        "the URL is one that can be called",
        "the text is no http or https URL, or leads to an address that is never called",
        "write the whole URL, such as `https://agent.example`";
    ReachDns = "reach.dns"
        "the host's name has addresses",
        "the name is misspelled, not registered, or only known inside another network",
        "correct the name, or add it to DNS";
    ReachTcp = "reach.tcp"
        "the host takes connections",
        "the agent does not run, listens at another port or at 127.0.0.1 alone, or a firewall is in between",
        "start the agent, have it listen at an address that callers reach, and open the port";
    ReachTls = "reach.tls"
        "the host proves by its certificate who it is",
        "the certificate has expired, is for another name, lacks its chain, or its issuer is not known",
        "install a valid certificate with its whole chain";
    ReachHttp = "reach.http"
        "something at the host speaks HTTP",
        "another service listens there, http and https are mixed up, or the server hangs",
        "check port and scheme, and look into the agent's log";
    ReachEncrypted = "reach.encrypted"
        "the agent is reached over https, or on this machine",
        "the agent is served over plain http, so everybody on the way reads messages and credentials",
        "serve the agent over https";

    CardFound = "card.found"
        "there is an agent card at one of the places where clients look",
        "the card is served elsewhere, or a proxy does not pass its path on",
        "serve the card at `/.well-known/agent-card.json`";
    CardPlace = "card.place"
        "the card is at `/.well-known/agent-card.json`",
        "the card is only at a path of an older version or one of its own, where few clients look",
        "serve the card at `/.well-known/agent-card.json` too";
    CardValid = "card.valid"
        "the card can be read",
        "the document is not JSON, or members have the wrong type",
        "serve the card as the A2A specification describes it";
    CardMediaType = "card.media-type"
        "the card comes as `application/json`",
        "the server sends files without their type",
        "send `Content-Type: application/json` with the card";
    CardSize = "card.size"
        "the card has no more than 256 KiB",
        "the card holds what belongs into the documentation or the extended card",
        "shorten the card: clients refuse large ones";
    CardLint = "card.lint"
        "the card breaks no rule of `docs/reference/card-problems.md`",
        "a member is missing, wrong or contradicts another",
        "change the member as the rule says";
    CardInterfaces = "card.interfaces"
        "every interface of the card can be called",
        "the card names a URL, binding or version that clients refuse",
        "correct the interface, or take it off the card";
    CardRoutable = "card.routable"
        "the URLs of the card lead to where callers reach the agent",
        "the card names the address that the agent listens at, `0.0.0.0` or `localhost`, not the one that callers use",
        "set the public URL of the agent";
    CardOrigin = "card.origin"
        "the interfaces are at the origin of the card",
        "the card sends callers elsewhere, where credentials for this origin do not go",
        "serve card and agent at one origin, or tell callers to allow the other one";
    CardHttps = "card.https"
        "the interfaces are reached over https, or on this machine",
        "the card names http URLs, often because the agent does not know of the proxy before it",
        "have the card name https URLs";
    CardVersion = "card.version"
        "every interface says which version of A2A it speaks",
        "`protocolVersion` is missing or unknown; clients then guess 0.3",
        "set `protocolVersion` to `1.0` or `0.3`";
    CardRevalidation = "card.revalidation"
        "the card has an ETag, and who has it already gets 304",
        "the server sends neither `ETag` nor `Last-Modified`, or ignores `If-None-Match`",
        "send an ETag and answer `If-None-Match` with 304";
    CardCaching = "card.caching"
        "the card says how long it may be kept",
        "there is no `Cache-Control`, so clients keep the card too long or ask too often",
        "send `Cache-Control: public, max-age=300` or so";
    CardSignature = "card.signature"
        "the card's signature is that of a trusted key",
        "the card was changed after it was signed, or its key cannot be had",
        "sign the card again, and serve its key";
    CardKeys = "card.keys"
        "the keys of the signatures can be fetched at the card's origin",
        "`jku` leads to another origin, or to no key set",
        "serve a JWKS at the card's origin and name it in `jku`";
    CardSecurity = "card.security"
        "the credentials that the card demands are of a known kind",
        "a requirement names a scheme that is not declared, or is of a kind that no client knows",
        "declare an API key, HTTP, OAuth 2.0, OpenID Connect or mutual TLS scheme";
    CardCredentials = "card.credentials"
        "credentials were given if the card demands some",
        "the agent answers known callers only",
        "give `--bearer` or `--api-key`";
    CardCors = "card.cors"
        "it is said whether pages of other origins can read the card",
        "there is no `Access-Control-Allow-Origin`",
        "send the header if programs in browsers are to call the agent";

    InterfaceAnswers = "interface.answers"
        "the interface answers in the form that the card says",
        "the URL leads to something else, or the agent speaks another binding or version there",
        "correct URL, binding and version on the card, or serve what it says";
    InterfaceVersion = "interface.version"
        "a version that nobody speaks is refused with VersionNotSupported",
        "the `A2A-Version` header is ignored, so callers of other versions are misunderstood",
        "check `A2A-Version` and refuse what is not served with -32009";
    InterfaceSlash = "interface.slash"
        "the URL works with and without a slash at its end",
        "the server takes the two for different paths, and clients add or remove the slash",
        "serve both";
    InterfaceContentType = "interface.content-type"
        "answers come as JSON, and say so",
        "the server sets another `Content-Type`",
        "send `application/json`";
    InterfaceMediaType = "interface.media-type"
        "a request that is not sent as JSON is refused",
        "the server does not look at `Content-Type`, so that any web page can send it requests",
        "refuse bodies that are not `application/json`";
    InterfaceIdString = "interface.id-string"
        "an id that is a string is echoed",
        "the server changes, drops or rewrites the id of a request",
        "echo the id exactly as it came";
    InterfaceIdNumber = "interface.id-number"
        "an id that is a number is echoed",
        "the server turns numbers into strings, or drops them",
        "echo the id exactly as it came";
    InterfaceMethod = "interface.unknown-method"
        "an unknown method is refused with -32601, an unknown path with 404",
        "the server answers every method, or fails over it",
        "refuse unknown methods with -32601";
    InterfaceParse = "interface.parse-error"
        "broken JSON is refused with -32700, or 400 on HTTP+JSON",
        "the server fails before it has read the request, or answers with a page for people",
        "answer broken JSON with -32700";
    InterfaceParams = "interface.invalid-params"
        "missing parameters are refused with -32602, or 400 on HTTP+JSON",
        "parameters are not checked before they are used",
        "check parameters, and refuse bad ones with -32602";
    InterfaceField = "interface.names-field"
        "who sends bad parameters is told which",
        "the error has neither `fieldViolations` nor the name of the field in its message",
        "add a `google.rpc.BadRequest` to the error's data";
    InterfaceBatch = "interface.batch"
        "a batch of requests is refused",
        "the JSON-RPC library answers batches, which A2A does not have",
        "refuse arrays with -32600";
    InterfaceErrorShape = "interface.error-shape"
        "an error has code, message and details as A2A says",
        "the server's framework writes errors in a form of its own",
        "write errors with `code`, `message` and a `data` array (`details` on HTTP+JSON)";
    InterfaceTaskNotFound = "interface.task-not-found"
        "every operation on an unknown task is refused with TaskNotFound",
        "the agent answers with an empty task, or another error",
        "refuse unknown tasks with -32001, or 404 on HTTP+JSON";
    InterfaceUnauthenticated = "interface.unauthenticated"
        "who shows no credentials gets 401 with `WWW-Authenticate` if the card demands some",
        "the card and the server disagree about authentication, or the server refuses without saying how to do better",
        "answer 401 with `WWW-Authenticate`, or take the requirement off the card";

    ConversationAnswer = "conversation.answer"
        "a message is answered with a task or a message",
        "the agent fails over a plain text, needs credentials of its own, or is too slow",
        "look into the agent's log; raise `--timeout` if it only needs longer";
    ConversationTask = "conversation.task"
        "the task has an id, a context, a state and a time",
        "the agent leaves members out that clients rely on",
        "fill in `id`, `contextId`, `status.state` and `status.timestamp`";
    ConversationOutcome = "conversation.outcome"
        "the task did not fail",
        "the agent itself failed, often because a model or tool behind it cannot be reached",
        "look into the agent's log";
    ConversationWaits = "conversation.waits"
        "who does not ask for an immediate answer gets one when the task has ended or needs something",
        "the server answers while the task is still working, so callers poll who did not expect to",
        "wait unless `returnImmediately` is set (`blocking: false` in 0.3)";
    ConversationGet = "conversation.get"
        "the task is found, in the state that was answered",
        "tasks are not kept, or by another process than the one that answers",
        "keep tasks where every process of the agent finds them";
    ConversationHistory = "conversation.history"
        "`historyLength` is honoured",
        "the server always sends the whole history",
        "send at most as many messages as asked for, and none for 0";
    ConversationList = "conversation.list"
        "the list of tasks contains the task",
        "ListTasks is missing, or lists other tasks",
        "serve ListTasks, which A2A 1.0 requires";
    ConversationPage = "conversation.page"
        "a page has no more tasks than asked for",
        "`pageSize` is ignored",
        "honour `pageSize` and give a `nextPageToken`";
    ConversationFinished = "conversation.finished"
        "a message to a task that has ended is refused",
        "the agent starts again, or drops the message without a word",
        "refuse it with UnsupportedOperation; a new task in the same context is the way to go on";
    ConversationUnknown = "conversation.unknown-task"
        "a message to a task that does not exist is refused",
        "the agent makes a task of that name, so that callers write into each other's",
        "refuse it with TaskNotFound";
    ConversationForeign = "conversation.foreign-context"
        "a message that names a task and another context than the task's is refused",
        "the context of the message is not compared with that of the task",
        "refuse it with InvalidParams";
    ConversationContext = "conversation.context"
        "a second message in the same context stays in it",
        "the agent makes a new context for each message, so that it has no memory of the first",
        "keep the `contextId` that the caller sends";

    StreamingWorks = "streaming.works"
        "a message can be followed as the card promises",
        "the card promises streaming that the agent does not have",
        "serve SendStreamingMessage, or set `capabilities.streaming` to false";
    StreamingContentType = "streaming.content-type"
        "a stream comes as `text/event-stream`",
        "the server answers with one document, or a proxy changes the type",
        "send `Content-Type: text/event-stream`";
    StreamingFirst = "streaming.first-event"
        "the first event is the task or a message",
        "the stream begins with an update of a task that the caller does not know yet",
        "send the task first";
    StreamingEvents = "streaming.events"
        "every event can be read",
        "an event is no JSON, or in the form of another version",
        "write events as the version of the interface says";
    StreamingEnds = "streaming.ends"
        "the stream ends with the task: finished, or in need of something",
        "the agent forgets to say that the task has ended, or the connection is cut",
        "send a status update with the final state as the last event";
    StreamingCloses = "streaming.closes"
        "the stream is closed after its last event",
        "the server keeps the connection open, so that clients wait for ever",
        "close the stream after the final state";
    StreamingHeartbeat = "streaming.heartbeat"
        "a silent stream is kept alive",
        "nothing is sent while the agent works, and proxies cut what is silent",
        "send a comment line every 15 seconds or so";
    StreamingIds = "streaming.event-ids"
        "events have ids behind which a stream can be resumed",
        "there are no `id:` lines, so what is sent while a connection is down is lost",
        "number the events";
    StreamingResume = "streaming.resume"
        "a stream is resumed behind `Last-Event-ID` where the card promises that",
        "the header is ignored, or events are not kept",
        "send the events behind the one that is named";
    StreamingFinished = "streaming.finished"
        "following a task that has ended is refused",
        "the server opens a stream on which nothing will ever come",
        "refuse it with UnsupportedOperation";
    StreamingUndeclared = "streaming.undeclared"
        "streaming is refused properly if the card does not promise it",
        "the agent streams and does not say so, or fails over being asked",
        "set `capabilities.streaming`, or refuse with UnsupportedOperation";

    CancelUnknown = "cancel.unknown"
        "cancelling a task that does not exist is refused with TaskNotFound",
        "the agent pretends to cancel whatever it is asked to",
        "refuse it with -32001, or 404 on HTTP+JSON";
    CancelFinished = "cancel.finished"
        "cancelling a task that has ended is refused with TaskNotCancelable",
        "the agent changes the state of tasks that have ended",
        "refuse it with -32002, or 409 on HTTP+JSON";

    PushCreate = "push.create"
        "a webhook can be registered as the card promises",
        "the card promises webhooks that the agent does not have, or the agent cannot reach the Internet",
        "serve the operations, or set `capabilities.pushNotifications` to false";
    PushGet = "push.get"
        "a registered webhook is found",
        "webhooks are not kept",
        "keep them with the task";
    PushList = "push.list"
        "the webhooks of a task are listed",
        "the operation is missing or lists others",
        "serve ListTaskPushNotificationConfigs";
    PushSecrets = "push.secrets"
        "the secrets of a webhook are not shown again",
        "the token or credentials are answered to whoever may read the task",
        "leave them out of answers";
    PushDelete = "push.delete"
        "a webhook can be removed, and is gone then",
        "the operation is missing, or does nothing",
        "serve DeleteTaskPushNotificationConfig";
    PushUndeclared = "push.undeclared"
        "webhooks are refused properly if the card does not promise them",
        "the agent takes webhooks and never calls them, or fails over being asked",
        "refuse with PushNotificationNotSupported";

    ExtendedWorks = "extended-card.works"
        "the extended card can be had as the card promises",
        "the card promises an extended card that the agent does not have",
        "serve GetExtendedAgentCard, or set `capabilities.extendedAgentCard` to false";
    ExtendedUndeclared = "extended-card.undeclared"
        "the extended card is refused properly if the card does not promise one",
        "the agent has one and does not say so, or fails over being asked",
        "refuse with UnsupportedOperation, or set `capabilities.extendedAgentCard`";

    AgreementAnswer = "agreement.answer"
        "every interface answers a message in the same way: task or message, and state",
        "the bindings or versions are served by different code",
        "have one agent behind all interfaces";
    AgreementTask = "agreement.task"
        "a task that was made on one interface is found on every other, in the same state",
        "the interfaces do not share their tasks",
        "have one store of tasks behind all interfaces";

    TimingCard = "timing.card"
        "the card comes within 2 seconds",
        "the server starts first, is far away, or makes the card anew for each caller",
        "serve the card as a file";
    TimingAnswer = "timing.answer"
        "an answer that needs no work begins within 2 seconds",
        "the server is overloaded, or far away",
        "look for what every request waits for";
}

#[cfg(test)]
mod tests {
    use super::Check;

    const PAGE: &str = include_str!("../../../../docs/reference/doctor.md");

    fn row(check: Check) -> String {
        format!("| `{}` | {} | {} | {} |", check.code(), check.tried(), check.cause(), check.fix())
    }

    #[test]
    fn the_reference_page_lists_every_check_and_no_other() {
        let rows: Vec<String> = Check::ALL.iter().copied().map(row).collect();
        let page: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(page, rows);
    }

    #[test]
    fn codes_are_unique_and_grouped() {
        let mut groups = Vec::new();
        for (index, check) in Check::ALL.iter().enumerate() {
            let is_first = !Check::ALL[..index].iter().any(|other| other.code() == check.code());
            assert!(is_first, "{}", check.code());
            if groups.last() != Some(&check.group()) {
                assert!(!groups.contains(&check.group()), "{} is split", check.group());
                groups.push(check.group());
            }
        }
        assert!(Check::ALL.len() >= 40);
    }
}
