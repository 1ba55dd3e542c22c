package fawkes.doors;

import java.net.InetSocketAddress;
import java.net.SocketAddress;

import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.util.AttributeKey;
import io.netty.util.ReferenceCountUtil;
import org.apache.hadoop.conf.Configuration;

/** The door of a DataNode's web server, WebHDFS included: what `WebDoor` is elsewhere. */
@Sharable
public final class DataDoor extends ChannelInboundHandlerAdapter {
    private static final AttributeKey<Boolean> SHUT = AttributeKey.valueOf("fawkes.doors.shut");

    public DataDoor(Doors doors) {
    }

    /** As Hadoop wants it: what its constructor gets. */
    public static Doors initializeState(Configuration conf) {
        return Doors.ofThisHost();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        if (Boolean.TRUE.equals(context.channel().attr(SHUT).get())) {
            ReferenceCountUtil.release(message);
        } else if (message instanceof HttpRequest && !admits(context, (HttpRequest) message)) {
            ReferenceCountUtil.release(message);
            context.channel().attr(SHUT).set(true);
            DefaultFullHttpResponse answer = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.FORBIDDEN);
            answer.headers().set("content-length", 0).set("connection", "close");
            context.writeAndFlush(answer).addListener(ChannelFutureListener.CLOSE);
        } else {
            context.fireChannelRead(message);
        }
    }

    private static boolean admits(ChannelHandlerContext context, HttpRequest request) {
        SocketAddress caller = context.channel().remoteAddress();
        return caller instanceof InetSocketAddress && Doors.ofThisHost().admits(((InetSocketAddress) caller).getAddress())
            || Doors.ofThisHost().isKey(request.headers().get(Doors.HEADER));
    }
}
