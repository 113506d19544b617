"""Threads whose functions are known: two wait for a lock, one holds it and sleeps, one computes."""
import sys
import threading
import time

planted_lock = threading.Lock()


def wait_for_planted_lock():
    with planted_lock:
        pass


class Holder:
    def hold_planted_lock(self):
        with planted_lock:
            time.sleep(1000)


def compute_planted_sum():
    total = 0
    while True:
        for i in range(1000):
            total = (total * 31 + i) % 1000003


threading.Thread(target=Holder().hold_planted_lock, daemon=True).start()
time.sleep(0.05)
for _ in range(2):
    threading.Thread(target=wait_for_planted_lock, daemon=True).start()
if len(sys.argv) > 1:
    threading.Thread(target=compute_planted_sum, daemon=True).start()
time.sleep(0.05)
print("ready", flush=True)
sys.stdin.read(1)
