"""Parts that the studies of all papers share: verdicts, pages with their exhibits, and the style of their figures."""
