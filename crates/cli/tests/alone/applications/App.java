import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** Web server of one known limit: a pool of six threads, each of which waits 12 ms. */
public class App {
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 128);
        boolean locked = args[0].equals("lock");
        Object lock = new Object();
        server.createContext("/", exchange -> {
            byte[] body = "done\n".getBytes();
            if (locked) {
                synchronized (lock) { work(); }
            } else {
                try { Thread.sleep(12); } catch (InterruptedException e) { return; }
            }
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(6));
        server.start();
        System.out.println(server.getAddress().getPort());
        System.out.flush();
        while (System.in.read() >= 0) { }
        System.exit(0);
    }
    static long work() {
        long sum = 0;
        for (int i = 0; i < 1_500_000; i++) { sum = sum * 31 + i; }
        return sum;
    }
}
