//! A2A 0.2.x on JSON-RPC.
