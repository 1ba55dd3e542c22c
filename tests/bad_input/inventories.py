"""Cases of inventories."""

from __future__ import annotations

import random

from tests.bad_input.support import (
    CHECK,
    INVENTORY,
    REQUEST,
    command,
    edited,
    fifo,
    folder,
    inventory,
    link,
    named,
    pooled,
)

CASES = (
    inventory("baseline (must work)", INVENTORY, 0, ""),
    inventory("empty file", "", 2, "inventory.toml: pool: is missing. Give a name for the pool, such as"),
    inventory(
        "binary garbage",
        random.Random(7).randbytes(400),
        2,
        "inventory.toml: line 1: is not ",
    ),
    inventory(
        "NUL bytes", b'pool = "p"\x00\n', 2, "inventory.toml: line 1: is not text: byte 10 is NUL. Save the file as"
    ),
    inventory("UTF-8 BOM", b"\xef\xbb\xbf" + INVENTORY.encode(), 0, ""),
    inventory(
        "UTF-16", INVENTORY.encode("utf-16"), 2, "inventory.toml: is UTF-16, not UTF-8. Save the file as UTF-8 text"
    ),
    inventory(
        "Latin-1 umlaut",
        INVENTORY.replace('"r1"', '"r1" # Gerät').encode("latin-1"),
        2,
        "inventory.toml: line 5: is not UTF-8 text (byte 60). Save the file as",
    ),
    inventory("CRLF line ends", INVENTORY.replace("\n", "\r\n"), 0, ""),
    inventory(
        "old-Mac CR line ends",
        INVENTORY.replace("\n", "\r"),
        2,
        "inventory.toml: line 1, column 11: is not valid TOML: expected",
    ),
    inventory(
        "typo key 'node' for 'nodes'",
        edited("nodes =", "node ="),
        2,
        "inventory.toml: group[r1].nodes: is missing. Give the nodes of the",
    ),
    inventory(
        "typo key 'wrok_dir'",
        edited("work_dir", "wrok_dir"),
        2,
        "inventory.toml: group[r1].wrok_dir: unknown key 'wrok_dir'. Did you",
    ),
    inventory(
        "cores a text",
        edited("cores = 8", 'cores = "eight"'),
        2,
        "inventory.toml: group[r1].cores: 'eight' is text, not a whole number",
    ),
    inventory(
        "cores negative",
        edited("cores = 8", "cores = -8"),
        2,
        "inventory.toml: group[r1].cores: -8 is too small. It must be at least",
    ),
    inventory(
        "cores 0",
        edited("cores = 8", "cores = 0"),
        2,
        "inventory.toml: group[r1].cores: 0 is too small. It must be at least 1",
    ),
    inventory(
        "cores 1e30",
        edited("cores = 8", "cores = 1e30"),
        2,
        "inventory.toml: group[r1].cores: 1e+30 is a number, not a whole number",
    ),
    inventory(
        "cores 10**30",
        edited("cores = 8", "cores = " + "9" * 30),
        2,
        "inventory.toml: group[#1].cores: the number is too large. Whole",
    ),
    inventory(
        "cores nan",
        edited("cores = 8", "cores = nan"),
        2,
        "inventory.toml: group[r1].cores: nan is a number, not a whole number",
    ),
    inventory(
        "memory without unit",
        edited('"16GB"', "16"),
        2,
        "inventory.toml: group[r1].memory: 16 has no unit. Write a size with",
    ),
    inventory(
        "memory negative",
        edited('"16GB"', '"-16GB"'),
        2,
        "inventory.toml: group[r1].memory: '-16GB' is not a size: write a",
    ),
    inventory("memory 10^40 EB", edited('"16GB"', '"' + "9" * 40 + 'EB"'), 2, "inventory.toml: group[r1].memory:"),
    inventory(
        "range node[10-01]",
        named("node[10-01]"),
        2,
        "inventory.toml: group[r1].nodes: 'node[10-01]' is no node set (bad",
    ),
    inventory(
        "range unclosed node[01-03",
        edited("node[01-03]", "node[01-03"),
        2,
        "inventory.toml: group[r1].nodes: 'node[01-03' is no node set (missing",
    ),
    inventory(
        "range with letters node[a-z]",
        edited("node[01-03]", "node[a-z]"),
        2,
        "inventory.toml: group[r1].nodes: 'node[a-z]' is no node set (bad",
    ),
    inventory(
        "range node[1-1000000] (no addresses)",
        pooled("node[1-1000000]"),
        2,
        "inventory.toml: group[r1].nodes: 'node[1-1000000]' names 1,000,000",
    ),
    inventory(
        "range node[1-999999999999]",
        pooled("node[1-999999999999]"),
        2,
        "inventory.toml: group[r1].nodes: 'node[1-999999999999]' names",
        risky=True,
    ),
    inventory(
        "empty node set",
        edited("node[01-03]", ""),
        2,
        "inventory.toml: group[r1].nodes: '' has an empty name in it: a comma",
    ),
    inventory(
        "node name with space",
        named("my node"),
        2,
        "inventory.toml: group[r1].nodes: 'my node' in 'my node' cannot be a",
    ),
    inventory(
        "node name ';rm -rf ~'",
        named("n1;rm -rf ~"),
        2,
        "inventory.toml: group[r1].nodes: 'n1;rm -rf ~' in 'n1;rm -rf ~'",
    ),
    inventory(
        "node name '$(id)'", named("$(id)"), 2, "inventory.toml: group[r1].nodes: '$(id)' in '$(id)' cannot be a host"
    ),
    inventory(
        "node name '../../x'",
        named("../../x"),
        2,
        "inventory.toml: group[r1].nodes: '../../x' in '../../x' cannot be a",
    ),
    inventory(
        "node name '-oProxyCommand=id'",
        named("-oProxyCommand=id"),
        2,
        "inventory.toml: group[r1].nodes: '-oProxyCommand=id' in",
    ),
    inventory(
        "node name unicode 'nöde1'",
        named("nöde1"),
        2,
        "inventory.toml: group[r1].nodes: 'nöde1' in 'nöde1' cannot be a host",
    ),
    inventory("node name 5,000 letters", named("n" * 5000), 2, "inventory.toml: group[r1].nodes:"),
    inventory(
        "address count differs",
        edited("127.0.0.[1-3]", "127.0.0.[1-4]"),
        2,
        "inventory.toml: group[r1].address: '127.0.0.[1-4]' has 4 addresses",
    ),
    inventory(
        "address 999.1.1.[1-3]",
        edited("127.0.0.[1-3]", "999.1.1.[1-3]"),
        2,
        "inventory.toml: group[r1].address: '999.1.1.1' in '999.1.1.[1-3]'",
    ),
    inventory(
        "address IPv6 list 'fd00::1,fd00::2,fd00::3'",
        edited("127.0.0.[1-3]", "fd00::1,fd00::2,fd00::3"),
        2,
        "inventory.toml: group[r1].address: 'fd00::1' in",
    ),
    inventory(
        "address IPv6 range fd00::[1-3]",
        edited("127.0.0.[1-3]", "fd00::[1-3]"),
        2,
        "inventory.toml: group[r1].address: 'fd00::1' in 'fd00::[1-3]' cannot",
    ),
    inventory(
        "address with ;touch pwned",
        edited("127.0.0.[1-3]", "a;touch pwned,b,c"),
        2,
        "inventory.toml: group[r1].address: 'a;touch pwned' in 'a;touch",
    ),
    inventory(
        "same address twice",
        edited("127.0.0.[1-3]", "127.0.0.1,127.0.0.1,127.0.0.2"),
        2,
        "inventory.toml: group[r1].address: '127.0.0.1,127.0.0.1,127.0.0.2'",
    ),
    inventory(
        "node in two groups",
        INVENTORY
        + INVENTORY[INVENTORY.index("[[group]]") :].replace('"r1"', '"r2"').replace("127.0.0.[1-3]", "127.0.1.[1-3]"),
        2,
        "inventory.toml: group[r2].nodes: node 'node01' is in the groups 'r1'",
    ),
    inventory(
        "two groups of one name",
        INVENTORY
        + INVENTORY[INVENTORY.index("[[group]]") :]
        .replace("node[01-03]", "m[01-03]")
        .replace("127.0.0.[1-3]", "127.0.1.[1-3]"),
        2,
        "inventory.toml: group[r1]: two groups are named 'r1'. Give each group",
    ),
    inventory(
        "port 0",
        edited("port = 1", "port = 0"),
        2,
        "inventory.toml: group[r1].port: 0 is too small. It must be at least 1",
    ),
    inventory(
        "port 70000",
        edited("port = 1", "port = 70000"),
        2,
        "inventory.toml: group[r1].port: 70,000 is too large. It may be at",
    ),
    inventory(
        "port text '22'",
        edited("port = 1", 'port = "22"'),
        2,
        "inventory.toml: group[r1].port: '22' is text, not a whole number",
    ),
    inventory(
        "port 22.5",
        edited("port = 1", "port = 22.5"),
        2,
        "inventory.toml: group[r1].port: 22.5 is a number, not a whole number",
    ),
    inventory(
        "user 'a b;id'",
        edited('"hadoop"', '"a b;id"'),
        2,
        "inventory.toml: ssh.user: 'a b;id' cannot be a user name. Use",
    ),
    inventory(
        "user empty", edited('"hadoop"', '""'), 2, "inventory.toml: ssh.user: '' cannot be a user name. Use letters,"
    ),
    inventory(
        "user '-l root'",
        edited('"hadoop"', '"-l root"'),
        2,
        "inventory.toml: ssh.user: '-l root' cannot be a user name. Use",
    ),
    inventory(
        "work_dir relative",
        edited('"/srv/fawkes"', '"srv/fawkes"'),
        2,
        "inventory.toml: group[r1].work_dir: 'srv/fawkes' is no absolute path.",
    ),
    inventory(
        "work_dir '/'",
        edited('"/srv/fawkes"', '"/"'),
        2,
        "inventory.toml: group[r1].work_dir: '/' is no folder to work in. Name",
    ),
    inventory(
        "work_dir '/srv/../etc'",
        edited('"/srv/fawkes"', '"/srv/../etc"'),
        2,
        "inventory.toml: group[r1].work_dir: '/srv/../etc' is no folder to",
    ),
    inventory("work_dir with quote+;", edited('"/srv/fawkes"', "'/srv/x\";touch pwned;\"'"), 0, ""),
    inventory(
        "work_dir with newline",
        edited('"/srv/fawkes"', '"/srv/a\\nb"'),
        2,
        "inventory.toml: group[r1].work_dir: '/srv/a\\nb' is no absolute path.",
    ),
    inventory(
        "work_dir '~root/x'",
        edited('"/srv/fawkes"', '"~root/x"'),
        2,
        "inventory.toml: group[r1].work_dir: '~root/x' is no absolute path.",
    ),
    inventory("work_dir '/home'", edited('"/srv/fawkes"', '"/home"'), 0, ""),
    inventory(
        "pool '../../x'",
        edited('pool = "p"', 'pool = "../../x"'),
        2,
        "inventory.toml: pool: '../../x' cannot be a name here. Use up to 63",
    ),
    inventory(
        "pool 'my pool; id'",
        edited('pool = "p"', 'pool = "my pool; id"'),
        2,
        "inventory.toml: pool: 'my pool; id' cannot be a name here. Use up to",
    ),
    inventory(
        "user root",
        edited('user = "hadoop"', 'user = "root"'),
        2,
        "inventory.toml: ssh.user: daemons and jobs would run as 'root' on the nodes. Give a user without rights",
    ),
    inventory("key file missing", edited('user = "hadoop"', 'user = "hadoop"\nkey = "nosuch"'), 0, ""),
    inventory("key is a folder", edited('user = "hadoop"', 'user = "hadoop"\nkey = "clusters"'), 0, ""),
    inventory("known_hosts is a folder", edited('user = "hadoop"', 'user = "hadoop"\nknown_hosts = "clusters"'), 0, ""),
    inventory(
        "[node.node99] of no group",
        INVENTORY + "[node.node99]\ncores = 1\n",
        2,
        "inventory.toml: node.node99: no group has a node 'node99'. Did you",
    ),
    inventory(
        "capacity inf",
        INVENTORY + "capacity = inf\n",
        2,
        "inventory.toml: group[r1].capacity: inf is wrong: it must be a finite",
    ),
    inventory(
        "group a table, not a list",
        INVENTORY.replace("[[group]]", "[group]"),
        2,
        "inventory.toml: group: {'name': 'r1', 'nodes': 'node[01-03]',",
    ),
    inventory(
        "nested 5,000 deep",
        "a = " + "[" * 5000 + "]" * 5000,
        2,
        "inventory.toml: has tables or lists inside of each other, more than",
    ),
    inventory(
        "100,000 [node.X] tables",
        INVENTORY + "".join(f"[node.x{i}]\ncores=1\n" for i in range(20000)),
        2,
        "inventory.toml: node.x0: no group has a node 'x0'. Known: node01,",
    ),
    inventory(
        "ClusterShell group @all",
        named("@all"),
        2,
        "inventory.toml: group[r1].nodes: '@all' uses the ClusterShell group",
    ),
    command(
        "inventory",
        "missing file",
        REQUEST,
        2,
        "inventory.toml: there is no such file. Write one (`fawkes init` and",
        files={"inventory.toml": None},
    ),
    command(
        "inventory",
        "a directory",
        REQUEST,
        2,
        "inventory.toml: is a folder, not a file. Name a regular file",
        files={"inventory.toml": None},
        prepare=folder("inventory.toml"),
    ),
    command(
        "inventory",
        "symlink loop",
        REQUEST,
        2,
        "inventory.toml: is a link that leads back to itself. Repair or remove",
        files={"inventory.toml": None},
        prepare=link("inventory.toml", "inventory.toml"),
    ),
    command(
        "inventory",
        "dangling symlink",
        REQUEST,
        2,
        "inventory.toml: is a link to a file that does not exist. Repair or",
        files={"inventory.toml": None},
        prepare=link("inventory.toml", "/nosuch"),
    ),
    command(
        "inventory",
        "a FIFO",
        REQUEST,
        2,
        "inventory.toml: is a named pipe, not a file. Name a regular file",
        files={"inventory.toml": None},
        prepare=fifo("inventory.toml"),
        risky=True,
    ),
    command(
        "inventory",
        "/dev/zero as symlink",
        REQUEST,
        2,
        "inventory.toml: is a device, not a file. Name a regular file",
        files={"inventory.toml": None},
        prepare=link("inventory.toml", "/dev/zero"),
        risky=True,
    ),
    command(
        "inventory",
        "Ansible INI inventory",
        REQUEST,
        2,
        "inventory.toml: line 2, column 8: is not valid TOML: expected '='",
        files={"inventory.toml": "[hadoop]\nnode01 ansible_host=10.0.0.1\n"},
    ),
    command(
        "inventory",
        "Ansible YAML inventory",
        REQUEST,
        2,
        "inventory.toml: line 1, column 4: is not valid TOML: expected '='",
        files={"inventory.toml": "all:\n  hosts:\n    node01:\n"},
    ),
    inventory(
        "digits by the thousand",
        edited("cores = 8", "cores = " + "9" * 5000),
        2,
        "inventory.toml: has a number with too many digits",
    ),
    inventory(
        "a number in hexadecimal beyond 64 bits",
        edited("cores = 8", "cores = 0x1" + "0" * 5000),
        2,
        "inventory.toml: group[#1].cores: the number is too large",
    ),
    inventory("keys nested by dots", "a" + ".a" * 500 + " = 1\n", 2, "inventory.toml: a.a.a"),
    inventory("a key of 100,000 letters", INVENTORY + "a" * 100_000 + " = 1\n", 2, "inventory.toml: group[r1].aaa"),
    inventory(
        "NUL in a text", edited('"hadoop"', '"a\\u0000b"'), 2, "inventory.toml: ssh.user: 'a\\x00b' has a NUL character"
    ),
    inventory(
        "NUL in a key", INVENTORY + '"a\\u0000b" = 1\n', 2, "inventory.toml: the key 'a\\x00b' has a NUL character"
    ),
    inventory(
        "a date in place of a number", edited("cores = 8", "cores = 2026-05-04"), 2, "inventory.toml: group[r1].cores: "
    ),
    inventory("UTF-32", INVENTORY.encode("utf-32"), 2, "inventory.toml: is UTF-32, not UTF-8"),
    inventory("9 MB of comments", INVENTORY + "#" * 9_000_000, 2, "inventory.toml: is larger than 8 MiB"),
    inventory(
        "200,000 names",
        edited("node[01-03]", ",".join(f"n{n}" for n in range(200_000))),
        2,
        "inventory.toml: group[r1].nodes: 'n0,n1",
    ),
    inventory(
        "several sets of too many nodes",
        pooled("a[1-60000],b[1-60000]"),
        2,
        "inventory.toml: group[r1].nodes: 'a[1-60000],b[1-60000]' names 120,000",
    ),
    inventory(
        "too many nodes in several groups",
        pooled("a[1-60000]")
        + INVENTORY[INVENTORY.index("[[group]]") :]
        .replace("node[01-03]", "b[1-60000]")
        .replace('address = "127.0.0.[1-3]"\n', "")
        .replace('"r1"', '"r2"'),
        2,
        "inventory.toml: group[r2].nodes: the pool has more than 100,000 nodes",
    ),
    inventory(
        "brackets that multiply", pooled("n" + "[1-10]" * 40), 2, "inventory.toml: group[r1].nodes: 'n[1-10][1-10]"
    ),
    inventory(
        "a range with digits by the thousand",
        pooled(f"n[1-{'9' * 5000}]"),
        2,
        "inventory.toml: group[r1].nodes: 'n[1-999",
    ),
    inventory(
        "capacity 1e-9", INVENTORY + "capacity = 1e-9\n", 2, "inventory.toml: group[r1].capacity: 1e-09 is too small"
    ),
    inventory(
        "capacity 10**12", INVENTORY + "capacity = 1e12\n", 2, "inventory.toml: group[r1].capacity: 1e+12 is too large"
    ),
    inventory(
        "a key in the home of nobody", edited('user = "hadoop"', 'user = "hadoop"\nkey = "~no-such-user/id"'), 0, ""
    ),
    command(
        "inventory",
        "a device",
        REQUEST,
        2,
        "inventory.toml: is a device, not a file",
        files={"inventory.toml": None},
        prepare=link("inventory.toml", "/dev/urandom"),
        risky=True,
    ),
    command(
        "inventory",
        "a file of the kernel without an end",
        REQUEST,
        2,
        "inventory.toml: cannot be read",
        files={"inventory.toml": None},
        prepare=link("inventory.toml", "/proc/self/mem"),
        risky=True,
    ),
    command(
        "inventory",
        "a FIFO of known hosts",
        CHECK,
        1,
        "",
        files={"inventory.toml": edited('user = "hadoop"', 'user = "hadoop"\nknown_hosts = "hosts"')},
        prepare=fifo("hosts"),
        risky=True,
    ),
)
