"""A workflow of agents at home, on the official SDKs in two versions, and of another workflow."""
