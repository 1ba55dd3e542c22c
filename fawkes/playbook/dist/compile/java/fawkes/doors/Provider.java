package fawkes.doors;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProtocolFamily;
import java.net.SocketAddress;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.AbstractSelector;
import java.nio.channels.spi.SelectorProvider;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/**
 * Gives every server of this JVM, Hadoop's RPC, its web servers and those of netty alike, a door: a connection of a
 * stranger is closed before a byte of it is read. Named by `-Djava.nio.channels.spi.SelectorProvider`.
 */
public final class Provider extends SelectorProvider {
    private static final long EVERY_MS = 1000;
    // A container knows its node by this variable.
    private static final String HOME = System.getProperty("fawkes.doors.home", System.getenv().getOrDefault("NM_HOST", ""));

    private final SelectorProvider real = ofJava();
    private final Map<SocketChannel, Boolean> admitted = Collections.synchronizedMap(new WeakHashMap<>());

    public Provider() {
        Doors.ofThisHost().reread();
        Thread thread = new Thread(this::watch, "fawkes-doors");
        thread.setDaemon(true);
        thread.start();
    }

    /** Java's own: its maker has had two names. */
    private static SelectorProvider ofJava() {
        ReflectiveOperationException missing = null;
        for (String name : new String[] {"get", "create"}) {
            try {
                return (SelectorProvider) sun.nio.ch.DefaultSelectorProvider.class.getMethod(name).invoke(null);
            } catch (ReflectiveOperationException error) {
                missing = error;
            }
        }
        throw new IllegalStateException("this Java has no selector provider that is known", missing);
    }

    /** Close what those have open who were let in once and are not on the list any more. */
    private void watch() {
        while (true) {
            try {
                Thread.sleep(EVERY_MS);
            } catch (InterruptedException stop) {
                return;
            }
            if (Doors.ofThisHost().reread()) {
                for (SocketChannel channel : admitted.keySet().toArray(new SocketChannel[0])) {
                    if (!admits(channel)) {
                        close(channel);
                    }
                }
            }
        }
    }

    /** Where to listen: what would listen on every address of the host does so on the data address alone. */
    static SocketAddress place(SocketAddress wanted) {
        if (!HOME.isEmpty() && wanted instanceof InetSocketAddress) {
            InetSocketAddress place = (InetSocketAddress) wanted;
            if (place.getAddress() != null && place.getAddress().isAnyLocalAddress()) {
                return new InetSocketAddress(HOME, place.getPort());
            }
        }
        return wanted;
    }

    /** Whether a connection that was just taken may stay; it is closed otherwise. */
    boolean admit(int port, SocketChannel channel) {
        if (Doors.isWeb(port)) {
            return true;
        }
        // Remembered first: the list may change in this moment.
        admitted.put(channel, true);
        if (admits(channel)) {
            return true;
        }
        close(channel);
        return false;
    }

    private boolean admits(SocketChannel channel) {
        return channel.socket().getInetAddress() == null || Doors.ofThisHost().admits(channel.socket().getInetAddress());
    }

    private void close(SocketChannel channel) {
        admitted.remove(channel);
        try {
            channel.close();
        } catch (IOException closed) {
            // It is gone, which was all that was wanted.
        }
    }

    @Override
    public ServerSocketChannel openServerSocketChannel() throws IOException {
        return new Guarded(this, real.openServerSocketChannel());
    }

    /** As Java 15 and later have it. */
    public ServerSocketChannel openServerSocketChannel(ProtocolFamily family) throws IOException {
        return openServerSocketChannel();
    }

    /** As Java 15 and later have it. */
    public SocketChannel openSocketChannel(ProtocolFamily family) throws IOException {
        return real.openSocketChannel();
    }

    @Override
    public SocketChannel openSocketChannel() throws IOException {
        return real.openSocketChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel() throws IOException {
        return real.openDatagramChannel();
    }

    @Override
    public DatagramChannel openDatagramChannel(ProtocolFamily family) throws IOException {
        return real.openDatagramChannel(family);
    }

    @Override
    public Pipe openPipe() throws IOException {
        return real.openPipe();
    }

    @Override
    public AbstractSelector openSelector() throws IOException {
        return real.openSelector();
    }
}
