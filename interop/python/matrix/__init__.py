"""The matrix: every SDK as client and as agent, on every binding in every version."""
