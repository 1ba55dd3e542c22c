"""The protocols of Hadoop: RPC, REST, WebHDFS."""
