//! The rules, one line each: the code, its cause and its remedy.

use super::Severity;

macro_rules! rules {
    ($($rule:ident = $severity:ident $code:literal $cause:literal, $fix:literal;)*) => {
        /// A rule a card can break. `docs/reference/card-problems.md` lists them all.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $cause] $rule,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$rule),*];

            /// Returns the stable name, `no-interface`.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$rule => $code,)* }
            }

            /// Returns how bad it is to break the rule.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$rule => Severity::$severity,)* }
            }

            /// Returns what breaks the rule.
            pub const fn cause(self) -> &'static str {
                match self { $(Self::$rule => $cause,)* }
            }

            /// Returns how to mend it.
            pub const fn fix(self) -> &'static str {
                match self { $(Self::$rule => $fix,)* }
            }
        }
    };
}

rules! {
    CardTooLarge = Error "card-too-large"
        "The card has more than 1 MiB.",
        "move long texts to the documentation and large lists to the extended card";
    LegacyForm = Warning "legacy-form"
        "The card has the form of an older version or of a dialect.",
        "serve a card of A2A 1.0, or one that carries both forms";

    NoName = Error "no-name"
        "The agent has no name.",
        "set `name` to what people call the agent";
    NoDescription = Error "no-description"
        "The agent has no description.",
        "set `description` to one or two sentences about what the agent does";
    NoVersion = Error "no-version"
        "The agent has no version of its own.",
        "set `version`, for instance to `1.0.0`";
    NoInputModes = Error "no-input-modes"
        "The card does not say which media types the agent understands.",
        "set `defaultInputModes`, for instance to `[\"text/plain\"]`";
    NoOutputModes = Error "no-output-modes"
        "The card does not say which media types the agent answers with.",
        "set `defaultOutputModes`, for instance to `[\"text/plain\"]`";
    BadMediaType = Error "bad-media-type"
        "A mode is not a media type.",
        "write `type/subtype`, such as `text/plain` or `application/json`";
    IncompleteProvider = Error "incomplete-provider"
        "The provider lacks its organization or its URL.",
        "set both `provider.organization` and `provider.url`, or leave the provider out";
    BadLink = Error "bad-link"
        "A link for people is not an absolute http or https URL.",
        "write the whole URL, starting with `https://`";
    TextTooLong = Error "text-too-long"
        "A description has more than 2,048 characters.",
        "shorten it and link to the rest with `documentationUrl`";
    ControlCharacter = Error "control-character"
        "A text for people contains a control character.",
        "remove the character";
    BidiCharacter = Error "bidi-character"
        "A text for people contains a character that changes the reading direction.",
        "remove the character: it can make a text look like another";
    HiddenCharacter = Error "hidden-character"
        "A text for people contains a character nobody sees.",
        "remove the character: it can make a name look like another, or hide instructions";

    NoInterface = Error "no-interface"
        "The card names no interface, so the agent cannot be reached.",
        "add an entry to `supportedInterfaces` with `url`, `protocolBinding` and `protocolVersion`";
    BadUrl = Error "bad-url"
        "The URL of an interface is not absolute.",
        "write the whole URL, such as `https://agent.example/a2a`";
    NotHttps = Error "not-https"
        "An interface is reached without encryption beyond the own machine.",
        "serve the interface over https";
    UrlCredentials = Error "url-credentials"
        "A URL contains a user name or password.",
        "remove it and declare a security scheme instead";
    UnspecifiedAddress = Error "unspecified-address"
        "The URL of an interface names the address to listen on, not one to call.",
        "name the host under which clients reach the agent";
    GrpcScheme = Warning "grpc-scheme"
        "The URL of a gRPC interface has a scheme; not every client takes that.",
        "write `host:port` alone";
    BadGrpcTarget = Error "bad-grpc-target"
        "The URL of a gRPC interface is not `host:port`.",
        "write the host and the port, such as `agent.example:443`";
    NoBinding = Error "no-binding"
        "An interface does not say which binding it speaks.",
        "set `protocolBinding` to `JSONRPC`, `HTTP+JSON`, `GRPC` or a URI";
    BindingSpelling = Warning "binding-spelling"
        "A binding is spelled in a way few clients understand.",
        "write `JSONRPC`, `HTTP+JSON` or `GRPC`";
    UnknownBinding = Error "unknown-binding"
        "A binding is neither one of A2A's nor a URI.",
        "write `JSONRPC`, `HTTP+JSON` or `GRPC`, or name your own binding by a URI";
    BadProtocolVersion = Error "bad-protocol-version"
        "An interface does not say which version of A2A it speaks, or not as a version.",
        "set `protocolVersion` to `1.0` or `0.3`";
    PatchVersion = Warning "patch-version"
        "The version of an interface has a patch number; some clients compare it letter by letter.",
        "write `1.0`, not `1.0.0`";
    DuplicateInterface = Warning "duplicate-interface"
        "Two interfaces are the same.",
        "remove one of them";
    ReservedTenant = Warning "reserved-tenant"
        "A tenant is named like a path of A2A, so that its URLs mean something else.",
        "rename the tenant";

    StreamingContradiction = Warning "streaming-contradiction"
        "The card lists `text/event-stream` as a mode but does not promise streaming.",
        "set `capabilities.streaming` to true, or remove the mode: streams are no media type of answers";
    ExtendedCardContradiction = Warning "extended-card-contradiction"
        "The card promises an extended card but no way to authenticate for it.",
        "declare a security scheme, or set `capabilities.extendedAgentCard` to false";
    NoExtensionUri = Error "no-extension-uri"
        "An extension has no URI.",
        "set `uri` to the name of the extension, its version included";
    BadExtensionUri = Error "bad-extension-uri"
        "An extension is not named by an absolute URI.",
        "write the whole URI, such as `https://example.org/extensions/x/v1`";
    DuplicateExtension = Warning "duplicate-extension"
        "Two extensions have the same URI.",
        "merge the two entries";

    NoSkills = Warning "no-skills"
        "The card lists no skill, so nobody finds the agent by what it can do.",
        "add an entry to `skills`";
    TooManySkills = Error "too-many-skills"
        "The card lists more than 500 skills.",
        "group skills, or move the rare ones to the extended card";
    NoSkillId = Error "no-skill-id"
        "A skill has no identifier.",
        "set `id` to a short name that does not change";
    NoSkillName = Error "no-skill-name"
        "A skill has no name.",
        "set `name` to what people call the skill";
    NoSkillDescription = Error "no-skill-description"
        "A skill has no description.",
        "set `description` to what the skill does and when to use it";
    NoSkillTags = Error "no-skill-tags"
        "A skill has no tags.",
        "set `tags` to a few words people would search for";
    DuplicateSkillId = Error "duplicate-skill-id"
        "Two skills have the same identifier.",
        "give each skill an identifier of its own";

    UndeclaredScheme = Error "undeclared-scheme"
        "A requirement names a security scheme that is not declared, so nobody can meet it.",
        "declare the scheme in `securitySchemes`, or correct the name";
    UnusedScheme = Warning "unused-scheme"
        "A security scheme is declared but asked for nowhere.",
        "name it in `securityRequirements`, or remove it";
    EmptyRequirement = Warning "empty-requirement"
        "A requirement asks for nothing, which makes authentication optional.",
        "remove it unless callers without credentials are welcome";
    UndeclaredScope = Warning "undeclared-scope"
        "A requirement asks for a scope that the OAuth flow does not list.",
        "add the scope to `scopes` of the flow, or correct the name";
    BadApiKeyLocation = Error "bad-api-key-location"
        "An API key is neither in the header, the query nor a cookie.",
        "set `location` to `header`, `query` or `cookie`";
    NoApiKeyName = Error "no-api-key-name"
        "An API key scheme does not say the name of the header, parameter or cookie.",
        "set `name`, for instance to `X-API-Key`";
    NoHttpScheme = Error "no-http-scheme"
        "An HTTP security scheme does not say which.",
        "set `scheme`, for instance to `Bearer`";
    NoAuthUrl = Error "no-auth-url"
        "A security scheme lacks a URL it cannot work without.",
        "set the URL";
    AuthUrlNotHttps = Error "auth-url-not-https"
        "A URL to which credentials go is not an https URL.",
        "serve it over https and write the whole URL";
    DeprecatedFlow = Warning "deprecated-flow"
        "An OAuth flow is deprecated because it leaks tokens or passwords.",
        "use `authorizationCode` with PKCE, `clientCredentials` or `deviceCode`";

    MalformedSignature = Error "malformed-signature"
        "A signature cannot be read: its header or its value is not as RFC 7515 says.",
        "sign the card again";
    WeakSignature = Error "weak-signature"
        "A signature uses an algorithm that proves nothing to the public: none, or a shared secret.",
        "sign with ES256, EdDSA or RS256";
    TooManySignatures = Error "too-many-signatures"
        "The card carries more than 16 signatures.",
        "remove the signatures of retired keys";
}
