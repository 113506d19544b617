/* Minimal load generator: a closed loop of HTTP requests that measures nothing. Its cost is the floor for loadline's.
 * One thread serves N persistent connections, with one request in flight on each connection. There is no clock, no
 * histogram and no parser. All answers have the same length, and an answer is complete when so many bytes have come.
 * Usage: floor PORT CONNECTIONS SECONDS. Prints the number of answers. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char REQUEST[] = "GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n";
static char buffer[65536];

static int dial(int port) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        perror("connect");
        exit(1);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void ask(int fd) {
    if (send(fd, REQUEST, sizeof REQUEST - 1, 0) != sizeof REQUEST - 1) {
        perror("send");
        exit(1);
    }
}

/* Returns the length of one answer in bytes: everything that arrives before 0.2 s pass without input. */
static long length_of_one(int port) {
    struct timeval quiet = {.tv_usec = 200000};
    long bytes = 0;
    int fd = dial(port);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &quiet, sizeof quiet);
    ask(fd);
    for (ssize_t n; (n = recv(fd, buffer, sizeof buffer, 0)) > 0;) bytes += n;
    close(fd);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int port = atoi(argv[1]), connections = atoi(argv[2]);
    struct rlimit all;
    getrlimit(RLIMIT_NOFILE, &all);
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_NOFILE, &all);
    long length = length_of_one(port), answers = 0, *left = calloc(connections + 1024, sizeof *left);
    int epoll = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        int fd = dial(port);
        struct epoll_event wanted = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &wanted);
        left[fd] = length;
        ask(fd);
    }
    struct epoll_event events[256];
    for (time_t end = time(NULL) + atoi(argv[3]); time(NULL) < end;) {
        int n = epoll_wait(epoll, events, 256, 100);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            ssize_t got = recv(fd, buffer, sizeof buffer, 0);
            if (got <= 0) return 1;
            left[fd] -= got;
            if (left[fd] <= 0) {
                left[fd] += length;
                answers++;
                ask(fd);
            }
        }
    }
    printf("%ld\n", answers);
    return 0;
}
