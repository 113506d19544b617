/* Server with a thread per connection that flushes a log under one lock. Arguments: the port and the log. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;

static void write_log(void) {
    pthread_mutex_lock(&log_lock);
    write(log_file, "entry\n", 6);
    fsync(log_file);
    pthread_mutex_unlock(&log_lock);
}

static void *serve(void *argument) {
    int client = (int)(long)argument;
    char in[4096];
    const char *out = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    while (read(client, in, sizeof in) > 0) {
        write_log();
        write(client, out, strlen(out));
    }
    close(client);
    return 0;
}

int main(int argc, char **argv) {
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(atoi(argv[1]))};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    log_file = open(argv[2], O_CREAT | O_WRONLY | O_APPEND, 0600);
    if (argc != 3 || bind(listener, (void *)&at, sizeof at) || listen(listener, 128))
        return 1;
    for (;;) {
        long client = accept(listener, 0, 0);
        pthread_t thread;
        pthread_create(&thread, 0, serve, (void *)client);
        pthread_detach(thread);
    }
}
