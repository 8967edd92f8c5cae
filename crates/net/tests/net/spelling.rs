//! How a URL may be written (A-SSRF, T-13).

use nuncio_net::{CheckedUrl, Code, Errand, Guard, Policy, Purpose, Refused, Trust};

use proptest::prelude::*;

use crate::support::{ADMINISTRATOR, CALLER};

#[track_caller]
fn check(text: &str, expected: Result<&str, Code>) {
    let judged = Guard::new(Policy::default()).check_url(text, CALLER);
    let judged = judged.as_ref().map(CheckedUrl::as_str).map_err(Refused::code);
    assert_eq!(judged, expected, "{text}");
}

#[test]
fn loopback_is_refused_in_every_spelling() {
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x7F.0.0.0x1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "127.1.",
        "１２７.０.０.１",
        "127。0。0。1",
        "①②⑦.0.0.1",
        "%31%32%37.0.0.1",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "a.b.localhost.",
        "ｌｏｃａｌｈｏｓｔ",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:5db8:d822::80ff:fffe]",
        "[2001:0:7f00:1::a247:27dd]",
        "[2606:4700::5efe:7f00:1]",
    ] {
        check(&format!("https://{host}/"), Err(Code::AddressNotPublic));
        check(&format!("https://{host}:8443/x?y"), Err(Code::AddressNotPublic));
    }
}

#[test]
fn metadata_is_refused_in_every_spelling() {
    for host in [
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "[fd00:ec2::254]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "[fe80::a9fe:a9fe]",
    ] {
        check(&format!("https://{host}/latest/meta-data/"), Err(Code::AddressMetadata));
    }
}

#[test]
fn other_schemes_are_refused() {
    for text in [
        "ftp://agent.example/",
        "file:///etc/passwd",
        "gopher://agent.example/",
        "data:,x",
        "ws://agent.example/",
        "wss://agent.example/",
        "javascript:alert(1)",
        "blob:https://a/b",
        "unix:///var/run/x.sock",
        "mailto:a@agent.example",
    ] {
        check(text, Err(Code::UrlScheme));
    }
}

#[test]
fn credentials_are_refused_and_never_repeated() {
    for text in [
        "https://alice:hunter2@agent.example/",
        "https://alice@agent.example/",
        "https://:hunter2@agent.example/",
        "https://@agent.example/",
        "https://:@agent.example/",
        "https://agent.example@127.0.0.1/",
        "https://alice:hunter2@127.0.0.1/",
    ] {
        check(text, Err(Code::UrlCredentials));
    }
    for text in
        ["alice:hunter2@agent.example", "https://alice:hunter2@[::1", "https://alice:hunter2"]
    {
        let refused = Guard::new(Policy::default()).check_url(text, CALLER).unwrap_err();
        let shown = format!("{refused} {refused:?}");
        assert!(!shown.contains("hunter2") && !shown.contains("alice"), "{shown}");
    }
}

#[test]
fn what_parsers_read_differently_is_refused() {
    for text in [
        " https://agent.example/",
        "https://agent.example/ ",
        "https://agent.example\t/",
        "https://agent\n.example/",
        "ht\ntps://agent.example/",
        "https://agent.example\\@127.0.0.1/",
        "https:\\\\agent.example/",
        "https:/agent.example/",
        "https:agent.example",
        "https:///agent.example/",
        "https:////agent.example/",
        "https://agent.example/\u{0}",
        "https://agent.example/a\u{a0}b",
        "https://agent.example/\u{2028}",
    ] {
        check(text, Err(Code::UrlAmbiguous));
    }
}

#[test]
fn fragments_are_refused() {
    for text in [
        "https://agent.example/#",
        "https://agent.example#@127.0.0.1/",
        "https://agent.example/a#b",
    ] {
        check(text, Err(Code::UrlFragment));
    }
}

#[test]
fn a_port_is_a_number_from_1_to_65535() {
    check("https://agent.example:0/", Err(Code::UrlPort));
    check("https://agent.example:65536/", Err(Code::UrlUnparsable));
    check("https://agent.example:-1/", Err(Code::UrlUnparsable));
    check("https://agent.example:80a/", Err(Code::UrlUnparsable));
    check("https://agent.example:1/", Ok("https://agent.example:1/"));
    check("https://agent.example:65535/", Ok("https://agent.example:65535/"));
    check("https://agent.example:443/", Ok("https://agent.example/"));
    check("https://agent.example:/", Ok("https://agent.example/"));
}

#[test]
fn a_host_is_a_name_that_dns_can_hold_or_an_address() {
    let long = format!("https://{}.example/", "a".repeat(64));
    let longer = format!("https://{}example/", "abcdefgh.".repeat(28));
    for text in [
        "https://a..example/",
        "https://.example/",
        "https://agent.example../",
        "https://*.example/",
        "https://a!b.example/",
        "https://a,b.example/",
        "https://a;b/",
        &long,
        &longer,
    ] {
        let refused = Guard::new(Policy::default()).check_url(text, CALLER).unwrap_err();
        assert!(matches!(refused.code(), Code::UrlHost | Code::UrlUnparsable), "{text}: {refused}");
    }
    for text in [
        "https://",
        "https:///",
        "https://?x",
        "https://1.2.3.4.5/",
        "https://256.0.0.1/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://[fe80::1%eth0]/",
        "https://[::1]x/",
        "https://a b.example/",
        "https://a%00b.example/",
        "https://0x7g.1/",
        "agent.example",
        "",
        "//agent.example/",
        "/path",
    ] {
        let judged = Guard::new(Policy::default()).check_url(text, CALLER);
        assert!(judged.is_err(), "{text}: {judged:?}");
    }
}

#[test]
fn a_long_url_is_refused() {
    let path = |length: usize| format!("https://agent.example/{}", "a".repeat(length - 22));
    check(&path(8192), Ok(&path(8192)));
    check(&path(8193), Err(Code::UrlTooLong));
}

#[test]
fn public_urls_pass_in_one_spelling() {
    check("https://Agent.Example", Ok("https://agent.example/"));
    check("HTTPS://agent.example/", Ok("https://agent.example/"));
    check("https://agent.example./a", Ok("https://agent.example/a"));
    check("https://bücher.example/ü?q=ü", Ok("https://xn--bcher-kva.example/%C3%BC?q=%C3%BC"));
    check("https://agent.example/a/../b", Ok("https://agent.example/b"));
    check("https://agent_1.example/", Ok("https://agent_1.example/"));
    check("https://localhost.example/", Ok("https://localhost.example/"));
    check("https://mylocalhost/", Ok("https://mylocalhost/"));
    check("https://134744072/", Ok("https://8.8.8.8/"));
    check("https://[2606:4700:0::1111]/", Ok("https://[2606:4700::1111]/"));
    check(
        "https://agent.example/a?user=a@b&x={y}|[z]",
        Ok("https://agent.example/a?user=a@b&x={y}|[z]"),
    );
}

#[test]
fn http_passes_only_where_it_is_allowed() {
    let guard = Guard::new(Policy::default().allow_http(Errand::administrator(Purpose::Agent)));
    for errand in Errand::all() {
        let judged = guard.check_url("http://agent.example/", errand).map_err(|error| error.code());
        let is_allowed = errand.purpose == Purpose::Agent && errand.trust == Trust::Administrator;
        assert_eq!(judged.is_ok(), is_allowed, "{errand:?}");
        if let Err(code) = judged {
            assert_eq!(code, Code::UrlPlainHttp);
        }
    }
}

#[test]
fn loopback_opens_to_callers_only_by_the_dangerous_switch() {
    let closed = Policy::default().open(Purpose::Webhook, "127.0.0.0/8".parse().unwrap());
    let open = Policy::default().dangerously_open_loopback_to_callers();
    let check = |policy: &Policy, text: &str, errand, expected: Option<Code>| {
        let judged = Guard::new(policy.clone()).check_url(text, errand);
        assert_eq!(judged.err().map(|refused| refused.code()), expected, "{text} {errand:?}");
    };
    for text in ["https://127.0.0.1/", "https://localhost:9000/"] {
        check(&closed, text, CALLER, Some(Code::AddressNotPublic));
        check(&closed, text, ADMINISTRATOR, None);
        check(&open, text, CALLER, None);
    }
    for text in
        ["http://localhost:9000/", "http://127.0.0.1/", "http://[::1]/", "http://a.localhost/"]
    {
        check(&closed, text, ADMINISTRATOR, Some(Code::UrlPlainHttp));
        check(&open, text, CALLER, None);
    }
    check(&open, "http://agent.example/", CALLER, Some(Code::UrlPlainHttp));
    check(&open, "https://10.0.0.1/", CALLER, Some(Code::AddressNotPublic));
    check(&open, "https://0.0.0.0/", CALLER, Some(Code::AddressNotPublic));
}

#[test]
fn a_checked_url_does_not_show_its_secrets() {
    let guard = Guard::new(Policy::default());
    let url = guard.check_url("https://agent.example/hook/s3cret?token=s3cret", CALLER).unwrap();
    let shown = format!("{url:?} {:?}", nuncio_net::Request::get(&url));
    assert!(shown.contains("agent.example") && !shown.contains("s3cret"), "{shown}");
}

proptest! {
    #[test]
    fn any_text_is_judged_and_a_checked_url_stays_as_it_is(
        text in "(https?:(//)?)?(\\PC*|[a-z0-9.:@/?#%\\[\\]]{0,40})",
    ) {
        let guard = Guard::new(Policy::default().allow_http(CALLER));
        if let Ok(url) = guard.check_url(&text, CALLER) {
            let again = guard.check_url(url.as_str(), CALLER);
            prop_assert_eq!(again.as_ref(), Ok(&url));
            prop_assert!(!url.host_text().is_empty() && url.port() > 0);
        }
    }
}
