// Tomcat with eight threads. Each request sleeps. The argument is the port.
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.catalina.startup.Tomcat;

public class Tomcat8 {
    static class Sleeper extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            response.getWriter().println("done");
        }
    }

    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("").setLevel(Level.OFF);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));
        tomcat.setPort(Integer.parseInt(arguments[0]));
        tomcat.getConnector().setProperty("maxThreads", "8");
        tomcat.getConnector().setProperty("maxKeepAliveRequests", "-1");
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "sleeper", new Sleeper());
        context.addServletMappingDecoded("/", "sleeper");
        tomcat.start();
        tomcat.getServer().await();
    }
}
