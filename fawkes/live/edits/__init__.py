"""Image and edits of a NameNode: read, checked, patched and kept."""
