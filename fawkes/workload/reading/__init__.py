"""Lines, objects and tables of bytes out of plain and packed files."""
