"""The official Python SDK as a client of our server."""
