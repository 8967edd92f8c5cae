"""The official Python SDK of the Model Context Protocol gives work to agents by our tools."""
