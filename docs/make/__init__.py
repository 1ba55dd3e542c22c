"""The parts of the documents that are written from the code, so that the two cannot differ.

A page asks for such a part by a comment, ``<!-- made: NAME WORDS -->``; all lines until ``<!-- end -->`` are written anew
by ``python -m docs.make``. `docs.make.pages` has the list of names.
"""
