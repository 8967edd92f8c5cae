//! What a tool gives, as parts.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use nuncio_protocol::{json::Raw, message::Part};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::Error;

/// Makes parts of what a tool gives. One that says that it has failed is an error.
pub(super) fn parts(tool: &str, given: CallToolResult) -> Result<Vec<Part>, Error> {
    let failed = |told: String| Error::Failed { tool: tool.to_owned(), told };
    let structured = given.structured_content;
    let mut parts = Vec::new();
    for block in given.content {
        // Servers repeat their data as text, for clients that cannot read data.
        if let (ContentBlock::Text(text), Some(data)) = (&block, &structured)
            && serde_json::from_str(&text.text).is_ok_and(|same: serde_json::Value| same == *data)
        {
            continue;
        }
        parts.push(part(block).map_err(failed)?);
    }
    if let Some(data) = &structured {
        let data = Raw::from_value(data).map_err(|error| failed(error.to_string()))?;
        parts.push(Part::data(data).with_media_type("application/json"));
    }
    if given.is_error == Some(true) {
        let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
        let told = texts.join("\n");
        let told = if told.trim().is_empty() { "it failed and does not say why" } else { &told };
        return Err(failed(told.to_owned()));
    }
    Ok(parts)
}

fn part(block: ContentBlock) -> Result<Part, String> {
    Ok(match block {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) => file(&image.data, &image.mime_type)?,
        ContentBlock::Audio(audio) => file(&audio.data, &audio.mime_type)?,
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, mime_type, text, .. } => Part::text(text)
                .with_filename(name(&uri))
                .with_media_type(mime_type.unwrap_or_else(|| "text/plain".to_owned())),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let media_type = mime_type.as_deref().unwrap_or("application/octet-stream");
                file(&blob, media_type)?.with_filename(name(&uri))
            }
            _ => return Err("it gives a resource of an unknown kind".to_owned()),
        },
        ContentBlock::ResourceLink(link) => {
            let part = Part::url(link.uri).with_filename(link.name);
            match link.mime_type {
                Some(media_type) => part.with_media_type(media_type),
                None => part,
            }
        }
        _ => return Err("it gives content of an unknown kind".to_owned()),
    })
}

fn file(data: &str, media_type: &str) -> Result<Part, String> {
    let bytes = STANDARD.decode(data);
    let bytes = bytes.map_err(|error| format!("it gives a file that is not base64: {error}"))?;
    Ok(Part::raw(bytes).with_media_type(media_type))
}

/// Returns the last piece of a URI.
fn name(uri: &str) -> &str {
    uri.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}
