package fawkes.doors;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.nio.channels.ServerSocketChannel;

/** The same listening socket, for code that does not speak to the channel itself. */
final class GuardedSocket extends ServerSocket {
    private final Guarded channel;
    private final ServerSocket real;

    GuardedSocket(Guarded channel, ServerSocket real) throws IOException {
        this.channel = channel;
        this.real = real;
    }

    @Override
    public Socket accept() throws IOException {
        while (true) {
            Socket socket = real.accept();
            if (channel.admit(socket.getChannel())) {
                return socket;
            }
        }
    }

    @Override
    public void bind(SocketAddress local) throws IOException {
        real.bind(Provider.place(local));
    }

    @Override
    public void bind(SocketAddress local, int backlog) throws IOException {
        real.bind(Provider.place(local), backlog);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }

    @Override
    public ServerSocketChannel getChannel() {
        return channel;
    }

    @Override
    public InetAddress getInetAddress() {
        return real.getInetAddress();
    }

    @Override
    public int getLocalPort() {
        return real.getLocalPort();
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
        return real.getLocalSocketAddress();
    }

    @Override
    public boolean isBound() {
        return real.isBound();
    }

    @Override
    public boolean isClosed() {
        return !channel.isOpen();
    }

    @Override
    public void setSoTimeout(int milliseconds) throws SocketException {
        real.setSoTimeout(milliseconds);
    }

    @Override
    public int getSoTimeout() throws IOException {
        return real.getSoTimeout();
    }

    @Override
    public void setReuseAddress(boolean on) throws SocketException {
        real.setReuseAddress(on);
    }

    @Override
    public boolean getReuseAddress() throws SocketException {
        return real.getReuseAddress();
    }

    @Override
    public void setReceiveBufferSize(int size) throws SocketException {
        real.setReceiveBufferSize(size);
    }

    @Override
    public int getReceiveBufferSize() throws SocketException {
        return real.getReceiveBufferSize();
    }

    @Override
    public String toString() {
        return real.toString();
    }
}
