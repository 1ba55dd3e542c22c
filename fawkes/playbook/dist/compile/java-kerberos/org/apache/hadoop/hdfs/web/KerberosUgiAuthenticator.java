package org.apache.hadoop.hdfs.web;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;
import java.security.PrivilegedExceptionAction;
import java.util.Base64;

import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.security.authentication.client.AuthenticatedURL;
import org.apache.hadoop.security.authentication.client.AuthenticationException;
import org.apache.hadoop.security.authentication.client.Authenticator;
import org.apache.hadoop.security.authentication.client.ConnectionConfigurator;
import org.apache.hadoop.security.authentication.client.KerberosAuthenticator;
import org.apache.hadoop.security.authentication.client.PseudoAuthenticator;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSException;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.Oid;

/**
 * In the place of Hadoop's class of this name, by which NameNodes and JournalNodes fetch images and edits from each other: that one
 * asks for a ticket of the server's host. Here all web servers of an MR-cluster have one principal, HTTP/NAME, for daemons hadoop/NAME.
 */
public class KerberosUgiAuthenticator extends KerberosAuthenticator {
    private static final String KERBEROS = "1.2.840.113554.1.2.2";
    private static final String PRINCIPAL = "1.2.840.113554.1.2.2.1";

    private ConnectionConfigurator configurator;

    @Override
    public void setConnectionConfigurator(ConnectionConfigurator configurator) {
        super.setConnectionConfigurator(configurator);
        this.configurator = configurator;
    }

    @Override
    public void authenticate(URL url, AuthenticatedURL.Token token) throws IOException, AuthenticationException {
        UserGroupInformation me = UserGroupInformation.getCurrentUser();
        int slash = me.getUserName().indexOf('/');
        if (token.isSet() || slash < 0 || !me.hasKerberosCredentials()) {
            super.authenticate(url, token);
            return;
        }
        String server = "HTTP" + me.getUserName().substring(slash);
        byte[] proof;
        try {
            proof = me.doAs((PrivilegedExceptionAction<byte[]>) () -> proof(server));
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IOException(error);
        }
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        if (configurator != null) {
            connection = configurator.configure(connection);
        }
        connection.setRequestMethod("OPTIONS");
        connection.setRequestProperty(AUTHORIZATION, NEGOTIATE + " " + Base64.getEncoder().encodeToString(proof));
        connection.connect();
        try {
            AuthenticatedURL.extractToken(connection, token);
        } finally {
            connection.disconnect();
        }
    }

    private static byte[] proof(String server) throws IOException {
        try {
            GSSManager manager = GSSManager.getInstance();
            GSSName name = manager.createName(server, new Oid(PRINCIPAL));
            GSSContext context = manager.createContext(name, new Oid(KERBEROS), null, GSSContext.DEFAULT_LIFETIME);
            try {
                // The server is known by its certificate.
                context.requestMutualAuth(false);
                return context.initSecContext(new byte[0], 0, 0);
            } finally {
                context.dispose();
            }
        } catch (GSSException error) {
            throw new IOException("no ticket for " + server + ": " + error.getMessage(), error);
        }
    }

    @Override
    protected Authenticator getFallBackAuthenticator() {
        return new PseudoAuthenticator() {
            @Override
            protected String getUserName() {
                try {
                    return UserGroupInformation.getLoginUser().getUserName();
                } catch (IOException error) {
                    throw new SecurityException("Failed to obtain current username", error);
                }
            }
        };
    }
}
