/* Minimal paced load generator: sends messages of 64 bytes to an echo server at a constant rate, and records how late
 * each message is sent. One thread busy-polls N persistent connections, with one message in flight on each connection.
 * Usage: pace PORT CONNECTIONS RATE SECONDS. Prints the reached rate per second over RATE, and the 99th percentile of
 * the delay from due to sent, in microseconds. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_BYTES = 64, MAX_FD = 4096, GRACE_NS = 1000000000 };
static char message[MESSAGE_BYTES], buffer[65536];

static long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int dial(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || fd >= MAX_FD || connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        perror("connect");
        exit(1);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static int by_value(const void *a, const void *b) {
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    int port = atoi(argv[1]), connections = atoi(argv[2]), idle_count = 0, epoll = epoll_create1(0);
    double rate = atof(argv[3]), seconds = atof(argv[4]);
    long total = rate * seconds, sent = 0, left[MAX_FD], *late_ns = calloc(total + 1, sizeof *late_ns);
    int *idle = calloc(connections, sizeof *idle);
    for (int i = 0; i < connections; i++) {
        int fd = dial(port);
        struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
        idle[idle_count++] = fd;
    }
    struct epoll_event events[256];
    long begin_ns = now_ns(), end_ns = begin_ns + (long)(seconds * 1e9) + GRACE_NS, last_ns = begin_ns;
    while (sent < total && last_ns < end_ns) {
        long due_ns = begin_ns + (long)(sent * 1e9 / rate);
        last_ns = now_ns();
        if (due_ns <= last_ns && idle_count > 0) {
            int fd = idle[--idle_count];
            left[fd] = MESSAGE_BYTES;
            if (send(fd, message, MESSAGE_BYTES, 0) != MESSAGE_BYTES) return 1;
            late_ns[sent++] = last_ns - due_ns;
            continue;
        }
        int n = epoll_wait(epoll, events, 256, 0);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            ssize_t got = recv(fd, buffer, sizeof buffer, 0);
            if (got <= 0) return 1;
            if ((left[fd] -= got) == 0) idle[idle_count++] = fd;
        }
    }
    if (sent == 0) return 1;
    qsort(late_ns, sent, sizeof *late_ns, by_value);
    double elapsed_s = (last_ns - begin_ns) / 1e9 + 1 / rate;
    printf("%.6f %.3f\n", sent / elapsed_s / rate, late_ns[sent * 99 / 100] / 1e3);
    return 0;
}
