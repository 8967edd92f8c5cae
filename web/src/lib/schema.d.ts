// Made by `npm run types` of crates/hub/openapi.json.

export interface paths {
    "/": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a browser who is there */
        get: operations["home"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/ai-catalog.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what the asker may see */
        get: operations["aiCatalog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns keys for pair tokens */
        get: operations["jwks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Searches agents that the caller may call */
        get: operations["searchAgents"];
        put?: never;
        /** Brings in an agent */
        post: operations["addAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows an agent */
        get: operations["showAgent"];
        put?: never;
        post?: never;
        /** Removes an agent for good */
        delete: operations["removeAgent"];
        options?: never;
        head?: never;
        /** Changes an agent */
        patch: operations["editAgent"];
        trace?: never;
    };
    "/api/v1/agents/{agent}/card": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the card of an agent as it was sent */
        get: operations["showCard"];
        /** Takes a new card */
        put: operations["updateCard"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/card/held": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a card that waits for agreement */
        get: operations["showHeldCard"];
        put?: never;
        /** Agrees to a card that waits, or drops it */
        post: operations["decideCard"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/card/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the cards that an agent had */
        get: operations["listCards"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/discovery": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says where an agent is, with a token for the two */
        get: operations["discoverAgent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/doctor": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Examines an agent: what works, what does not, and what to do about it
         * @description For administrators. The hub calls the agent with its own credential and within its own guard; it takes up to two minutes, and one agent is examined once at a time. The report is that of `nuncio doctor --format json`.
         */
        post: operations["examineAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/heartbeat": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes the word of an agent about itself */
        post: operations["heartbeat"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/parent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Moves an agent in the hierarchy */
        put: operations["placeAgent"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Lets an agent rest */
        post: operations["pauseAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/peers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists whom an agent may call */
        get: operations["listPeers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/reach": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists whom an agent may call and who may call it, with the reasons */
        get: operations["showReach"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Wakes an agent that rests */
        post: operations["resumeAgent"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the tokens of an agent */
        get: operations["listTokens"];
        put?: never;
        /** Makes one more token for an agent */
        post: operations["newToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/agents/{agent}/tokens/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a token of an agent */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the audit trail */
        get: operations["listAudit"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/cards/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says what is wrong with a card, and keeps nothing */
        post: operations["checkCard"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/configuration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows the configuration as it was loaded, with the source of each value
         * @description For administrators. Secrets are never shown.
         */
        get: operations["showConfiguration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/enrolments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a token for newcomers */
        post: operations["newEnrolment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/epoch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Waits until access was taken from somebody */
        get: operations["epoch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists events, or streams them over SSE */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Streams events over a WebSocket */
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks/{trigger}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Fires a trigger: for whoever can sign */
        post: operations["deliver"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists what waits for a person */
        get: operations["listInbox"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/{task}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question */
        post: operations["answerInbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/{task}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question with yes */
        post: operations["approveInbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/inbox/{task}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers a question with no */
        post: operations["denyInbox"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists keys */
        get: operations["listKeys"];
        put?: never;
        /** Makes a key for a person or program */
        post: operations["newKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Revokes a key */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a link that lets a browser in, once */
        post: operations["newLoginLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Shows the browser out that asks for it */
        post: operations["logOut"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/policy/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says why somebody may call an agent or not */
        get: operations["explain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Registers an agent by itself */
        post: operations["register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/route": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says who would be called for a capability, and why */
        get: operations["explainRoute"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists rules */
        get: operations["listRules"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a rule */
        get: operations["showRule"];
        /** Puts a rule in force */
        put: operations["putRule"];
        post?: never;
        /** Removes a rule */
        delete: operations["removeRule"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists runs, those with the newest status first, without their nodes */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a run with its nodes */
        get: operations["showRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a run and everything that it has under way */
        post: operations["cancelRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the events of a run, or streams them over SSE */
        get: operations["listRunEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/nodes/{node}/answer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Answers what a node of a run asks */
        post: operations["answerNode"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{run}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins another run that takes over what a run has brought about */
        post: operations["rerun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists tasks, those with the newest status first */
        get: operations["listTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a task with all that belongs to it */
        get: operations["showTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ends a task and every call made because of it */
        post: operations["cancelTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the events of a task, or streams them over SSE */
        get: operations["listTaskEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says something to a task */
        post: operations["replyToTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/push": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows the webhooks of a task, and what they would not take */
        get: operations["showTaskPush"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/push/{letter}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Sends an event again that a webhook would not take */
        post: operations["redeliverTaskPush"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/tree": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a task and the calls made because of it */
        get: operations["showTaskTree"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tasks/{task}/wire": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Shows what went over the wire between hub and agent, if that was asked for
         * @description Kept in memory for 15 minutes, for calls with the extension `urn:nuncio:extension:wire:v1` that a person makes. Seen by administrators and by the person who asked for the task.
         */
        get: operations["showTaskWire"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tickets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a ticket that opens a WebSocket, once */
        post: operations["newTicket"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists triggers, ordered by name */
        get: operations["listTriggers"];
        put?: never;
        /** Makes a trigger. Its runs act on behalf of the caller */
        post: operations["addTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a trigger */
        get: operations["showTrigger"];
        put?: never;
        post?: never;
        /** Removes a trigger. Runs that have begun go on */
        delete: operations["removeTrigger"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has a trigger rest */
        post: operations["pauseTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{trigger}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Has a trigger go on. What it has missed is not made up for */
        post: operations["resumeTrigger"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says whom the hub takes the caller for */
        get: operations["whoAmI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/work": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Waits for something to do, once or as a stream
         * @description With `Accept: text/event-stream` work is handed over as it comes, for as long as the stream is read; each event is one piece of it. A stream that ends is opened anew.
         */
        get: operations["fetchWork"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/work/{task}/accept": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Takes a piece of work, which nobody else gets then */
        post: operations["acceptWork"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/work/{task}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Brings back what came of a piece of work */
        post: operations["bringResults"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lists the workflows that the caller may run */
        get: operations["listWorkflows"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Shows a workflow */
        get: operations["showWorkflow"];
        /** Saves a workflow, as a new version of the one that there may be */
        put: operations["saveWorkflow"];
        post?: never;
        /** Removes a workflow with its agent. Runs that have begun go on */
        delete: operations["removeWorkflow"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/{name}/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begins a run of a workflow */
        post: operations["beginRun"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workflows/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Says what is wrong with a workflow, and keeps nothing */
        post: operations["validateWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says that the hub is up */
        get: operations["healthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Lets a browser in by a link that is good once */
        get: operations["login"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns counts as OpenMetrics */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Returns this document */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says whether the hub can do its work */
        get: operations["readyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/version": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Says which program this is */
        get: operations["version"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description What became of a delivery. */
        Accepted: {
            /** @description The run that has begun; the same if the delivery is repeated. */
            run_id: string;
            /** @description `accepted` */
            status: string;
            trigger: string;
        };
        /** @description An agent to bring in. */
        Add: {
            allowed_agents?: {
                [key: string]: string[];
            };
            /** @description Its card, as a JSON value. */
            card?: Record<string, never> | null;
            /** @description Where its card is found, or the agent itself: it is fetched now. */
            card_url?: string | null;
            delivery?: components["schemas"]["Delivery"] | null;
            /** @description Names it for good; made up if there is none. */
            id?: string | null;
            internal_url?: string | null;
            /**
             * @description What the hub is to run for it itself: `echo`, `llm`, `http` or `mcp`. Programs are started
             *     on the word of the configuration file only.
             */
            kind?: string | null;
            /** Format: int32 */
            latency_hint_ms?: number | null;
            /** @description What it is called; made of its card's name if there is none. */
            name?: string | null;
            /** @description The name or id of the agent above it. */
            parent?: string | null;
            role?: string | null;
            /** @description What that kind needs to know, with the keys that it has in the configuration file. */
            settings?: Record<string, never> | null;
            /** Format: int32 */
            trust?: number | null;
            url?: string | null;
            watch?: components["schemas"]["Watch"] | null;
        };
        /** @description Where an agent is reached. */
        Addresses: {
            /** @description Where its card is. */
            card?: string | null;
            /** @description From agents on its own network (M-07). */
            internal?: string | null;
            /** @description From anywhere. */
            public?: string | null;
        };
        /** @description A page of agents. */
        AgentPage: {
            agents: components["schemas"]["AgentView"][];
            /** @description What to ask with as `after` for the next page; absent on the last one. */
            next?: string | null;
        };
        /** @description An agent. */
        AgentView: {
            /** Format: int32 */
            active_tasks: number;
            addresses: components["schemas"]["Addresses"];
            allowed_agents?: {
                [key: string]: string[];
            };
            /** @description The bindings that its card says it speaks. */
            bindings: string[];
            /** Format: date-time */
            created: string;
            current_task?: string;
            delivery: components["schemas"]["Delivery"];
            /** @description What its card says that it is for. */
            description?: string;
            has_held_card: boolean;
            heartbeat?: components["schemas"]["BeatView"] | null;
            id: string;
            /** @description Whether its card carries a signature; who made it, `nuncio card verify` tells. */
            is_signed: boolean;
            /** @description What the hub runs for it itself, if somebody has said so over this API. */
            kind?: string | null;
            /** Format: int32 */
            latency_hint_ms?: number | null;
            name: string;
            organisation: string;
            origin: components["schemas"]["Origin"];
            parent?: string | null;
            parent_name?: string | null;
            role?: string | null;
            skills: components["schemas"]["SkillView"][];
            status: components["schemas"]["Status"];
            /** Format: date-time */
            status_since: string;
            /** @description The name on its card. */
            title: string;
            /** Format: int32 */
            trust: number;
            /** Format: date-time */
            updated: string;
            /** @description The versions of A2A that its card says it speaks. */
            versions: string[];
            watch: components["schemas"]["Watch"];
        };
        Agreement: {
            accept: boolean;
        };
        /** @description What became of an answer. */
        Answered: {
            canceled?: components["schemas"]["Canceled"] | null;
            /** @description The task as it is now. */
            task: components["schemas"]["TaskView"];
        };
        /**
         * @description What an agent says of itself every 30 seconds (MD-02).
         *
         *     What it leaves out is unknown, not zero. What it adds is ignored.
         */
        Beat: {
            /**
             * Format: int32
             * @description How many tasks it works on.
             * @default 0
             */
            active_tasks: number;
            /**
             * @description What it works on, in words.
             * @default
             */
            current_task: string;
            /**
             * Format: double
             * @description Which part of its calls failed in the last minute: 0 to 1.
             * @default 0
             */
            error_rate: number;
            /**
             * Format: int64
             * @description What it has cost this month, in cents; 0 says nothing.
             * @default 0
             */
            monthly_spend: number;
            /** @description What its runtime can do. */
            runtime_metadata?: Record<string, never> | null;
            /**
             * @description `wedged` if it knows that it is stuck.
             * @default
             */
            runtime_state: string;
            /**
             * @description One of the errors.
             * @default
             */
            sample_error: string;
            /**
             * Format: int64
             * @description How long it has been up.
             * @default 0
             */
            uptime_seconds: number;
        };
        /** @description What an agent last said of itself. */
        BeatView: components["schemas"]["Beat"] & {
            /** Format: date-time */
            at: string;
        };
        /** @description What a run is given. */
        Begin: {
            /** @description The inputs by name: any JSON, or a part as A2A has it for a file. */
            inputs?: Record<string, never>;
            /**
             * Format: int32
             * @description Which version of the workflow; the newest without.
             * @default null
             */
            version: number | null;
        };
        /** @description Who works for whom. Agents are told of callers only if they may call them. */
        Between: {
            /** @description The id of the agent that works on it. */
            agent?: string | null;
            agent_name?: string | null;
            /** @description Who asked for it: `user:<name>`, `agent:<id>` or `anonymous`. */
            caller?: string | null;
            /** @description What the caller is called, in short. */
            caller_name?: string | null;
            /** @description The node, if it is one of a workflow that the hub works on itself. */
            node?: string | null;
        };
        /** @description What became of a wish to end a task. */
        Canceled: {
            /** @description What goes on all the same, and why. */
            going_on: components["schemas"]["StoppedView"][];
            /** @description What has ended or is about to, the task itself first. */
            stopped: components["schemas"]["StoppedView"][];
        };
        /** @description An agent that can be called. */
        Choice: {
            id: string;
            name: string;
            /**
             * Format: double
             * @description 100 for one that is well, 10 for each step of trust, 4 for the id of a skill or 2 for a
             *     tag, and up to 1 for a quick answer.
             */
            score: number;
            why: string;
        };
        /** @description A configuration as people see it. */
        ConfigurationView: {
            /** @description Whose paths are answered beside the hub's own, and whose are not. */
            dialects: components["schemas"]["DialectSetting"][];
            /** @description The file that was read, if there is one. */
            file?: string | null;
            /** @description Networks that are not public, and open to the hub all the same. */
            networks: components["schemas"]["OpenNetwork"][];
            /** @description Whether agents may be called without TLS. */
            plain_http: boolean;
            /** @description Every value, in the order of the reference. */
            settings: components["schemas"]["SettingView"][];
            /** @description Keys that were changed since the start, and take effect with the next one. */
            waiting: string[];
        };
        /** @description A decision, and why. */
        Decision: {
            /** @description Any JSON value: the filled-in form, if one was asked for. */
            data?: Record<string, never> | null;
            /**
             * @description Why; the agent is told.
             * @default null
             */
            reason: string | null;
        };
        /**
         * @description How calls come to an agent.
         * @enum {string}
         */
        Delivery: "direct" | "gateway" | "pull";
        /** @description A no, and why. */
        Denial: {
            /**
             * @description Whether the task is to end, with every call made because of it.
             * @default false
             */
            cancel: boolean;
            /**
             * @description Why; the agent is told.
             * @default null
             */
            reason: string | null;
        };
        /** @description A program that came before the hub, and whether its paths are answered. */
        DialectSetting: {
            /** @description Whether it is on. */
            is_on: boolean;
            /** @description Its name in the file. */
            name: string;
            /** @description What it is about. */
            paths: string;
        };
        /** @description Where an agent is, and the token that opens it. */
        Discovered: {
            delivery: components["schemas"]["Delivery"];
            /** Format: int64 */
            epoch: number;
            /** Format: date-time */
            expires?: string | null;
            /** @description Whether the agent that was asked for is gone, and this one stands in for it. */
            forwarded: boolean;
            id: string;
            name: string;
            status: components["schemas"]["Status"];
            token?: string | null;
            url: string;
        };
        /** @description What came of one check. */
        DoctorCheck: {
            cause?: string | null;
            /** @description Its stable name, such as `card.found`. */
            code: string;
            fix?: string | null;
            group: string;
            /** @description The interface that it is about. */
            interface?: string | null;
            message: string;
            /** @description `pass`, `warning`, `failure` or `skipped`. */
            outcome: string;
        };
        /** @description What was found about an agent. */
        DoctorReport: {
            /** @description What the agent calls itself. */
            agent?: string | null;
            checks: components["schemas"]["DoctorCheck"][];
            /** @description Whether anything answered. */
            reachable: boolean;
            summary: components["schemas"]["DoctorSummary"];
            /** @description What was examined. */
            url: string;
        };
        /** @description How many checks ended how. */
        DoctorSummary: {
            /** Format: int32 */
            failure: number;
            /** Format: int32 */
            pass: number;
            /** Format: int32 */
            skipped: number;
            /** Format: int32 */
            warning: number;
        };
        /** @description What is to be looked at. */
        Draft: {
            /** @description The workflow in YAML or JSON. */
            source: string;
        };
        /** @description What is to be different; what is not said stays. */
        Edit: {
            /** @default null */
            allowed_agents: {
                [key: string]: string[];
            } | null;
            /** @default null */
            delivery: components["schemas"]["Delivery"] | null;
            /**
             * @description Where agents on its own network reach it; `null` for nowhere.
             * @default null
             */
            internal_url: string | null;
            /**
             * Format: int32
             * @default null
             */
            latency_hint_ms: number | null;
            /** @default null */
            name: string | null;
            /** @default null */
            role: string | null;
            /**
             * Format: int32
             * @default null
             */
            trust: number | null;
            /**
             * @description Where it is reached; `null` for nowhere.
             * @default null
             */
            url: string | null;
            /** @default null */
            watch: components["schemas"]["Watch"] | null;
        };
        Epoch: {
            /** Format: int64 */
            epoch: number;
        };
        /** @description A page of events. */
        EventPage: {
            events: components["schemas"]["EventView"][];
            /**
             * Format: int64
             * @description What to ask with as `after` for what comes behind.
             */
            last: number;
            /** @description Whether there is more already. */
            more: boolean;
        };
        /** @description An event in the form of MD-50, with its place in the log if it has one. */
        EventView: {
            event: string;
            payload: Record<string, never>;
            /** Format: int64 */
            seq?: number | null;
            /** Format: date-time */
            timestamp: string;
            workspace_id: string;
        };
        /** @description How an agent is to be examined. */
        Examination: {
            /**
             * @description Whether no message is sent and nothing changed.
             * @default false
             */
            read_only: boolean;
        };
        Explained: {
            allowed: boolean;
            code: string;
            /** Format: int64 */
            epoch: number;
            /** @description The decision in a sentence. */
            reason: string;
            rule?: string | null;
        };
        /** @description What came of a trigger. */
        Fired: {
            /**
             * Format: date-time
             * @description When.
             */
            at: string;
            /** @description Why none has. */
            error?: string | null;
            /** @description The run that has begun. */
            run?: string | null;
        };
        /** @description Why a workflow was not taken, as RFC 9457 has it. */
        Flaws: {
            code: string;
            detail: string;
            problems: components["schemas"]["FlawView"][];
            /** Format: int32 */
            status: number;
            title: string;
            type: string;
        };
        /** @description Something that is wrong with a workflow, or may be. */
        FlawView: {
            /** @description What sort of problem it is. */
            code: string;
            /** Format: int32 */
            column: number;
            /** @description What to do about it. */
            fix: string;
            /** @description The way to it, such as `nodes[2].config.prompt`. */
            key: string;
            /**
             * Format: int32
             * @description From 1; 0 for the file as a whole.
             */
            line: number;
            message: string;
            /** @description The node that it is about. */
            node?: string | null;
            /** @description `error` or `warning`. */
            severity: string;
        };
        /** @description What an agent is told when it says how it is. */
        Heard: {
            /**
             * Format: int64
             * @description Pair tokens older than this are no longer good.
             */
            min_epoch: number;
            status: components["schemas"]["Status"];
        };
        History: {
            cards: components["schemas"]["PastCard"][];
        };
        /** @description Where a trigger is fired from outside. */
        HookView: {
            /** @description Where deliveries go. */
            url: string;
        };
        /** @description A page of questions, the newest first. */
        InboxPage: {
            items: components["schemas"]["ItemView"][];
            /** @description What to ask with as `after` for the next page; absent on the last one. */
            next?: string | null;
            /**
             * Format: int64
             * @description How many there are on all pages, for whoever sees all. Where there are several pages, what
             *     a run and its node both ask may count twice.
             */
            total?: number | null;
        };
        /** @description A value that a run is given. */
        InputView: {
            default?: Record<string, never> | null;
            name: string;
            /** @description What to type, for people. */
            prompt?: string | null;
            required: boolean;
        };
        /** @description A key that was made. Its secret is here and never again. */
        IssuedView: components["schemas"]["KeyView"] & {
            key: string;
        };
        /** @description Where an item of a list stands. */
        ItemRunView: {
            /**
             * Format: int32
             * @description How often it was tried.
             */
            attempt: number;
            /**
             * Format: int32
             * @description Its number, from 0.
             */
            item: number;
            /** @description Why it has not succeeded. */
            reason?: string | null;
            /** @description As of a node. */
            state: string;
            /** @description The task that it is. */
            task_id?: string | null;
        };
        /** @description A question. */
        ItemView: components["schemas"]["Between"] & {
            /** @description What was asked for in the beginning, in a line. */
            asked: string;
            context_id: string;
            /** @description The JSON schema of the form to be filled in, if the question comes with one. */
            form?: Record<string, never> | null;
            /** @description The question as A2A 1.0 has it. */
            message?: Record<string, never> | null;
            /** @description `input`: an answer is needed; `auth`: somebody must log in somewhere, or send a secret. */
            needs: string;
            /** @description The task because of which this one was asked for. */
            parent?: string | null;
            /** @description What the agent wants to know. */
            question: string;
            /** Format: date-time */
            since: string;
            /** @description The task that waits. */
            task: string;
        };
        /** @description What is wrong with a workflow, and what can be seen of it all the same. */
        Judged: {
            /** @description The workflow as JSON, if it can be read as such. */
            graph?: Record<string, never> | null;
            inputs: components["schemas"]["InputView"][];
            problems: components["schemas"]["FlawView"][];
        };
        Keys: {
            keys: components["schemas"]["KeyView"][];
        };
        /** @description A key or token: everything but the secret. */
        KeyView: {
            /** Format: date-time */
            created: string;
            /** Format: date-time */
            expires?: string | null;
            id: string;
            /** @description Whose it is: `agent` or `user`. */
            kind: string;
            /**
             * Format: date-time
             * @description When it was last shown to a hub on this database.
             */
            last_used?: string | null;
            name: string;
            /** Format: date-time */
            revoked?: string | null;
            scopes: string[];
        };
        /** @description An event that a webhook would not take. */
        LetterView: {
            /** Format: date-time */
            at: string;
            /** Format: int32 */
            attempts: number;
            /** @description What went wrong the last time. */
            error: string;
            /** Format: int64 */
            id: number;
            /**
             * Format: int64
             * @description The event.
             */
            seq: number;
            url: string;
            webhook: string;
        };
        /** @description A line of the trail. */
        LineView: {
            line: Record<string, never>;
            link: string;
            /** Format: int64 */
            seq: number;
        };
        /** @description A link that lets a browser in, once. */
        LoginLink: {
            url: string;
        };
        /** @description A card to look at. */
        Look: {
            /** @description The card, as a JSON value. */
            card?: Record<string, never> | null;
            /** @description Where it is found, or the agent itself: it is fetched now. */
            card_url?: string | null;
        };
        /** @description A card that was looked at. */
        Looked: {
            /** @description The card as it was sent. */
            card: Record<string, never>;
            /** @description What its agent would be called here; absent if its name makes none. */
            name?: string | null;
            /** @description What is wrong with it, in the order of its members. */
            problems: components["schemas"]["ProblemView"][];
        };
        /** @description A token for newcomers. */
        NewEnrolment: {
            /**
             * @description The id of the one agent that may use it.
             * @default null
             */
            agent: string | null;
            /**
             * Format: int32
             * @description For how many seconds it is good; for a day, if it is not said.
             * @default null
             */
            lifetime_seconds: number | null;
            /**
             * @description The name or id of the agent below which the newcomer comes to stand.
             * @default null
             */
            parent: string | null;
            /**
             * @description Whether more than one may use it.
             * @default false
             */
            reusable: boolean;
        };
        /** @description A key for a person or program. */
        NewKey: {
            /** Format: int32 */
            lifetime_seconds?: number | null;
            name: string;
            scopes?: string[];
        };
        /** @description What is to begin runs: a schedule, a webhook, or both. */
        NewTrigger: {
            /** @description What runs are given, by the names of inputs. */
            inputs?: Record<string, never>;
            /** @description A name for people. */
            name: string;
            schedule?: components["schemas"]["Schedule"] | null;
            webhook?: components["schemas"]["NewWebhook"] | null;
            /** @description The name of the workflow. */
            workflow: string;
        };
        /** @description A webhook, of which there is nothing to say. */
        NewWebhook: Record<string, never>;
        /** @description Where a node stands. */
        NodeView: {
            /** @description What it has brought about, as A2A has it. */
            artifacts: Record<string, never>[];
            /**
             * Format: int32
             * @description How often it was tried, this time.
             */
            attempt: number;
            /**
             * Format: date-time
             * @description When it ended.
             */
            ended_at?: string | null;
            /** @description The items of a list. */
            items?: components["schemas"]["ItemRunView"][];
            /**
             * Format: int32
             * @description How often it has been reached.
             */
            iteration: number;
            /** @description Its name. */
            node: string;
            /** @description Why it has not succeeded. */
            reason?: string | null;
            /**
             * Format: date-time
             * @description When it was started, this time.
             */
            started_at?: string | null;
            /** @description `pending`, `running`, `waiting`, `completed`, `failed`, `skipped` or `canceled`. */
            state: string;
            /** @description The task that it is. */
            task_id?: string | null;
            /** @description What it does. */
            type: string;
        };
        /** @description An event of a stream, as A2A 1.0 has it. */
        Numbered: {
            event: Record<string, never>;
            /**
             * Format: int64
             * @description From 1 upwards, for each message that was accepted.
             */
            seq: number;
        };
        /** @description An agent that is not called. */
        Omission: {
            id: string;
            name: string;
            why: string;
        };
        /** @description A network that is not public, and that the hub may call into. */
        OpenNetwork: {
            /** @description The range of addresses. */
            range: string;
            /** @description Why it is open. */
            why: string;
        };
        /**
         * @description Who brought an agent in. Addresses that an administrator gave are trusted further.
         * @enum {string}
         */
        Origin: "configuration" | "administrator" | "registration";
        /** @description A card that an agent had. */
        PastCard: {
            card: Record<string, never>;
            /** Format: int64 */
            seq: number;
            /** Format: date-time */
            since: string;
        };
        /** @description A place in the hierarchy. */
        Place: {
            /** @description The name or id of the agent above; `null` for none. */
            parent: string | null;
        };
        /** @description Why a request was refused (RFC 9457) */
        Problem: {
            /** @description A word that programs may rely on */
            code: string;
            /** @description The same for people */
            detail: string;
            /** @description Where in the request */
            field?: string;
            status: number;
            title: string;
            type: string;
        };
        /** @description Something wrong with a card. */
        ProblemView: {
            /** @description The stable name of the rule that is broken, `no-interface`. */
            code: string;
            /** @description Where, `skills[0].tags`; empty for the card as a whole. */
            field: string;
            /** @description How to mend it. */
            fix: string;
            /** @description `error` or `warning`. */
            severity: string;
            /** @description What is wrong there. */
            what: string;
        };
        /** @description What is sent about a task. */
        PushView: {
            /** @description Events that a webhook would not take, the newest first. */
            dead_letters: components["schemas"]["LetterView"][];
            webhooks: components["schemas"]["WebhookView"][];
        };
        /** @description Something that waits for somebody. */
        QuestionView: {
            /**
             * Format: int32
             * @description The number of the item.
             */
            item?: number | null;
            /** @description The node that asks. */
            node: string;
            /** @description `input` or `credential`. */
            question: string;
            /** @description The task that asks. */
            task_id: string;
            /** @description What it says. */
            text: string;
        };
        /** @description Whom an agent may call, and who may call it. */
        Reach: {
            callers: components["schemas"]["Related"][];
            /** @description Whether there are more on a side than are listed. */
            is_cut: boolean;
            may_call: components["schemas"]["Related"][];
        };
        /** @description An agent that comes by itself. */
        Register: {
            card: Record<string, never>;
            delivery?: components["schemas"]["Delivery"] | null;
            /** @description Names it for good; made up the first time if there is none. */
            id?: string | null;
            internal_url?: string | null;
            name?: string | null;
            /** @description Where it is reached; the first interface of its card, if it does not say. */
            url?: string | null;
        };
        Registered: {
            agent: components["schemas"]["AgentView"];
            /** Format: int64 */
            heartbeat_seconds: number;
            /** @description The agent's token, the first time and never again. */
            token?: string | null;
        };
        /** @description An agent at the other end of a call, and why the call is allowed. */
        Related: {
            code: string;
            id: string;
            name: string;
            /** @description The decision in a sentence. */
            reason: string;
            rule?: string | null;
        };
        Removed: {
            removed: number;
        };
        /** @description How a run is repeated. */
        Rerun: {
            /**
             * @description Nodes that run again although they have succeeded, with all that depends on them. Without
             *     any, and without inputs, only what has not succeeded runs.
             * @default []
             */
            from: string[];
            /**
             * @description Everything runs again.
             * @default false
             */
            from_start: boolean;
            /** @description Other inputs; those of the run without. Everything runs again then. */
            inputs?: Record<string, never> | null;
            /**
             * @description The newest version of the workflow, and not that of the run.
             * @default false
             */
            newest: boolean;
        };
        /** @description What came of a piece of work. */
        Results: {
            /** @description In order. What was brought before counts once. */
            events: components["schemas"]["Numbered"][];
        };
        /** @description Who would be called for a capability. */
        Route: {
            /** @description The best first. */
            agents: components["schemas"]["Choice"][];
            capability: string;
            /** @description Who offers it, and is not called. */
            left_out: components["schemas"]["Omission"][];
        };
        RuleList: {
            rules: Record<string, never>[];
        };
        /** @description Something that has happened in a run. */
        RunEvent: {
            /**
             * Format: int32
             * @description From 1.
             */
            attempt?: number | null;
            /**
             * Format: int32
             * @description The number of the item, from 0, of a node that runs over a list.
             */
            item?: number | null;
            /**
             * Format: int32
             * @description How often the node has been reached, from 1.
             */
            iteration?: number | null;
            /** @description The node. */
            node?: string | null;
            /** @description The rest. */
            payload: Record<string, never>;
            /** @description The run. */
            run: string;
            /**
             * Format: int64
             * @description Its place in the log of the run.
             */
            seq: number;
            /** @description The task that the call is. */
            task_id?: string | null;
            /**
             * Format: date-time
             * @description When.
             */
            time: string;
            /** @description What: `run.started`, `node.started`, `node.completed`, … */
            type: string;
            /** @description The workflow. */
            workflow: string;
        };
        /** @description The events of a run so far. */
        RunEvents: {
            /** @description Whether the run is over: nothing comes behind. */
            ended: boolean;
            events: components["schemas"]["RunEvent"][];
            /**
             * Format: int64
             * @description What to ask with as `after` for what comes behind.
             */
            last: number;
        };
        /** @description A page of runs, those with the newest status first. */
        RunPage: {
            /** @description What to ask with as `after` for the next page; absent on the last one. */
            next?: string | null;
            runs: components["schemas"]["WholeRun"][];
        };
        /** @description A run, as it stands. */
        RunView: {
            /**
             * Format: date-time
             * @description When it ended.
             */
            ended_at?: string | null;
            /** @description Its name, which is that of its task. */
            id: string;
            /** @description What it was given. */
            inputs: Record<string, never>;
            /** @description Where its nodes stand, in the order of the file. */
            nodes: components["schemas"]["NodeView"][];
            /** @description What waits for somebody. */
            questions: components["schemas"]["QuestionView"][];
            /** @description Why it has not succeeded. */
            reason?: string | null;
            /** @description The run that it repeats. */
            rerun_of?: string | null;
            /**
             * Format: int64
             * @description The newest entry of its log.
             */
            seq: number;
            /**
             * Format: date-time
             * @description When it began.
             */
            started_at?: string | null;
            /**
             * @description `working`, `input_required`, `auth_required`, `completed`, `failed`, `canceled` or
             *     `rejected`.
             */
            state: string;
            /**
             * Format: int32
             * @description Its version.
             */
            version: number;
            /** @description The workflow. */
            workflow: string;
        };
        /** @description What is said: at least one of these. */
        Said: {
            /** @description Any JSON value: the filled-in form, if one was asked for. */
            data?: Record<string, never> | null;
            /**
             * @description Further parts, as A2A 1.0 has them.
             * @default []
             */
            parts: Record<string, never>[];
            /** @default null */
            text: string | null;
        };
        /** @description When a trigger fires. */
        Schedule: {
            /**
             * @description Minute, hour, day of the month, month and day of the week: `0 9 * * 1-5`. Seconds may
             *     stand before them.
             */
            cron: string;
            /** @description Such as `Europe/Berlin`; `UTC` without. */
            timezone?: string;
        };
        /** @description Where a value comes from. */
        SettingSource: {
            /** @description What sort of place it is. */
            kind: components["schemas"]["SettingSourceKind"];
            /**
             * Format: int64
             * @description The line of the file, from 1.
             */
            line?: number | null;
            /** @description The file, the variable or the flag; absent for defaults. */
            name?: string | null;
            /** @description Variables that the line of the file names. */
            variables?: string[];
        };
        /**
         * @description What sort of place a value comes from. A later one wins.
         * @enum {string}
         */
        SettingSourceKind: "default" | "file" | "environment" | "flag";
        /** @description One value. */
        SettingView: {
            /** @description Whether the value is one that is not shown. */
            is_secret: boolean;
            /** @description Where it stands in the file, such as `limits.drain` or `agents[0].url`. */
            key: string;
            /** @description Where it comes from. */
            source: components["schemas"]["SettingSource"];
            /** @description The value as one would write it, absent if nothing is set. Secrets are `(secret)`. */
            value?: string | null;
        };
        /** @description A skill, in short. */
        SkillView: {
            description?: string;
            id: string;
            name: string;
            tags: string[];
        };
        /**
         * @description How an agent is (MD-07).
         * @enum {string}
         */
        Status: "provisioning" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
        /** @description A task that was told to end. */
        StoppedView: components["schemas"]["Between"] & {
            id: string;
            /**
             * @description What was last said about its end, in a line: by its agent, or by the hub in its place; only
             *     for those who may see the task.
             */
            said?: string | null;
            /** @description Its state now. One that is not over yet ends as soon as its agent lets go of it. */
            state: string;
            /** @description Why it goes on, if it does; only for those who may see the task. */
            why?: string | null;
        };
        /** @description Whether more is wanted. */
        Taken: {
            /** @description Whether the task has ended, and nothing more is. */
            ended: boolean;
        };
        /** @description An event of a task. */
        TaskEvent: {
            /** @description What readers of the task see, as A2A 1.0 has it. */
            event: Record<string, never>;
            /**
             * @description `opened`, `output` (the agent said it), `input` (somebody said it to the agent), `cancel`
             *     (somebody wants the task to end), or `snapshot`: the log no longer reaches back, and this
             *     is the task instead.
             */
            kind: string;
            /** @description What was said to the agent. */
            message?: Record<string, never> | null;
            /**
             * Format: int64
             * @description Its place in the task's log.
             */
            seq: number;
        };
        /** @description A page of events. */
        TaskEventPage: {
            /** @description Whether the task is over: nothing comes behind its last event. */
            ended: boolean;
            events: components["schemas"]["TaskEvent"][];
            /**
             * Format: int64
             * @description What to ask with as `after` for what comes behind.
             */
            last: number;
            /** @description Whether there is more already. */
            more: boolean;
        };
        /** @description A page of tasks, those with the newest status first. */
        TaskPage: {
            /** @description What to ask with as `after` for the next page; absent on the last one. */
            next?: string | null;
            tasks: components["schemas"]["TaskView"][];
            /**
             * Format: int64
             * @description How many there are on all pages, for whoever sees all.
             */
            total?: number | null;
        };
        /** @description A task in short. */
        TaskView: components["schemas"]["Between"] & {
            /** @description What was asked, in a line. */
            asked: string;
            /**
             * Format: date-time
             * @description When it began, as far back as its log reaches.
             */
            began?: string | null;
            context_id: string;
            /**
             * Format: int64
             * @description How many events there are.
             */
            events: number;
            id: string;
            /** @description The task because of which it was asked for. */
            parent?: string | null;
            /** @description What was last said about it, in a line. */
            said: string;
            /** @description As A2A names it: `TASK_STATE_WORKING`. */
            state: string;
            /**
             * Format: date-time
             * @description When that was said.
             */
            updated: string;
        };
        /** @description A ticket for a `WebSocket`, which browsers cannot open with a header. */
        TicketView: {
            /** Format: int64 */
            expires_seconds: number;
            ticket: string;
        };
        /** @description A page of the trail. */
        TrailPage: {
            /**
             * Format: int64
             * @description The first line that does not fit.
             */
            broken_at?: number | null;
            /**
             * Format: int64
             * @description What to ask with as `after` for what comes behind.
             */
            last: number;
            lines: components["schemas"]["LineView"][];
            /** @description Whether there is more already. */
            more: boolean;
            /** @description Whether the lines hang together with the one before them, if that was asked. */
            whole?: boolean | null;
        };
        /** @description A task, and the calls that were made because of it. */
        Tree: {
            /** @description The agent that works on it. */
            agent?: string | null;
            /** @description What that agent is called. */
            agent_name?: string | null;
            /** @description Who asked for it. */
            caller?: string | null;
            /** @description The calls made because of it, in the order of their making. */
            calls: components["schemas"]["Tree"][];
            /** @description The task. */
            id: string;
            /** @description Its state. */
            state: string;
        };
        /** @description All triggers of an organisation. */
        Triggers: {
            triggers: components["schemas"]["TriggerView"][];
        };
        /** @description A trigger. */
        TriggerView: {
            /** @description Whoever made it, on whose behalf runs act. */
            by: string;
            /** Format: date-time */
            created_at: string;
            id: string;
            inputs: Record<string, never>;
            last?: components["schemas"]["Fired"] | null;
            name: string;
            /**
             * Format: date-time
             * @description When it fires next.
             */
            next_at?: string | null;
            paused: boolean;
            schedule?: components["schemas"]["Schedule"] | null;
            /** @description What deliveries are signed with. Only ever shown when the trigger is made. */
            secret?: string | null;
            webhook?: components["schemas"]["HookView"] | null;
            /** @description The name of the workflow; absent if it was removed. */
            workflow?: string | null;
        };
        Updated: {
            /** @description Whether the card is in force, or waits for agreement. */
            status: string;
        };
        /** @description A version of a workflow. */
        VersionView: {
            /** Format: date-time */
            updated_at: string;
            updated_by: string;
            /** Format: int32 */
            version: number;
        };
        /**
         * @description How the health of an agent is known.
         * @enum {string}
         */
        Watch: "heartbeat" | "probe" | "hosted";
        /** @description A webhook. */
        WebhookView: {
            id: string;
            /**
             * Format: int64
             * @description The last event that was sent, or given up.
             */
            sent: number;
            /** @description Where events go; what stands behind a question mark is not shown. */
            url: string;
            /** @description The version of A2A in which events are sent. */
            version: string;
            /**
             * Format: int64
             * @description How many events are still to be sent.
             */
            waiting: number;
        };
        /** @description Who the hub takes the caller for. */
        WhoAmI: {
            /** @description Whether it is a browser that came in by a login link, and may log out. */
            browser: boolean;
            /** @description The agent that an enrolment token is for, if it is for one. */
            enrols?: string | null;
            /** @description Who signs pair tokens: their `iss`. The keys are below it, at `/.well-known/jwks.json`. */
            issuer: string;
            name?: string | null;
            organisation: string;
            role: string;
        };
        /** @description A run, and what came of it. */
        WholeRun: components["schemas"]["RunView"] & {
            /** @description Who began it. */
            caller?: string | null;
            /** @description What came of it, as A2A has it. */
            output: Record<string, never>[];
            /**
             * Format: date-time
             * @description When anything was last said about it.
             */
            updated_at: string;
        };
        /** @description A task with all that belongs to it. */
        WholeTask: components["schemas"]["TaskView"] & {
            /** @description The task itself, as A2A 1.0 has it. */
            task: Record<string, never>;
        };
        /** @description A workflow with all that belongs to it. */
        WholeWorkflow: {
            description: string;
            /** @description The same as JSON. */
            graph: Record<string, never>;
            inputs: components["schemas"]["InputView"][];
            name: string;
            /** @description What was written. */
            source: string;
            /** Format: date-time */
            updated_at: string;
            updated_by: string;
            /**
             * Format: int32
             * @description The version that this is.
             */
            version: number;
            /** @description The versions that are kept, the oldest first. */
            versions: components["schemas"]["VersionView"][];
            warnings: components["schemas"]["FlawView"][];
        };
        /** @description A header. */
        WireHeader: {
            name: string;
            /** @description Its value; `null` if that may be a secret. */
            value?: string | null;
        };
        /** @description Something that went over the wire. */
        WireItem: {
            /** Format: date-time */
            at: string;
            /** @description The body; what is too long is cut. Messages of gRPC are written out. */
            body?: string | null;
            /** @description How long the body is, in bytes. */
            bytes?: number | null;
            /** @description Which request it belongs to: the first is 1. */
            exchange: number;
            /** @description What the agent speaks, such as `a2a-0.3-http`. */
            form: string;
            headers?: components["schemas"]["WireHeader"][];
            /** @description The `id:` of a frame. */
            id?: string | null;
            /** @description Whether there is more of the body than is shown. */
            is_cut: boolean;
            /**
             * @description `request`, `answer`, `event` (a frame of a stream, or a message of gRPC), `ended` (the
             *     agent has said all), `failed`, or `left`: the hub has hung up.
             */
            kind: string;
            method?: string | null;
            path?: string | null;
            /**
             * Format: int64
             * @description Its place in the record.
             */
            seq: number;
            /** Format: int32 */
            status?: number | null;
            /** @description What went wrong. */
            why?: string | null;
        };
        /** @description The wire between the hub and an agent. */
        WireView: {
            /** @description Whether it was kept. */
            is_recorded: boolean;
            /** @description What went by, in that order. Credentials are never among it. */
            items: components["schemas"]["WireItem"][];
            /**
             * Format: int64
             * @description What to ask with as `after` for what comes behind.
             */
            last: number;
            /**
             * Format: int64
             * @description How much there was no room for.
             */
            left_out: number;
            /** @description Why there is nothing to see, for people. */
            note?: string | null;
            /**
             * @description How the agent is reached: `called`, `fetches` its work, `in_process`, or `workflow`. Only
             *     one that is called has a wire.
             */
            reach: string;
        };
        /** @description Something to be done, or to be ended. */
        Work: {
            /** @description Whether work on it is to end. */
            cancel?: boolean;
            /**
             * @description The message, as a request of `SendMessage` in A2A 1.0, in the names that the agent has
             *     given to task and conversation. To be accepted before anything is done.
             */
            request?: Record<string, never> | null;
            /** @description The hub's name of the task. */
            task: string;
        };
        /** @description All workflows that somebody may run. */
        Workflows: {
            workflows: components["schemas"]["WorkflowView"][];
        };
        /** @description A workflow in short. */
        WorkflowView: {
            description: string;
            /** @description What a run is given. */
            inputs: components["schemas"]["InputView"][];
            /** @description Its name, which is that of its agent. */
            name: string;
            /** Format: date-time */
            updated_at: string;
            updated_by: string;
            /**
             * Format: int32
             * @description The newest version.
             */
            version: number;
            /** @description How many things may yet be a mistake. */
            warnings: number;
        };
        /** @description What is to be saved. */
        Written: {
            /**
             * Format: int32
             * @description The version that this one follows; 0 if it is to be the first. Refused if there is another
             *     by now.
             */
            expect_version?: number | null;
            /** @description The workflow in YAML or JSON. */
            source: string;
        };
    };
    responses: {
        /** @description Something in the request does not fit */
        Refused400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description No credential, or one that is not valid */
        Refused401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The caller may not do this */
        Refused403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description There is no such thing, or none that the caller may know of */
        Refused404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It does not go together with what there is */
        Refused409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The agent was removed */
        Refused410: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too large */
        Refused413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is not `application/json` */
        Refused415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Too many requests; `Retry-After` says how long to wait */
        Refused429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The directory is not available now */
        Refused503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    home: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": unknown;
                };
            };
        };
    };
    aiCatalog: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/ai-catalog+json": unknown;
                };
            };
        };
    };
    jwks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jwk-set+json": unknown;
                };
            };
        };
    };
    searchAgents: {
        parameters: {
            query?: {
                after?: string;
                capability?: string;
                limit?: number;
                parent?: string;
                q?: string;
                skill?: string;
                status?: "provisioning" | "online" | "degraded" | "offline" | "failed" | "paused" | "hibernated" | "removed";
                tag?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    addAgent: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Add"];
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    removeAgent: {
        parameters: {
            query?: {
                below?: "refuse" | "lift" | "remove";
                forwarded_to?: string;
            };
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Removed"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    editAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Edit"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showCard: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    updateCard: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Updated"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showHeldCard: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    decideCard: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Agreement"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listCards: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    discoverAgent: {
        parameters: {
            query?: {
                network?: "usual" | "internal" | "external";
            };
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Discovered"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    examineAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Examination"] | null;
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoctorReport"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
            /** @description It took too long */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    heartbeat: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Beat"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Heard"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    placeAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Place"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    pauseAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listPeers: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentPage"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showReach: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Reach"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    resumeAgent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keys"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    newToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name or id of an agent */
                agent: string;
                /** @description The id of a key */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listAudit: {
        parameters: {
            query?: {
                after?: number;
                limit?: number;
                /** @description Whether to check that the lines hang together. */
                verify?: boolean;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TrailPage"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    checkCard: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Look"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Looked"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showConfiguration: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigurationView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    newEnrolment: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewEnrolment"];
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    epoch: {
        parameters: {
            query?: {
                /** @description Waits until the epoch is beyond this. */
                after?: number;
                organisation?: string;
                /** @description For at most so many seconds. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Epoch"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                after?: number;
                /** @description The name or id of an agent. */
                agent?: string;
                limit?: number;
                name?: string;
                /** @description Lets a browser's `WebSocket` in, once. */
                ticket?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                    "text/event-stream": string;
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    followEvents: {
        parameters: {
            query?: {
                after?: number;
                /** @description The name or id of an agent. */
                agent?: string;
                limit?: number;
                name?: string;
                /** @description Lets a browser's `WebSocket` in, once. */
                ticket?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events follow */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    deliver: {
        parameters: {
            query?: never;
            header: {
                /** @description Runs once, however often it is delivered */
                "X-Webhook-Id"?: string | null;
                /** @description HMAC-SHA256 of the body with the trigger's secret, in hexadecimal digits */
                "X-Webhook-Signature": string;
                /** @description Without an id: the same body of the same time runs once */
                "X-Webhook-Timestamp"?: string | null;
            };
            path: {
                /** @description The id of a trigger */
                trigger: string;
            };
            cookie?: never;
        };
        /** @description Inputs by name, or the only input */
        requestBody: {
            content: {
                "text/plain": string;
            };
        };
        responses: {
            /** @description A run has begun */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Accepted"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listInbox: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                /** @description The name or id of the agent that asks. */
                agent?: string;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InboxPage"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    answerInbox: {
        parameters: {
            query?: never;
            header?: {
                /** @description Answered once, however often it is sent */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the task that waits */
                task: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Said"];
            };
        };
        responses: {
            /** @description The agent has got it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answered"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    approveInbox: {
        parameters: {
            query?: never;
            header?: {
                /** @description Answered once, however often it is sent */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the task that waits */
                task: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Decision"];
            };
        };
        responses: {
            /** @description The agent has got it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answered"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    denyInbox: {
        parameters: {
            query?: never;
            header?: {
                /** @description Answered once, however often it is sent */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of the task that waits */
                task: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Denial"];
            };
        };
        responses: {
            /** @description The agent has got it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Answered"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Keys"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    newKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewKey"];
            };
        };
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IssuedView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a key */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    newLoginLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginLink"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    logOut: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    explain: {
        parameters: {
            query: {
                /** @description An agent's name or id, or `user:` and a name. */
                caller: string;
                operation?: string;
                skill?: string;
                target: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explained"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    register: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Register"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Registered"];
                };
            };
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Registered"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    explainRoute: {
        parameters: {
            query: {
                /** @description The id of a skill, or a tag. */
                capability: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Route"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listRules: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleList"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a rule */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    putRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a rule */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Record<string, never>;
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    removeRule: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a rule */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listRuns: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                limit?: number;
                /** @description States, with commas between them: `working,input-required`. */
                state?: string;
                /** @description The name of the workflow. */
                workflow?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeRun"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    cancelRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Canceled"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listRunEvents: {
        parameters: {
            query?: {
                /** @description Only events behind this one; all without. */
                after?: number;
            };
            header?: never;
            path: {
                /** @description The id of a run */
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunEvents"];
                    "text/event-stream": string;
                };
            };
            /** @description The run is over, and the reader has seen everything */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    answerNode: {
        parameters: {
            query?: {
                /** @description The number of the item, of a node that runs over a list. */
                item?: number;
            };
            header?: never;
            path: {
                /** @description The name of a node */
                node: string;
                /** @description The id of a run */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Said"];
            };
        };
        responses: {
            /** @description The run has got it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    rerun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a run */
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Rerun"];
            };
        };
        responses: {
            /** @description It has begun */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeRun"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                /** @description The name or id of the agent that works on them. */
                agent?: string;
                /** @description Who asked for them: `user:<name>`, or the name or id of an agent. */
                caller?: string;
                /** @description The conversation that they belong to. */
                context?: string;
                limit?: number;
                /** @description States, with commas between them: `working,input-required`. */
                state?: string;
                /** @description Only those with a status of this moment or later. */
                updated_after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showTask: {
        parameters: {
            query?: {
                /** @description At most so many of the newest messages; all without. */
                history?: number;
            };
            header?: never;
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeTask"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    cancelTask: {
        parameters: {
            query?: {
                /** @description What becomes of the calls made because of it: `cancel`, or `keep` to end it alone. */
                below?: "cancel" | "keep";
            };
            header?: never;
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Canceled"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listTaskEvents: {
        parameters: {
            query?: {
                /** @description Only those behind this one; all without. */
                after?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskEventPage"];
                    "text/event-stream": string;
                };
            };
            /** @description The task is over, and the reader has seen everything */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    replyToTask: {
        parameters: {
            query?: never;
            header?: {
                /** @description Said once, however often it is sent */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Said"];
            };
        };
        responses: {
            /** @description The agent has got it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showTaskPush: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PushView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    redeliverTaskPush: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a dead letter */
                letter: number;
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is sent again */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showTaskTree: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tree"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showTaskWire: {
        parameters: {
            query?: {
                /** @description Only what is behind this place; all without. */
                after?: number;
            };
            header?: never;
            path: {
                /** @description The id of a task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WireView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    newTicket: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Made */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TicketView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listTriggers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Triggers"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    addTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewTrigger"];
            };
        };
        responses: {
            /** @description Done */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a trigger */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    removeTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a trigger */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    pauseTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a trigger */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    resumeTrigger: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a trigger */
                trigger: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerView"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    whoAmI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoAmI"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    fetchWork: {
        parameters: {
            query?: {
                /**
                 * @description On a stream: how many messages are handed over at a time that the agent has not ended; 1
                 *     if it does not say.
                 */
                room?: number;
                /** @description At most so many seconds, and no more than 60. A stream waits for as long as it is read. */
                wait?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description There is something */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Work"];
                    "text/event-stream": string;
                };
            };
            /** @description There is nothing; ask again */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    acceptWork: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hub's name of the task */
                task: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is yours */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    bringResults: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The hub's name of the task */
                task: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Results"];
            };
        };
        responses: {
            /** @description It is kept */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Taken"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    listWorkflows: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflows"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    showWorkflow: {
        parameters: {
            query?: {
                /** @description Which version; the newest without. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description The name of a workflow */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeWorkflow"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    saveWorkflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Written"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeWorkflow"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            /** @description It cannot run: `problems` says why */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Flaws"];
                };
            };
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    removeWorkflow: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a workflow */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    beginRun: {
        parameters: {
            query?: never;
            header?: {
                /** @description Begun once, however often it is sent */
                "Idempotency-Key"?: string | null;
            };
            path: {
                /** @description The name of a workflow */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Begin"];
            };
        };
        responses: {
            /** @description It has begun */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WholeRun"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    validateWorkflow: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Draft"];
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Judged"];
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    healthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": unknown;
                };
            };
            400: components["responses"]["Refused400"];
            401: components["responses"]["Refused401"];
            403: components["responses"]["Refused403"];
            404: components["responses"]["Refused404"];
            409: components["responses"]["Refused409"];
            410: components["responses"]["Refused410"];
            413: components["responses"]["Refused413"];
            415: components["responses"]["Refused415"];
            429: components["responses"]["Refused429"];
            503: components["responses"]["Refused503"];
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
    readyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": unknown;
                };
            };
        };
    };
    version: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
        };
    };
}
