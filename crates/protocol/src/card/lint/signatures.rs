//! Signatures, as far as one can judge them without keys.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::{MAX_SIGNATURES, Report, Rule, hidden::inert};
use crate::{
    card::{AgentCard, AgentCardSignature},
    json::{self, Object},
};

pub(super) fn check(card: &AgentCard, report: &mut Report) {
    if card.signatures.len() > MAX_SIGNATURES {
        report.add(
            Rule::TooManySignatures,
            "signatures",
            format!("there are {}", card.signatures.len()),
        );
    }
    for (index, signature) in card.signatures.iter().enumerate().take(MAX_SIGNATURES) {
        let path = format!("signatures[{index}]");
        match algorithm(signature) {
            Err(what) => report.add(Rule::MalformedSignature, path, what),
            Ok(name) if name.eq_ignore_ascii_case("none") || name.starts_with("HS") => {
                report.add(Rule::WeakSignature, path, format!("`{}` proves nothing", inert(&name)));
            }
            Ok(_) => {}
        }
    }
}

fn algorithm(signature: &AgentCardSignature) -> Result<String, &'static str> {
    let header = URL_SAFE_NO_PAD
        .decode(&signature.protected)
        .map_err(|_| "`protected` is not base64url without padding")?;
    let header: Object =
        json::from_slice(&header).map_err(|_| "`protected` does not hold a JSON object")?;
    let text = |key| header.get(key).and_then(|value| value.as_text());
    let algorithm = text("alg").ok_or("the header has no `alg`")?;
    text("kid").ok_or("the header has no `kid`")?;
    match URL_SAFE_NO_PAD.decode(&signature.signature) {
        Err(_) => Err("`signature` is not base64url without padding"),
        // An unsigned header is reported for its algorithm.
        Ok(bytes) if bytes.is_empty() && algorithm != "none" => Err("`signature` is empty"),
        Ok(_) => Ok(algorithm),
    }
}
