"""From findings to a verdict: what is root and what is echo, who is to blame, how sure that is. Pure."""
