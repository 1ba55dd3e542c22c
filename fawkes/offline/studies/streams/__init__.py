"""Elastic streams: chapter 4 of Jack Li's thesis, repeated offline."""
