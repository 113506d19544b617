/* Accepts connections and sends back what they send, on the explicit event API. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadline_event.h"

static void echo(int fd)
{
    char buffer[4096];
    ssize_t n;
    /* Read until read() would block. The next event is for data that arrives after that. */
    while ((n = read(fd, buffer, sizeof buffer)) > 0)
        if (write(fd, buffer, (size_t)n) != n)
            break;
    if (n == 0 || (n < 0 && errno != EAGAIN))
        event_close(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof addr;
    int left = argc > 1 ? atoi(argv[1]) : -1; /* end after so many connections */
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, (struct sockaddr *)&addr, length) || listen(listener, 128)
        || getsockname(listener, (struct sockaddr *)&addr, &length)
        || declare_interest(listener, EVENT_READ, NULL)) {
        perror("listen");
        return 1;
    }
    printf("%d\n", ntohs(addr.sin_port));
    fflush(stdout);
    while (left != 0) {
        event_descr_t events[16];
        int count = get_next_event(16, events, NULL);
        if (count < 0) {
            perror("get_next_event");
            return 1;
        }
        for (int i = 0; i < count; i++) {
            int fd, state;
            if (events[i].fd != listener) {
                echo(events[i].fd);
                continue;
            }
            while (left != 0 && (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                /* The state tells what arrived before the declaration. Later arrivals cause events. */
                if (declare_interest(fd, EVENT_READ, &state) == 0 && (state & EVENT_READ))
                    echo(fd);
                if (left > 0)
                    left--;
            }
        }
    }
    return event_close(listener);
}
