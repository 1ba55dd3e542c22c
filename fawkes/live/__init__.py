"""The live world: real nodes over SSH, real Hadoop over HTTP."""
