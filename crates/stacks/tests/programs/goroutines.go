// Goroutines that wait in known functions: 7 wait for a mutex, 5 wait to send on a channel without a receiver, and one
// holds the mutex and sleeps.
package main

import (
	"fmt"
	"sync"
	"time"
)

var lock sync.Mutex
var places = make(chan int)

func holdLock() {
	lock.Lock()
	time.Sleep(time.Hour)
}

func waitForLock() {
	lock.Lock()
	lock.Unlock()
}

func waitForPlace() {
	places <- 1
}

func main() {
	go holdLock()
	time.Sleep(100 * time.Millisecond)
	for i := 0; i < 7; i++ {
		go waitForLock()
	}
	for i := 0; i < 5; i++ {
		go waitForPlace()
	}
	time.Sleep(100 * time.Millisecond)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
