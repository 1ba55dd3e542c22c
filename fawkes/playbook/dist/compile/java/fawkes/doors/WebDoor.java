package fawkes.doors;

import java.io.IOException;
import java.net.InetAddress;
import java.util.Map;

import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.http.FilterContainer;
import org.apache.hadoop.http.FilterInitializer;

/** The door of a daemon's web server: 403 for whoever is not on the list and does not send the controller's key. */
public final class WebDoor extends FilterInitializer implements Filter {
    @Override
    public void initFilter(FilterContainer container, Configuration conf) {
        container.addGlobalFilter("fawkes-doors", WebDoor.class.getName(), Map.of());
    }

    @Override
    public void init(FilterConfig config) {
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain) throws IOException, ServletException {
        String key = ((HttpServletRequest) request).getHeader(Doors.HEADER);
        if (Doors.ofThisHost().admits(InetAddress.getByName(request.getRemoteAddr())) || Doors.ofThisHost().isKey(key)) {
            chain.doFilter(request, response);
        } else {
            ((HttpServletResponse) response).sendError(HttpServletResponse.SC_FORBIDDEN, "not on the list of this MR-cluster");
        }
    }

    @Override
    public void destroy() {
    }
}
