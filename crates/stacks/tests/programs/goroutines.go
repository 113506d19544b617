// Goroutines that wait in known functions: 7 wait for a mutex, 5 wait to send on a channel without a receiver, and one
// holds the mutex and sleeps.
package main

import (
	"fmt"
	"runtime"
	"strings"
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

// Waits until this number of goroutines waits in this state, as the runtime names it.
func awaitState(number int, state string) {
	all := make([]byte, 1<<16)
	for strings.Count(string(all[:runtime.Stack(all, true)]), state) < number {
		time.Sleep(time.Millisecond)
	}
}

func main() {
	go holdLock()
	awaitState(1, "[sleep")
	for i := 0; i < 7; i++ {
		go waitForLock()
	}
	for i := 0; i < 5; i++ {
		go waitForPlace()
	}
	awaitState(7, "[sync.Mutex.Lock")
	awaitState(5, "[chan send")
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
