// HTTP server of the JDK. Each request sleeps in a monitor. The argument is the port.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Tickets {
    static final Object LOCK = new Object();

    static void bookTicket() {
        synchronized (LOCK) {
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])), 128);
        server.setExecutor(Executors.newFixedThreadPool(64));
        server.createContext("/", exchange -> {
            bookTicket();
            byte[] body = "done\n".getBytes();
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }
}
