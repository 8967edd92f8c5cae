"""Clients on the official SDKs that do the nine operations of the matrix."""
