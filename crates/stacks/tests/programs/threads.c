// Threads whose functions are known: two wait for a lock, one holds this lock and sleeps, and one computes.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

pthread_mutex_t planted_lock = PTHREAD_MUTEX_INITIALIZER;
volatile unsigned long result;
volatile int lock_is_held;

__attribute__((noinline)) void wait_for_planted_lock(void) {
    pthread_mutex_lock(&planted_lock);
    result++;
    pthread_mutex_unlock(&planted_lock);
}

// A frame whose size is known only at run time needs the frame pointer.
__attribute__((noinline)) void wait_with_variable_frame(int bytes) {
    volatile char room[bytes];
    room[bytes - 1] = 1;
    wait_for_planted_lock();
    result += room[0];
}

__attribute__((noinline)) void hold_planted_lock(void) {
    pthread_mutex_lock(&planted_lock);
    lock_is_held = 1;
    for (;;) sleep(1000);
}

__attribute__((noinline)) void compute_planted_sum(void) {
    for (unsigned long i = 1;; i++) result = result * 31 + i;
}

static void *waiter(void *argument) { wait_for_planted_lock(); return argument; }
static void *variable(void *argument) { wait_with_variable_frame((int)(long)argument); return argument; }
static void *holder(void *argument) { hold_planted_lock(); return argument; }
static void *computer(void *argument) { compute_planted_sum(); return argument; }

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, holder, 0);
    while (!lock_is_held) usleep(1000);
    pthread_create(&thread, 0, waiter, 0);
    pthread_create(&thread, 0, variable, (void *)4L);
    pthread_create(&thread, 0, computer, 0);
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
