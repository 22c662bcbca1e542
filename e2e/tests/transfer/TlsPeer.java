// The JDK's own TLS as a peer of ours: `client FOLDER PORT NAME` checks the server's certificate against ca.crt and NAME;
// `server FOLDER ANSWER` shows tls.crt, demands a certificate of the same authority, and answers every request.

import java.io.FileInputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

final class TlsPeer {
  private static final char[] NO_PASSWORD = new char[0];

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[1]);
    if (args[0].equals("client")) {
      client(folder, Integer.parseInt(args[2]), args[3]);
    } else {
      server(folder, args[2]);
    }
  }

  private static void client(Path folder, int port, String name) throws Exception {
    Socket tcp = new Socket(InetAddress.getLoopbackAddress(), port);
    SSLSocket socket = (SSLSocket) context(folder, null).getSocketFactory().createSocket(tcp, name, port, true);
    var parameters = socket.getSSLParameters();
    parameters.setEndpointIdentificationAlgorithm("HTTPS");
    socket.setSSLParameters(parameters);
    socket.startHandshake();
    var peer = (X509Certificate) socket.getSession().getPeerCertificates()[0];
    System.out.println(socket.getSession().getProtocol() + " " + peer.getSubjectX500Principal());
  }

  private static void server(Path folder, String answer) throws Exception {
    var factory = context(folder, keys(folder)).getServerSocketFactory();
    var listener = (SSLServerSocket) factory.createServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    listener.setNeedClientAuth(true);
    System.out.println("listening at 127.0.0.1:" + listener.getLocalPort());
    while (true) {
      try (SSLSocket socket = (SSLSocket) listener.accept()) {
        socket.startHandshake();
        socket.getInputStream().read(new byte[4096]);
        String head = "HTTP/1.1 200 OK\r\ncontent-length: " + answer.length() + "\r\n\r\n";
        socket.getOutputStream().write((head + answer).getBytes(StandardCharsets.US_ASCII));
      }
    }
  }

  private static SSLContext context(Path folder, KeyManager[] keys) throws Exception {
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("authority", certificate(folder.resolve("ca.crt")));
    var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLSv1.3");
    context.init(keys, trust.getTrustManagers(), null);
    return context;
  }

  private static KeyManager[] keys(Path folder) throws Exception {
    String pem = Files.readString(folder.resolve("tls.key"));
    byte[] der = Base64.getMimeDecoder().decode(pem.replaceAll("-----[A-Z ]+-----", ""));
    PrivateKey key = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(der));
    KeyStore own = KeyStore.getInstance("PKCS12");
    own.load(null, null);
    own.setKeyEntry("own", key, NO_PASSWORD, new Certificate[] {certificate(folder.resolve("tls.crt"))});
    var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(own, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  private static Certificate certificate(Path path) throws Exception {
    try (var stream = new FileInputStream(path.toFile())) {
      return CertificateFactory.getInstance("X.509").generateCertificate(stream);
    }
  }
}
