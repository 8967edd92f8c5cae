"""The last official Python SDK of A2A 0.3 as a client of our server."""
