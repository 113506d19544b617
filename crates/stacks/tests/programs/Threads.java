/** Threads whose methods are known: two wait for a monitor, one holds it and sleeps, and one waits for a lock. */
public class Threads {
    static final Object PLANTED_MONITOR = new Object();
    static final java.util.concurrent.locks.ReentrantLock PLANTED_LOCK = new java.util.concurrent.locks.ReentrantLock();
    static final java.util.concurrent.CountDownLatch IS_HELD = new java.util.concurrent.CountDownLatch(1);

    static void holdPlantedMonitor() {
        synchronized (PLANTED_MONITOR) {
            IS_HELD.countDown();
            sleep();
        }
    }

    static void waitForPlantedMonitor() {
        synchronized (PLANTED_MONITOR) {
            sleep();
        }
    }

    static void waitForPlantedLock() {
        PLANTED_LOCK.lock();
    }

    static void sleep() {
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        start(Threads::holdPlantedMonitor);
        IS_HELD.await();
        start(Threads::waitForPlantedMonitor);
        start(Threads::waitForPlantedMonitor);
        PLANTED_LOCK.lock();
        start(Threads::waitForPlantedLock);
        System.out.println("ready");
        System.in.read();
    }
}
