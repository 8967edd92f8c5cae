//! A2A 0.3 on JSON-RPC.
