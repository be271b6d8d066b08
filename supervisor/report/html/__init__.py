"""The report as one self-contained page: inline style, inline SVG, no script, nothing loaded. Pure."""
