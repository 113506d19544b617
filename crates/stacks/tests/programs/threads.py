"""Threads whose functions are known: two wait for a lock, one holds it and sleeps, and some may compute. With the
argument `compute`, one thread computes. With `turns`, eight threads compute by turns: each of them releases the
interpreter lock after a short computation, by a system call."""
import os
import sys
import threading
import time

planted_lock = threading.Lock()
lock_is_held = threading.Event()
waiter_begins = threading.Semaphore(0)


def wait_for_planted_lock():
    waiter_begins.release()
    with planted_lock:
        pass


class Holder:
    def hold_planted_lock(self):
        with planted_lock:
            lock_is_held.set()
            time.sleep(1000)


def compute_planted_sum():
    total = 0
    while True:
        for i in range(1000):
            total = (total * 31 + i) % 1000003


def compute_planted_part():
    total = 0
    for i in range(20000):
        total = (total * 31 + i) % 1000003


def write_planted_answer(to):
    os.write(to, b"answer")


def answer_for_ever():
    to = os.open("/dev/null", os.O_WRONLY)
    while True:
        compute_planted_part()
        write_planted_answer(to)


threading.Thread(target=Holder().hold_planted_lock, daemon=True).start()
lock_is_held.wait()
for _ in range(2):
    threading.Thread(target=wait_for_planted_lock, daemon=True).start()
    waiter_begins.acquire()
if "turns" in sys.argv:
    for _ in range(8):
        threading.Thread(target=answer_for_ever, daemon=True).start()
if "compute" in sys.argv:
    threading.Thread(target=compute_planted_sum, daemon=True).start()
print("ready", flush=True)
sys.stdin.read(1)
