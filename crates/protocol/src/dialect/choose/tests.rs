use super::*;

const ALL: Offered = Offered {
    legacy: Some(Legacy::V03),
    molecule: true,
    opportunity: true,
    upal: true,
    pocketpaw: true,
    lenient: false,
    only_legacy: false,
};
const ONLY_V1: Offered = Offered {
    legacy: None,
    molecule: false,
    opportunity: false,
    upal: false,
    pocketpaw: false,
    lenient: false,
    only_legacy: false,
};
const ONLY_V03: Offered = Offered { legacy: Some(Legacy::V03), only_legacy: true, ..ONLY_V1 };

fn post<'a>(path: &'a str, version: Option<&'a str>, body: &'a str) -> Incoming<'a> {
    Incoming { method: "POST", path, version, body: body.as_bytes(), ..Incoming::default() }
}

fn get<'a>(path: &'a str, version: Option<&'a str>) -> Incoming<'a> {
    Incoming { method: "GET", path, version, ..Incoming::default() }
}

fn call(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{}}}}"#)
}

#[track_caller]
fn check(incoming: &Incoming<'_>, offered: Offered, expected: WireForm) {
    assert_eq!(choose(incoming, offered), Ok(expected), "{incoming:?}");
}

#[track_caller]
fn refused(incoming: &Incoming<'_>, offered: Offered, form: WireForm, kind: ErrorKind) {
    let refused = choose(incoming, offered).expect_err("the request must be refused");
    assert_eq!((refused.form, refused.error.kind()), (form, kind), "{incoming:?}");
}

#[test]
fn paths_of_a_dialect_decide_first() {
    let body = call("SendMessage");
    check(&post("/a2a/tasks/send", Some("1.0"), "{}"), ALL, WireForm::PocketPawHttp);
    check(&get("/a2a/tasks/t1", None), ALL, WireForm::PocketPawHttp);
    check(&post("/a2a/nodes/research", None, &body), ALL, WireForm::Upal);
    check(&post("/workspaces/w1/a2a", None, &body), ALL, WireForm::Molecule);
    check(&get("/tasks/t1", None), ALL, WireForm::MoleculeHttp);
    check(&get("/tasks/t1", Some("1.0")), ALL, WireForm::V1Http);
}

#[test]
fn a_dialect_that_is_off_is_not_there() {
    for path in ["/a2a/tasks/send", "/a2a/nodes/research", "/workspaces/w1/a2a"] {
        refused(&post(path, None, "{}"), ONLY_V1, WireForm::V1Http, ErrorKind::MethodNotFound);
    }
    // Whoever serves documents shows them before it asks for the form of a call.
    for path in ["/a2a/capabilities", "/a2a/health", "/a2a/agent-card", "/a2a/nodes/n/agent-card"] {
        for offered in [ONLY_V1, ALL] {
            refused(&get(path, None), offered, WireForm::V1Http, ErrorKind::MethodNotFound);
        }
    }
    let upal = call("a2a.sendMessage");
    check(&post("/", None, &upal), Offered { upal: false, ..ALL }, WireForm::V03);
}

#[test]
fn the_version_decides_before_the_body() {
    let body = call("SendMessage");
    for path in ["", "/", "/a2a", "/a2a/"] {
        check(&post(path, Some("1.0"), &body), ALL, WireForm::V1);
        check(&post(path, Some("1.0.1"), &body), ONLY_V1, WireForm::V1);
    }
    check(&post("/", Some("0.3"), &call("message/send")), ALL, WireForm::V03);
    refused(&post("/", Some("99.0"), &body), ALL, WireForm::V1, ErrorKind::VersionNotSupported);
    refused(&post("/", Some("0.3"), &body), ONLY_V1, WireForm::V1, ErrorKind::VersionNotSupported);
}

#[test]
fn a_method_of_another_version_than_the_header_is_refused_in_the_headers_form() {
    let v1 = call("SendMessage");
    let v03 = call("message/send");
    let kind = ErrorKind::VersionNotSupported;
    refused(&post("/", Some("1.0"), &v03), ALL, WireForm::V1, kind);
    refused(&post("/", Some("0.3"), &v1), ALL, WireForm::V03, kind);
}

#[test]
fn an_unknown_method_is_left_to_the_form_that_the_header_implies() {
    for method in ["nonsense", "foo/bar", "Nope", "tasks/list", "message.send"] {
        check(&post("/", Some("1.0"), &call(method)), ALL, WireForm::V1);
        check(&post("/", Some("0.3"), &call(method)), ALL, WireForm::V03);
        check(&post("/", None, &call(method)), ALL, WireForm::V03);
        check(&post("/", None, &call(method)), Offered { lenient: true, ..ALL }, WireForm::V03);
        check(&post("/", Some("1.0"), &call(method)), ONLY_V1, WireForm::V1);
        let lenient = Offered { lenient: true, ..ONLY_V1 };
        check(&post("/", None, &call(method)), lenient, WireForm::V1);
        let kind = ErrorKind::VersionNotSupported;
        refused(&post("/", None, &call(method)), ONLY_V1, WireForm::V1, kind);
    }
}

#[test]
fn a_contradicted_version_is_answered_with_those_that_are_spoken() {
    let body = call("message/send");
    let v1 = "/lf.a2a.v1.A2AService/GetTask";
    for incoming in [post("/", Some("1.0"), &body), post(v1, Some("0.3"), "")] {
        let error = choose(&incoming, ALL).expect_err("the versions differ").error;
        assert_eq!(error.metadata()["supportedVersions"], "1.0,0.3", "{incoming:?}");
    }
}

#[test]
fn without_version_the_body_decides() {
    check(&post("/", None, &call("message/send")), ALL, WireForm::V03);
    check(&post("/", Some(""), &call("message/send")), ALL, WireForm::V03);
    check(&post("/", None, &call("a2a.sendMessage")), ALL, WireForm::Upal);
    check(&post("/a2a", None, r#"{"capability":"x","payload":{}}"#), ALL, WireForm::Opportunity);
    let backwards = r#"{"params":{"method":"GetTask"},"method":"tasks/get","jsonrpc":"2.0"}"#;
    check(&post("/", None, backwards), ALL, WireForm::V03);
}

#[test]
fn slash_methods_get_the_configured_writer_never_a_guessed_one() {
    for (legacy, form) in [
        (Legacy::V03, WireForm::V03),
        (Legacy::Molecule, WireForm::Molecule),
        (Legacy::Harbor, WireForm::Harbor),
        (Legacy::PocketPaw, WireForm::PocketPaw),
    ] {
        let offered = Offered { legacy: Some(legacy), ..ALL };
        check(&post("/", None, &call("message/send")), offered, form);
        check(&post("/", Some("0.3"), &call("tasks/get")), offered, form);
    }
}

#[test]
fn a_1_0_call_without_version_is_refused_unless_we_are_lenient() {
    let kind = ErrorKind::VersionNotSupported;
    let body = call("SendMessage");
    for offered in [ALL, ONLY_V1] {
        refused(&post("/", None, &body), offered, WireForm::V1, kind);
        check(&post("/", None, &body), Offered { lenient: true, ..offered }, WireForm::V1);
        refused(&post("/message:send", None, "{}"), offered, WireForm::V1Http, kind);
        let lenient = Offered { lenient: true, ..offered };
        check(&post("/message:send", None, "{}"), lenient, WireForm::V1Http);
    }
}

#[test]
fn paths_below_v1_are_of_0_3_unless_the_version_says_otherwise() {
    for path in ["/v1/message:send", "/v1/tasks/t1:cancel", "/v1/card"] {
        check(&post(path, None, "{}"), ALL, WireForm::V03Http);
        check(&post(path, Some("0.3"), "{}"), ALL, WireForm::V03Http);
        check(&post(path, Some("1.0"), "{}"), ALL, WireForm::V1Http);
        let kind = ErrorKind::VersionNotSupported;
        refused(&post(path, None, "{}"), ONLY_V1, WireForm::V1Http, kind);
    }
}

#[test]
fn grpc_names_its_version_in_the_path() {
    let v1 = "/lf.a2a.v1.A2AService/GetTask";
    let v03 = "/a2a.v1.A2AService/GetTask";
    let kind = ErrorKind::VersionNotSupported;
    check(&post(v1, None, ""), ALL, WireForm::V1Grpc);
    check(&post(v1, Some("1.0"), ""), ALL, WireForm::V1Grpc);
    check(&post(v03, Some("0.3"), ""), ALL, WireForm::V03Grpc);
    check(&post(v03, None, ""), ALL, WireForm::V03Grpc);
    refused(&post(v1, Some("0.3"), ""), ALL, WireForm::V1Grpc, kind);
    refused(&post(v03, Some("1.0"), ""), ALL, WireForm::V03Grpc, kind);
    refused(&post(v03, None, ""), ONLY_V1, WireForm::V03Grpc, kind);
}

#[test]
fn an_unreadable_body_gets_the_form_that_the_version_implies() {
    for body in ["", "{", "[]", "7", r#"{"method":7}"#] {
        check(&post("/", Some("1.0"), body), ALL, WireForm::V1);
        check(&post("/", None, body), ALL, WireForm::V03);
        check(&post("/", None, body), ONLY_V1, WireForm::V1);
        let opportunity = Incoming { capability_version: Some("1.0"), ..post("/", None, body) };
        check(&opportunity, ALL, WireForm::Opportunity);
    }
}

#[test]
fn an_agent_from_before_1_0_knows_neither_its_methods_nor_versions() {
    for version in [None, Some("1.0"), Some("99.0")] {
        check(&post("/", version, &call("message/send")), ONLY_V03, WireForm::V03);
        // Its reader says that there is no such method.
        check(&post("/", version, &call("SendMessage")), ONLY_V03, WireForm::V03);
        check(&post("/v1/message:send", version, "{}"), ONLY_V03, WireForm::V03Http);
        check(&post("/a2a.v1.A2AService/GetTask", version, ""), ONLY_V03, WireForm::V03Grpc);
        for path in ["/message:send", "/lf.a2a.v1.A2AService/GetTask"] {
            let kind = ErrorKind::MethodNotFound;
            refused(&post(path, version, "{}"), ONLY_V03, WireForm::V03Http, kind);
        }
    }
}
