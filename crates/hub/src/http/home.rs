//! What a browser sees first: the canvas, or a plain page that says who is there.

use std::fmt::Write as _;

use axum::{
    extract::State,
    response::{Html, IntoResponse, Redirect, Response},
};

use super::{problem::Problem, who::Who};
use crate::{agent::Agent, directory::Query, hub::Hub};

/// So many agents are shown.
const MOST: usize = 200;

pub(super) async fn home(
    State(hub): State<Hub>,
    who: Result<Who, Problem>,
) -> Result<Response, Problem> {
    if hub.canvas.is_some() {
        return Ok(Redirect::to("/ui/").into_response());
    }
    let Ok(who) = who else { return Ok(Html(page(STRANGER)).into_response()) };
    who.somebody()?;
    let query = Query { limit: MOST, ..Query::default() };
    let found = hub.directory.search(who.asker(), &query);
    let mut body = String::from("<p>Agents of this hub. <code>nuncio agents</code> has more.</p>");
    body.push_str("<table border=1 cellpadding=4><tr><th>name<th>status<th>for<th>skills</tr>");
    for agent in &found.agents {
        body.push_str(&row(agent));
    }
    body.push_str("</table>");
    if found.next.is_some() {
        body.push_str("<p>There are more.</p>");
    }
    Ok(Html(page(&body)).into_response())
}

const STRANGER: &str = "<p>This is a Nuncio hub. To look inside, open the link that \
    <code>nuncio login</code> prints.</p>\
    <p>For programs: <a href=\"/openapi.json\">the API</a>.</p>";

/// Returns a page that needs nothing beside it, so that it may do nothing either.
pub(super) fn page(body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>Nuncio</title>\
         <h1>Nuncio</h1>{body}</html>"
    )
}

fn row(agent: &Agent) -> String {
    let skills = agent.card.iter().flat_map(|card| &card.card().skills);
    let skills: Vec<_> = skills.map(|skill| inert(&skill.id)).collect();
    let role = agent.role.as_deref().unwrap_or_default();
    let mut row = String::from("<tr>");
    for cell in [inert(agent.name.as_str()), inert(agent.status.as_str()), inert(role)] {
        let _ = write!(row, "<td>{cell}"); // Writing to a text cannot fail.
    }
    let _ = write!(row, "<td>{}</tr>", skills.join(", "));
    row
}

/// Returns a text that is only a text to a browser, whoever wrote it.
fn inert(text: &str) -> String {
    let mut inert = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => inert.push_str("&amp;"),
            '<' => inert.push_str("&lt;"),
            '>' => inert.push_str("&gt;"),
            '"' => inert.push_str("&quot;"),
            '\'' => inert.push_str("&#39;"),
            letter if letter.is_control() => inert.push(' '),
            letter => inert.push(letter),
        }
    }
    inert
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_agents_are_only_texts() {
        let evil = "<script>alert(1)</script>\" onload='x' &amp;";
        let inert = inert(evil);
        assert!(!inert.contains(['<', '>', '"', '\'']), "{inert}");
    }
}
