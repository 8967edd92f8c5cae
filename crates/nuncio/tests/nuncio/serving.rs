//! `nuncio serve` for callers who are elsewhere: certificates, tokens, signed cards.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_protocol::{card::sign::Signer, time::Timestamp};
use nuncio_testkit::program::Program;

use crate::cli::{
    issuer::Issuer,
    support::{Came, User},
};

const ISSUER: &str = "https://login.example";

fn serve(user: &User, arguments: &[&str]) -> Program {
    let mut command = user.command(&["serve", "--port", "0", "--in-memory"]);
    Program::start(command.args(arguments))
}

/// Writes the certificate of an agent, and that of its issuer.
fn certified(user: &User) -> Issuer {
    let issuer = Issuer::new();
    let (chain, key) = issuer.server();
    user.write("cert.pem", &chain);
    user.write("key.pem", &key);
    user.write("issuer.pem", &issuer.pem());
    issuer
}

/// Serves with the certificate, and returns the URL, too.
fn serve_tls(user: &User, arguments: &[&str]) -> (Program, String) {
    let words = ["serve", "--port", "0", "--in-memory", "--tls-cert", "cert.pem"];
    let mut command = user.command(&words);
    command.args(["--tls-key", "key.pem"]).args(arguments);
    let serving = Program::start_until(&mut command, "listening on https://");
    let url = format!("https://{}", serving.address());
    (serving, url)
}

fn send(user: &User, url: &str, more: &[&str]) -> Came {
    user.run(&[&["send", "-a", url, "hello", "--ca-cert", "issuer.pem"], more].concat())
}

#[test]
fn an_agent_is_served_over_tls() {
    let user = User::new();
    certified(&user);
    let (_serving, url) = serve_tls(&user, &[]);
    for transport in ["jsonrpc", "http+json", "grpc"] {
        let came = send(&user, &url, &["--transport", transport]);
        assert!(came.code == 0 && came.out.contains("Text: hello\n"), "{transport}: {came:?}");
    }
    let refused = user.run(&["serve", "--in-memory", "--tls-cert", "cert.pem"]);
    assert!(refused.code == 2 && refused.err.contains("--tls-key"), "{refused:?}");
    let words = ["serve", "--in-memory", "--tls-cert", "key.pem", "--tls-key", "key.pem"];
    let refused = user.run(&words);
    assert!(refused.code == 1 && refused.err.contains("--tls-cert key.pem"), "{refused:?}");
}

#[test]
fn callers_of_an_agent_are_known_by_their_certificates() {
    let user = User::new();
    let issuer = certified(&user);
    let words = ["--client-ca", "issuer.pem", "--certified", "user:ann=ann.example"];
    let (_serving, url) = serve_tls(&user, &words);
    for (name, code) in [("ann.example", 0), ("bob.example", 4)] {
        let (chain, key) = issuer.client(name);
        user.write("caller.pem", &(chain + &key));
        let came = send(&user, &url, &["--cert", "caller.pem"]);
        assert_eq!(came.code, code, "{name}: {came:?}");
    }
    assert_eq!(send(&user, &url, &[]).code, 4);
    for wrong in ["ann.example", "team:x=ann.example", "user:ann="] {
        let words = ["serve", "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--client-ca"];
        let refused = user.run(&[&words[..], &["issuer.pem", "--certified", wrong]].concat());
        assert!(refused.code == 2 && refused.err.contains("--certified"), "{refused:?}");
    }
}

/// Signs a token of the issuer that is valid now.
fn token(signer: &Signer, audience: &str) -> String {
    let now = Timestamp::now().to_parts().0;
    let header = format!(r#"{{"alg":"ES256","kid":"{}"}}"#, signer.kid());
    let claims = format!(
        r#"{{"iss":"{ISSUER}","aud":"{audience}","sub":"ann","iat":{now},"exp":{}}}"#,
        now + 300
    );
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let text = format!("{}.{}", encode(&header), encode(&claims));
    let signature = signer.sign_bytes(text.as_bytes()).expect("it signs");
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

#[test]
fn tokens_of_an_issuer_are_believed_by_its_keys_in_a_file_or_elsewhere() {
    let user = User::new();
    let made = user.run(&["card", "keygen", "--out", "signer.pem"]);
    user.write("keys.jwks", &made.out);
    let pem = std::fs::read_to_string(user.home().join("signer.pem")).unwrap();
    let signer = Signer::from_pem(&pem).expect("a key");
    // Whoever signs its card serves the key.
    let issuer = serve(&user, &["--sign-key", "signer.pem"]);
    let url = format!("http://{}/.well-known/jwks.json", issuer.address());
    for keys in ["keys.jwks", &url] {
        let words = ["--jwt-issuer", ISSUER, "--jwt-audience", "agents", "--jwks", keys];
        let serving = serve(&user, &words);
        let status = |headers: &str| serving.send("GET", "/tasks", headers, "").0;
        assert!(status("").starts_with("HTTP/1.1 401 "), "{keys}");
        for (audience, expected) in [("agents", "HTTP/1.1 200 "), ("others", "HTTP/1.1 401 ")] {
            let head = status(&format!("authorization: Bearer {}\r\n", token(&signer, audience)));
            assert!(head.starts_with(expected), "{keys}, for {audience}: {head}");
        }
        let (_, card) = serving.send("GET", "/.well-known/agent-card.json", "", "");
        assert!(card.contains(r#""bearerFormat":"JWT""#), "{card}");
    }
    let refused = user.run(&["serve", "--jwt-issuer", ISSUER]);
    assert!(refused.code == 2 && refused.err.contains("--jwks"), "{refused:?}");
    let words = ["serve", "--in-memory", "--jwt-issuer", ISSUER, "--jwt-audience", "a", "--jwks"];
    let refused = user.run(&[&words[..], &["signer.pem"]].concat());
    assert!(refused.code == 1 && refused.err.contains("signer.pem is no JWKS"), "{refused:?}");
}

#[test]
fn a_card_is_signed_by_the_key_that_is_given() {
    let user = User::new();
    let made = user.run(&["card", "keygen", "--out", "signer.pem"]);
    user.write("keys.jwks", &made.out);
    let verify = |serving: &Program| {
        let url = format!("http://{}", serving.address());
        user.run(&["card", "verify", &url, "--keys", "keys.jwks"])
    };
    let came = verify(&serve(&user, &["--sign-key", "signer.pem"]));
    assert!(came.code == 0 && came.out.contains("Signature: verified"), "{came:?}");
    let came = verify(&serve(&user, &[]));
    assert!(came.code != 0 && came.out.contains("Signature: absent"), "{came:?}");
    let refused = user.run(&["serve", "--in-memory", "--sign-key", "keys.jwks"]);
    assert!(refused.code == 2 && refused.err.contains("card keygen"), "{refused:?}");
}
