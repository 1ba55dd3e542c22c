"""The parts of the documents that are written from the code, so that the two cannot differ.

A page asks for such a part by a comment, ``<!-- made: NAME WORDS -->``. ``python -m docs.make`` writes all lines from
there to ``<!-- end -->``. `docs.make.pages` has the list of names.
"""
