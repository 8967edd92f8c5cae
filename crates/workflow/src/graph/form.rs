//! The form of a workflow file: which members there are, and of what shape.
//!
//! Reader, schema and reference page are all made from these tables, so they cannot disagree.

/// A mapping with members of known names.
#[derive(Debug)]
pub(crate) struct Form {
    /// Its name in the schema.
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Members of which exactly one must be there.
    pub(crate) one_of: &'static [&'static str],
    pub(crate) members: &'static [Member],
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) is_required: bool,
    pub(crate) about: &'static str,
}

/// What a value must look like.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// A text that is a template.
    Template,
    /// A template or a list of them.
    Prompt,
    /// A text that is a condition.
    Condition,
    /// Any value; texts in it are templates.
    Tree,
    /// Any value.
    Json,
    /// True or false.
    Flag,
    /// A number without a fraction.
    Whole(u32, u32),
    /// A number.
    Number(f64, f64),
    /// A length of time.
    Time,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// The name of a node.
    Id,
    /// One of these texts, or a list of names of nodes.
    Nodes(&'static [&'static str]),
    List(&'static Self),
    /// Values by names that anybody may choose.
    ByName(&'static Self),
    Form(&'static Form),
    /// A node, by its type.
    Node,
    /// What a node over a list does for each item: a node without a name.
    Body,
}

const fn member(name: &'static str, shape: Shape, about: &'static str) -> Member {
    Member { name, shape, is_required: false, about }
}

const fn required(name: &'static str, shape: Shape, about: &'static str) -> Member {
    Member { name, shape, is_required: true, about }
}

const ON_ERROR: Shape = Shape::Choice(&["cancel_dependants", "fail_fast", "ignore"]);

pub(crate) static WORKFLOW: Form = Form {
    name: "Workflow",
    about: "A graph of agents.",
    one_of: &[],
    members: &[
        required("name", Shape::Text, "Its name: 1 to 128 bytes, without `/`."),
        member("description", Shape::Text, "What it does, for people and for its card."),
        member("version", Shape::Whole(0, u32::MAX), "Which version of it this is. 1 unless set."),
        required("nodes", Shape::List(&Shape::Node), "The steps."),
        member("edges", Shape::List(&Shape::Form(&EDGE)), "What follows what."),
        member("groups", Shape::List(&Shape::Form(&GROUP)), "How nodes are drawn together."),
        member(
            "on_error",
            ON_ERROR,
            "What the failure of a node does to the run, where no edge handles it. \
             `cancel_dependants` unless set.",
        ),
        member("timeout", Shape::Time, "How long a run may take."),
        member("max_parallel", Shape::Whole(1, 10_000), "How many nodes may run at a time."),
    ],
};

pub(crate) static EDGE: Form = Form {
    name: "Edge",
    about: "A step from one node to another.",
    one_of: &[],
    members: &[
        required("from", Shape::Id, "The node that it begins at."),
        required("to", Shape::Id, "The node that it leads to."),
        member(
            "trigger_rule",
            Shape::Choice(&["on_success", "on_failure", "always"]),
            "How the first node must have ended. `on_success` unless set.",
        ),
        member("condition", Shape::Condition, "What must hold besides."),
        member("loop", Shape::Form(&LOOP), "Makes it lead back, to run the nodes between again."),
    ],
};

pub(crate) static LOOP: Form = Form {
    name: "Loop",
    about: "How often the nodes of a loop run.",
    one_of: &[],
    members: &[
        member(
            "max_iterations",
            Shape::Whole(1, 10_000),
            "How often they run at most, the first time included. 10 unless set.",
        ),
        member("exit_when", Shape::Condition, "What ends the loop sooner."),
    ],
};

pub(crate) static GROUP: Form = Form {
    name: "Group",
    about: "Nodes that are drawn together.",
    one_of: &[],
    members: &[
        required("id", Shape::Text, "The name that nodes give as their `group`."),
        member("label", Shape::Text, "A name for people."),
        member("color", Shape::Text, "A colour, as in CSS."),
    ],
};

/// What a node has beside its type and configuration.
pub(crate) static NODE: Form = Form {
    name: "Node",
    about: "One step.",
    one_of: &[],
    members: &[
        required("id", Shape::Id, "Its name: letters, digits, `_` and `-`."),
        required("type", Shape::Text, "What it does."),
        member("config", Shape::Json, "How it does that."),
        member("group", Shape::Text, "The group that it is drawn in."),
    ],
};

/// What a node over a list does for each item.
pub(crate) static BODY: Form = Form {
    name: "Body",
    about: "What is done for each item of a list: a node without a name.",
    one_of: &[],
    members: &[
        required("type", Shape::Text, "What it does."),
        member("config", Shape::Json, "How it does that."),
    ],
};

/// What every configuration has.
pub(crate) static SETTINGS: Form = Form {
    name: "Settings",
    about: "What every `config` may have.",
    one_of: &[],
    members: &[
        member("label", Shape::Text, "A name for people."),
        member("description", Shape::Text, "What it does, for people and for its card."),
        member("timeout", Shape::Time, "How long one attempt may take."),
        member("retry", Shape::Form(&RETRY), "How often and how soon it is tried again."),
        member(
            "on_error",
            ON_ERROR,
            "What its failure does to the run, where no edge handles it. As the workflow says \
             unless set.",
        ),
    ],
};

pub(crate) static RETRY: Form = Form {
    name: "Retry",
    about: "How often and how soon something is tried again.",
    one_of: &[],
    members: &[
        member(
            "attempts",
            Shape::Whole(0, 100),
            "How many further attempts there are after the first. 0 unless set.",
        ),
        member(
            "backoff",
            Shape::Time,
            "How long to wait before the first of them; each wait is twice the one before, up to 5m. \
             1s unless set.",
        ),
    ],
};

pub(crate) static EXTRACT: Form = Form {
    name: "Extract",
    about: "Which piece of an answer counts.",
    one_of: &[],
    members: &[
        required("mode", Shape::Choice(&["json", "tagged"]), "How the piece is found."),
        member("key", Shape::Text, "With `json`: the member of the first object in it."),
        member("tag", Shape::Text, "With `tagged`: what stands between `<tag>` and `</tag>`."),
    ],
};

const PROMPT: Member = member(
    "prompt",
    Shape::Prompt,
    "What it is told: a template, or a list of them, each a part of the message. Unless set, what \
     the nodes before have brought about.",
);

/// The configuration of each type of node.
pub(crate) static CONFIGS: [(&str, Form); 12] = [
    (
        "input",
        Form {
            name: "Input",
            about: "Takes a value that the run is given under the name of the node.",
            one_of: &[],
            members: &[
                member("prompt", Shape::Text, "What to type, for people."),
                member("default", Shape::Json, "The value if none is given."),
                member(
                    "optional",
                    Shape::Flag,
                    "Whether the value may be left out, and is empty then.",
                ),
            ],
        },
    ),
    (
        "agent",
        Form {
            name: "Agent",
            about: "Asks a language model.",
            one_of: &[],
            members: &[
                member(
                    "model",
                    Shape::Text,
                    "`provider/model`; unless set, the one that is configured.",
                ),
                member("system_prompt", Shape::Template, "Who the model is to be."),
                PROMPT,
                member(
                    "tools",
                    Shape::List(&Shape::Text),
                    "What it may call: names of tools, `mcp://server`, `http://…`, \
                     `workflow://name`, `agent://name`.",
                ),
                member(
                    "max_turns",
                    Shape::Whole(1, 100),
                    "How often it may answer with calls of tools. 1 unless set, or 10 with tools.",
                ),
                member("temperature", Shape::Number(0.0, 2.0), "How free it is."),
                member(
                    "top_p",
                    Shape::Number(0.0, 1.0),
                    "How much of the likeliest it picks from.",
                ),
                member("max_tokens", Shape::Whole(1, 10_000_000), "How long the answer may be."),
                member(
                    "output",
                    Shape::Text,
                    "How the answer is to look, added to the system prompt.",
                ),
                member(
                    "format",
                    Shape::Choice(&["text", "json"]),
                    "What the answer is. `text` unless set.",
                ),
                member("schema", Shape::Json, "The JSON schema that the answer is to follow."),
                member(
                    "output_extract",
                    Shape::Form(&EXTRACT),
                    "Which piece of the answer counts.",
                ),
            ],
        },
    ),
    (
        "tool",
        Form {
            name: "Tool",
            about: "Calls a tool, without a model.",
            one_of: &[],
            members: &[
                required("tool", Shape::Text, "The name of the tool, or `mcp://server/tool`."),
                member("input", Shape::Tree, "What it is given. Texts in it are templates."),
            ],
        },
    ),
    (
        "output",
        Form {
            name: "Output",
            about: "Gathers what the run has brought about.",
            one_of: &[],
            members: &[
                member(
                    "prompt",
                    Shape::Prompt,
                    "The output as text; unless set, artifacts are gathered.",
                ),
                member(
                    "gather",
                    Shape::Nodes(&["all", "parents"]),
                    "Whose artifacts: `all` nodes that lead here, only the `parents`, or the nodes of a \
                     list. `all` unless set.",
                ),
            ],
        },
    ),
    (
        "external",
        Form {
            name: "External",
            about: "Asks an agent elsewhere.",
            one_of: &["agent", "card", "capability", "endpoint_url"],
            members: &[
                member("agent", Shape::Text, "The name of the agent in the directory."),
                member("card", Shape::Text, "The URL of its card."),
                member("endpoint_url", Shape::Text, "The same, as Upal calls it."),
                member("capability", Shape::Text, "A skill that any agent will do for."),
                PROMPT,
            ],
        },
    ),
    (
        "command",
        Form {
            name: "Command",
            about: "Runs a program that the administrator has set up.",
            one_of: &[],
            members: &[
                required("command", Shape::Text, "The name under which it is configured."),
                PROMPT,
            ],
        },
    ),
    (
        "http",
        Form {
            name: "Http",
            about: "Sends an HTTP request.",
            one_of: &[],
            members: &[
                member(
                    "method",
                    Shape::Choice(&["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
                    "`GET` unless set, or `POST` with a body.",
                ),
                required("url", Shape::Template, "The address."),
                member("headers", Shape::ByName(&Shape::Template), "Further headers."),
                member("body", Shape::Tree, "A text is sent as it is, anything else as JSON."),
            ],
        },
    ),
    (
        "map",
        Form {
            name: "Map",
            about: "Does something for each item of a list.",
            one_of: &[],
            members: &[
                required(
                    "over",
                    Shape::Template,
                    "The list: data, a text that is a JSON list, or a text with an item a line.",
                ),
                required(
                    "do",
                    Shape::Body,
                    "What is done. `{{item}}` is the item and `{{index}}` its number, from 0.",
                ),
                member("max_parallel", Shape::Whole(1, 10_000), "How many items at a time."),
                member(
                    "max_items",
                    Shape::Whole(1, 10_000),
                    "How many items there may be. 1000 unless set.",
                ),
            ],
        },
    ),
    (
        "wait",
        Form {
            name: "Wait",
            about: "Waits for a time.",
            one_of: &["for", "until"],
            members: &[
                member("for", Shape::Time, "For how long."),
                member("until", Shape::Template, "Until when: `2026-11-16T08:00:00Z`."),
            ],
        },
    ),
    (
        "approval",
        Form {
            name: "Approval",
            about: "Waits for a person's word.",
            one_of: &[],
            members: &[
                PROMPT,
                member(
                    "options",
                    Shape::List(&Shape::Text),
                    "What the person may answer. `approve` and `reject` unless set; to `reject` fails \
                     the node.",
                ),
            ],
        },
    ),
    (
        "workflow",
        Form {
            name: "SubWorkflow",
            about: "Runs another workflow.",
            one_of: &[],
            members: &[
                required("workflow", Shape::Text, "Its name."),
                member(
                    "version",
                    Shape::Whole(0, u32::MAX),
                    "Its version; unless set, the newest.",
                ),
                member(
                    "inputs",
                    Shape::ByName(&Shape::Tree),
                    "Its inputs. Texts in them are templates.",
                ),
            ],
        },
    ),
    (
        "asset",
        Form {
            name: "Asset",
            about: "Brings in a file that was uploaded.",
            one_of: &[],
            members: &[required("asset_id", Shape::Text, "Which one.")],
        },
    ),
];

/// Returns the configuration of a type of node, by the names that Upal has for it too.
pub(crate) fn config(kind: &str) -> Option<&'static Form> {
    let kind = if kind == "run_input" { "input" } else { kind };
    CONFIGS.iter().find(|(name, _)| *name == kind).map(|(_, form)| form)
}

/// Members and types that only files of Upal have.
pub(crate) const UPAL_MEMBERS: [&str; 8] = [
    "thumbnail_svg",
    "endpoint_url",
    "asset_id",
    "output_format",
    "output_type",
    "input_type",
    "aspect_ratio",
    "connection_id",
];
pub(crate) const UPAL_TYPES: [&str; 2] = ["asset", "run_input"];
