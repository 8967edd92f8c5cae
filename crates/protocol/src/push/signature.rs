//! The signature of what is sent to a webhook, for those who send and those who receive.

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};

/// Returns the signature of a notification: `v1,` and the HMAC-SHA256 of
/// `<id>.<timestamp>.<body>` in base64. The key is the token, byte by byte.
pub fn sign(token: &str, id: &str, timestamp: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let mut context = hmac::Context::with_key(&key);
    for piece in [id.as_bytes(), b".", timestamp.to_string().as_bytes(), b".", body] {
        context.update(piece);
    }
    format!("v1,{}", BASE64_STANDARD.encode(context.sign()))
}

/// Tells whether one of these signatures, with a blank between, is that of a notification.
/// Takes as long for a wrong one as for a right one.
///
/// Several are how a sender changes its key.
pub fn is_signed(
    token: &str,
    (id, timestamp): (&str, &str),
    body: &[u8],
    signatures: &str,
) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes());
    let message = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body].concat();
    signatures.split(' ').any(|signature| {
        let found = signature.strip_prefix("v1,").map(|text| BASE64_STANDARD.decode(text));
        matches!(found, Some(Ok(found)) if hmac::verify(&key, &message, &found).is_ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = br#"{"statusUpdate":{}}"#;

    /// The value was computed with another implementation.
    #[test]
    fn a_signature_is_the_one_that_others_compute() {
        assert_eq!(
            sign("secret", "0123-7", 1_700_000_000, BODY),
            "v1,GY/vfbb4XAetWIEcZsuo5VhnqXCNwxJS8mt+Cizl9iw="
        );
    }

    #[test]
    fn one_right_signature_is_enough() {
        let right = sign("secret", "a", 7, BODY);
        let check = |signatures: &str| is_signed("secret", ("a", "7"), BODY, signatures);
        assert!(check(&right) && check(&format!("v1,AAAA v2,x {right}")));
        for wrong in ["", "v1,", "v1,!", &right[3..], &sign("other", "a", 7, BODY)] {
            assert!(!check(wrong), "{wrong}");
        }
    }
}
