//! Tools of a server, for models.

use std::sync::Arc;

use nuncio_protocol::{json::Object, message::Part};

use super::{Servers, connection::Known};
use crate::kinds::tool::{About, Boxed, Call, Tool, Toolbox};

/// One tool of a server.
#[derive(Clone, Debug)]
pub(super) struct McpTool {
    servers: Servers,
    server: String,
    tool: String,
    about: About,
}

impl McpTool {
    pub(super) fn new(servers: Servers, server: &str, known: &Known) -> Self {
        let about = About {
            name: known.name.clone(),
            description: known.description.clone(),
            input_schema: known.schema.clone(),
            source: format!("mcp://{server}/{}", known.name),
        };
        Self { servers, server: server.to_owned(), tool: known.name.clone(), about }
    }
}

impl Tool for McpTool {
    fn about(&self) -> &About {
        &self.about
    }

    fn call<'a>(&'a self, input: Object, call: &'a Call) -> Boxed<'a, Result<Vec<Part>, String>> {
        Box::pin(async move {
            let given = self.servers.call(&self.server, &self.tool, input, call).await;
            given.map_err(|error| error.to_string())
        })
    }
}

/// The tools of a server: all of them, or one.
#[derive(Clone, Debug)]
pub(super) struct ServerTools {
    servers: Servers,
    server: String,
    only: Option<String>,
}

impl ServerTools {
    pub(super) fn new(servers: Servers, server: &str, only: Option<&str>) -> Self {
        Self { servers, server: server.to_owned(), only: only.map(str::to_owned) }
    }
}

impl Toolbox for ServerTools {
    fn tools(&self) -> Boxed<'_, Result<Vec<Arc<dyn Tool>>, String>> {
        Box::pin(async move {
            if let Some(only) = &self.only {
                let found = self.servers.find(&self.server, only).await;
                let (_, known) = found.map_err(|error| error.to_string())?;
                let tool = McpTool::new(self.servers.clone(), &self.server, &known);
                return Ok(vec![Arc::new(tool) as Arc<dyn Tool>]);
            }
            self.servers.tools(&self.server).await.map_err(|error| error.to_string())
        })
    }
}
