package fawkes.doors;

import java.io.FileDescriptor;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.SocketOption;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Set;

import sun.nio.ch.SelChImpl;
import sun.nio.ch.SelectionKeyImpl;

/** A listening socket that hands out only the connections of those who may come in. */
final class Guarded extends ServerSocketChannel implements SelChImpl {
    private final Provider provider;
    private final ServerSocketChannel real;
    private GuardedSocket socket;

    Guarded(Provider provider, ServerSocketChannel real) {
        super(provider);
        this.provider = provider;
        this.real = real;
    }

    boolean admit(SocketChannel channel) {
        return provider.admit(real.socket().getLocalPort(), channel);
    }

    @Override
    public SocketChannel accept() throws IOException {
        while (true) {
            SocketChannel channel = real.accept();
            if (channel == null || admit(channel)) {
                return channel;
            }
        }
    }

    @Override
    public synchronized ServerSocket socket() {
        if (socket == null) {
            try {
                socket = new GuardedSocket(this, real.socket());
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
        }
        return socket;
    }

    @Override
    public ServerSocketChannel bind(SocketAddress local, int backlog) throws IOException {
        real.bind(Provider.place(local), backlog);
        return this;
    }

    @Override
    public SocketAddress getLocalAddress() throws IOException {
        return real.getLocalAddress();
    }

    @Override
    public <T> ServerSocketChannel setOption(SocketOption<T> name, T value) throws IOException {
        real.setOption(name, value);
        return this;
    }

    @Override
    public <T> T getOption(SocketOption<T> name) throws IOException {
        return real.getOption(name);
    }

    @Override
    public Set<SocketOption<?>> supportedOptions() {
        return real.supportedOptions();
    }

    @Override
    protected void implConfigureBlocking(boolean block) throws IOException {
        real.configureBlocking(block);
    }

    @Override
    protected void implCloseSelectableChannel() throws IOException {
        // A selector that still has it needs its descriptor until it lets go.
        if (!isRegistered()) {
            real.close();
        }
    }

    @Override
    public void kill() throws IOException {
        real.close();
    }

    @Override
    public FileDescriptor getFD() {
        return ((SelChImpl) real).getFD();
    }

    @Override
    public int getFDVal() {
        return ((SelChImpl) real).getFDVal();
    }

    @Override
    public boolean translateAndUpdateReadyOps(int ops, SelectionKeyImpl key) {
        return ((SelChImpl) real).translateAndUpdateReadyOps(ops, key);
    }

    @Override
    public boolean translateAndSetReadyOps(int ops, SelectionKeyImpl key) {
        return ((SelChImpl) real).translateAndSetReadyOps(ops, key);
    }

    @Override
    public int translateInterestOps(int ops) {
        return ((SelChImpl) real).translateInterestOps(ops);
    }
}
