"""What Hadoop speaks: RPC, REST, WebHDFS."""
