package fawkes.doors;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Who may speak to the daemons of this MR-cluster: the addresses in the file `doors.list` of the configuration folder, one address or
 * network in each line, and the host itself. Fawkes replaces the file while the daemons run; each change counts within a second.
 *
 * The controller is known by the key in `doors.key`, which it sends with each request to a web server.
 */
final class Doors {
    static final String HEADER = "X-Fawkes-Key";

    private static final Doors OF_THIS_HOST = new Doors(Path.of(
        System.getProperty("fawkes.doors", System.getenv().getOrDefault("HADOOP_CONF_DIR", "."))));
    private static final Set<Integer> WEB = numbers(System.getProperty("fawkes.doors.web", ""));

    private final Path list;
    private final Path key;
    private volatile Lists known = new Lists("", List.of(), Set.of());

    Doors(Path folder) {
        list = folder.resolve("doors.list");
        key = folder.resolve("doors.key");
    }

    static Doors ofThisHost() {
        return OF_THIS_HOST;
    }

    /** Whether a filter asks the callers of this port: then anybody may connect. */
    static boolean isWeb(int port) {
        return WEB.contains(port);
    }

    /** Whether a caller may come in by its address. */
    boolean admits(InetAddress caller) {
        // A node may have joined a moment ago.
        return caller != null && (caller.isLoopbackAddress() || known.has(caller) || reread() && known.has(caller));
    }

    /** Whether this is the controller's key. */
    boolean isKey(String text) {
        if (text == null) {
            return false;
        }
        try {
            byte[] ours = Files.readString(key).strip().getBytes(StandardCharsets.UTF_8);
            return ours.length > 0 && MessageDigest.isEqual(ours, text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            return false;
        }
    }

    /** Read the list if it has changed; whether it has. One that cannot be read changes nothing: at first nobody comes in. */
    synchronized boolean reread() {
        try {
            BasicFileAttributes facts = Files.readAttributes(list, BasicFileAttributes.class);
            String version = facts.fileKey() + " " + facts.lastModifiedTime() + " " + facts.size();
            if (version.equals(known.version)) {
                return false;
            }
            Set<InetAddress> hosts = new HashSet<>();
            List<Network> networks = new ArrayList<>();
            for (String line : Files.readAllLines(list)) {
                int slash = line.indexOf('/');
                if (slash >= 0) {
                    byte[] first = InetAddress.getByName(line.substring(0, slash)).getAddress();
                    networks.add(new Network(first, Integer.parseInt(line.substring(slash + 1).strip())));
                } else if (!line.isBlank()) {
                    hosts.add(InetAddress.getByName(line.strip()));
                }
            }
            known = new Lists(version, networks, hosts);
            return true;
        } catch (IOException | NumberFormatException error) {
            return false;
        }
    }

    private static Set<Integer> numbers(String text) {
        Set<Integer> found = new HashSet<>();
        for (String word : text.split(",")) {
            if (!word.isBlank()) {
                found.add(Integer.valueOf(word.strip()));
            }
        }
        return found;
    }

    private static final class Lists {
        final String version;
        final List<Network> networks;
        final Set<InetAddress> hosts;

        Lists(String version, List<Network> networks, Set<InetAddress> hosts) {
            this.version = version;
            this.networks = networks;
            this.hosts = hosts;
        }

        boolean has(InetAddress caller) {
            return hosts.contains(caller) || networks.stream().anyMatch(network -> network.has(caller.getAddress()));
        }
    }

    private static final class Network {
        final byte[] first;
        final int bits;

        Network(byte[] first, int bits) {
            this.first = first;
            this.bits = bits;
        }

        boolean has(byte[] caller) {
            if (caller.length != first.length) {
                return false;
            }
            for (int at = 0; at < bits; at++) {
                int mask = 0x80 >> (at & 7);
                if ((caller[at >> 3] & mask) != (first[at >> 3] & mask)) {
                    return false;
                }
            }
            return true;
        }
    }
}
