//! What A2A 0.3 on gRPC cannot say.

use nuncio_protocol::{
    card::{AgentCard, AgentInterface, OAuthFlows, SecurityScheme},
    message::{Content, Part},
    operation::{Operation, Request, Response, SendMessageConfiguration},
};

use crate::{
    forget,
    losses::{Loss, Said},
    open_json::{BIG_INTEGERS, JSON_SPELLING},
    walk,
};

/// All of it, in the order of the document.
pub(crate) const LOSSES: &[Loss] = &[
    BIG_INTEGERS,
    JSON_SPELLING,
    Loss {
        id: "tenant",
        forget: forget::tenant,
        witness: || {
            let webhook = r#""taskPushNotificationConfig":{"tenant":"b","url":"u"}"#;
            forget::send(&format!(r#""tenant":"a","configuration":{{{webhook}}}"#), "")
        },
    },
    Loss {
        id: "webhook-task",
        forget: forget::webhook_task,
        witness: || wish(r#""taskPushNotificationConfig":{"taskId":"t","url":"u"}"#),
    },
    Loss { id: "no-configuration", forget: wish_nothing, witness: || forget::send("", "") },
    Loss {
        id: "history-length-0",
        forget: forget_length_0,
        witness: || wish(r#""historyLength":0"#),
    },
    Loss {
        id: "cancel-metadata",
        forget: |said| {
            if let Said::Request(Request::CancelTask(request)) = said {
                request.metadata = None;
            }
        },
        witness: || Said::request(Operation::CancelTask, r#"{"id":"t","metadata":{"a":1}}"#),
    },
    Loss {
        id: "reference-task-ids",
        forget: |said| {
            for message in walk::messages(said) {
                message.reference_task_ids.clear();
            }
        },
        witness: || message(r#""parts":[],"referenceTaskIds":["t"]"#),
    },
    Loss {
        id: "text-media-type",
        forget: forget::part_names,
        witness: || {
            let file = r#""filename":"f","mediaType":"m""#;
            message(&format!(r#""parts":[{{"text":"x",{file}}},{{"data":{{}},{file}}}]"#))
        },
    },
    Loss {
        id: "data-part-compat",
        forget: |said| walk::each_part(said, forget_mark),
        witness: || {
            let marked = r#"{"data":{"value":1},"metadata":{"data_part_compat":true}}"#;
            let own = r#"{"data":2,"metadata":{"data_part_compat":"mine","a":3}}"#;
            message(&format!(r#""parts":[{marked},{own}]"#))
        },
    },
    Loss {
        id: "empty-data-metadata",
        forget: |said| walk::each_part(said, forget_empty_metadata_of_values),
        witness: || part(r#"{"data":[],"metadata":{}}"#),
    },
    Loss {
        id: "card-versions",
        forget: forget_other_versions,
        witness: || interfaces(&[("u", "1.0"), ("u", "0.3"), ("u", "0.2")]),
    },
    Loss {
        id: "card-version-0-3",
        forget: |said| each_interface(said, |each| each.protocol_version = "0.3".into()),
        witness: || interfaces(&[("u", "0.3.0"), ("v", "")]),
    },
    Loss {
        id: "card-tenant",
        forget: |said| each_interface(said, |each| each.tenant = None),
        witness: || {
            card(
                r#""supportedInterfaces":[{"url":"u","protocolBinding":"GRPC","tenant":"a","protocolVersion":"0.3"}]"#,
            )
        },
    },
    Loss {
        id: "card-no-url",
        forget: forget_interfaces_without_url,
        witness: || interfaces(&[("", "0.3"), ("u", "0.3"), ("", "0.3")]),
    },
    Loss {
        id: "card-no-binding",
        forget: |said| each_interface(said, assume_json_rpc),
        witness: || card(r#""supportedInterfaces":[{"url":"u","protocolVersion":"0.3"}]"#),
    },
    Loss {
        id: "card-repeated-interface",
        forget: forget_repeated_interfaces,
        witness: || interfaces(&[("u", "0.3"), ("v", "0.3"), ("u", "0.3"), ("v", "0.3")]),
    },
    Loss {
        id: "card-missing-capabilities",
        forget: forget_missing_capabilities,
        witness: || {
            reachable_card(
                r#""capabilities":{"streaming":false,"pushNotifications":false,"extendedAgentCard":false}"#,
            )
        },
    },
    Loss {
        id: "card-empty-url",
        forget: forget_empty_urls,
        witness: || reachable_card(r#""documentationUrl":"","iconUrl":"""#),
    },
    Loss {
        id: "card-pkce",
        forget: forget_pkce,
        witness: || scheme(r#"{"authorizationCode":{"pkceRequired":true}}"#),
    },
    Loss {
        id: "card-device-code",
        forget: forget_device_codes,
        witness: || scheme(r#"{"deviceCode":{}}"#),
    },
    Loss {
        id: "card-signatures",
        forget: |said| {
            if let Some(card) = card_of(said) {
                card.signatures.clear();
            }
        },
        witness: || reachable_card(r#""signatures":[{"protected":"p","signature":"s"}]"#),
    },
];

/// A request to send a message, with these wishes.
fn wish(wishes: &str) -> Said {
    forget::send(&format!(r#""configuration":{{{wishes}}}"#), "")
}

/// A message on a stream, with these members more.
fn message(members: &str) -> Said {
    Said::event(&format!(r#"{{"message":{{"messageId":"m","role":2,{members}}}}}"#))
}

/// A message of one part.
fn part(part: &str) -> Said {
    message(&format!(r#""parts":[{part}]"#))
}

/// A card with these members more.
fn card(members: &str) -> Said {
    Said::response(Operation::GetExtendedAgentCard, &format!(r#"{{"name":"n",{members}}}"#))
}

/// A card with interfaces of these URLs and versions.
fn interfaces(interfaces: &[(&str, &str)]) -> Said {
    let interfaces: Vec<String> = interfaces.iter().map(interface).collect();
    card(&format!(r#""supportedInterfaces":[{}]"#, interfaces.join(",")))
}

fn interface((url, version): &(&str, &str)) -> String {
    format!(r#"{{"url":"{url}","protocolBinding":"GRPC","protocolVersion":"{version}"}}"#)
}

/// A card that speaks 0.3, with these members more.
fn reachable_card(members: &str) -> Said {
    card(&format!(r#""supportedInterfaces":[{}],{members}"#, interface(&("u", "0.3"))))
}

/// A card with one OAuth scheme.
fn scheme(flows: &str) -> Said {
    reachable_card(&format!(
        r#""securitySchemes":{{"s":{{"oauth2SecurityScheme":{{"flows":{flows}}}}}}}"#
    ))
}

fn wishes(said: &mut Said) -> Option<&mut SendMessageConfiguration> {
    walk::send(said)?.configuration.as_mut()
}

fn wish_nothing(said: &mut Said) {
    if let Some(send) = walk::send(said) {
        send.configuration.get_or_insert_default();
    }
}

fn forget_length_0(said: &mut Said) {
    let length = match said {
        Said::Request(Request::GetTask(request)) => Some(&mut request.history_length),
        said => wishes(said).map(|wishes| &mut wishes.history_length),
    };
    if let Some(length) = length {
        length.take_if(|length| *length == 0);
    }
}

/// Data that was marked as wrapped is unwrapped, and the mark of any other is overwritten.
fn forget_mark(part: &mut Part) {
    const MARK: &str = "data_part_compat";
    let (Content::Data(data), Some(metadata)) = (&mut part.content, &part.metadata) else { return };
    let Some(mark) = metadata.get(MARK) else { return };
    if let Some(object) = data.as_object() {
        match object.members().as_slice() {
            [(key, value)] if key == "value" && mark.as_str() == "true" => *data = value.clone(),
            _ => return,
        }
    }
    part.metadata = Some(metadata.without(MARK)).filter(|metadata| !metadata.is_empty());
}

fn forget_empty_metadata_of_values(part: &mut Part) {
    if part.as_data().is_some_and(|data| data.as_object().is_none()) {
        part.metadata.take_if(|metadata| metadata.is_empty());
    }
}

fn card_of(said: &mut Said) -> Option<&mut AgentCard> {
    match said {
        Said::Response(_, Response::Card(card)) => Some(card),
        _ => None,
    }
}

fn each_interface(said: &mut Said, change: fn(&mut AgentInterface)) {
    if let Some(card) = card_of(said) {
        card.supported_interfaces.iter_mut().for_each(change);
    }
}

fn forget_other_versions(said: &mut Said) {
    if let Some(card) = card_of(said) {
        card.supported_interfaces.retain(speaks_v03);
    }
}

/// Tells whether an interface is declared with a version of 0.3, or with none.
pub(crate) fn speaks_v03(interface: &AgentInterface) -> bool {
    ["", "0.3", "0.3.0"].contains(&interface.protocol_version.as_str())
}

fn forget_interfaces_without_url(said: &mut Said) {
    if let Some(card) = card_of(said) {
        card.supported_interfaces.retain(|interface| !interface.url.is_empty());
    }
}

fn assume_json_rpc(interface: &mut AgentInterface) {
    if interface.protocol_binding.is_empty() {
        interface.protocol_binding = "JSONRPC".into();
    }
}

fn forget_repeated_interfaces(said: &mut Said) {
    if let Some(AgentCard { supported_interfaces, .. }) = card_of(said)
        && let Some(first) = supported_interfaces.first().cloned()
    {
        supported_interfaces.retain(|interface| *interface != first);
        supported_interfaces.insert(0, first);
    }
}

fn forget_missing_capabilities(said: &mut Said) {
    if let Some(AgentCard { capabilities, .. }) = card_of(said) {
        for flag in [
            &mut capabilities.streaming,
            &mut capabilities.push_notifications,
            &mut capabilities.extended_agent_card,
        ] {
            flag.take_if(|flag| !*flag);
        }
    }
}

fn forget_empty_urls(said: &mut Said) {
    if let Some(card) = card_of(said) {
        for url in [&mut card.documentation_url, &mut card.icon_url] {
            url.take_if(|url| url.is_empty());
        }
    }
}

fn forget_pkce(said: &mut Said) {
    let Some(card) = card_of(said) else { return };
    for scheme in card.security_schemes.values_mut() {
        if let SecurityScheme::OAuth2(scheme) = scheme
            && let OAuthFlows::AuthorizationCode(flow) = &mut scheme.flows
        {
            flow.pkce_required = false;
        }
    }
}

fn forget_device_codes(said: &mut Said) {
    let Some(card) = card_of(said) else { return };
    card.security_schemes.retain(|_, scheme| match scheme {
        SecurityScheme::OAuth2(scheme) => !matches!(scheme.flows, OAuthFlows::DeviceCode(_)),
        _ => true,
    });
}
