"""The same agent on the last official Python SDK of A2A 0.3."""
