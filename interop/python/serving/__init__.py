"""Agents on the official SDKs, for our client to call: one behaviour, each SDK, all bindings."""
