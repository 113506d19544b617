// Web server with one known limit. Its argument names the limit. It prints its port, and serves until its input ends.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

var lock sync.Mutex

func work(rounds int) byte {
	sum := sha256.Sum256([]byte("seed"))
	for i := 0; i < rounds; i++ {
		sum = sha256.Sum256(sum[:])
	}
	return sum[0]
}

func main() {
	limit := os.Args[1]
	places := make(chan struct{}, 5)
	queue := make(chan chan byte, 1000)
	if limit == "dispatcher" {
		// One goroutine does all the work, one request at a time. This goroutine moves between threads.
		go func() {
			for answer := range queue {
				answer <- work(6000)
			}
		}()
	}
	if limit == "spin" {
		// One goroutine polls without a pause, so a CPU is always busy.
		go func() {
			for {
				select {
				case answer := <-queue:
					answer <- work(6000)
				default:
				}
			}
		}()
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch limit {
		case "mutex":
			lock.Lock()
			work(6000)
			lock.Unlock()
		case "parallel":
			work(6000)
		case "pool":
			places <- struct{}{}
			time.Sleep(15 * time.Millisecond)
			<-places
		case "rare":
			if rand.Intn(100) == 0 {
				time.Sleep(500 * time.Millisecond)
			}
		case "far":
			time.Sleep(40 * time.Millisecond)
		case "locked-sleep":
			lock.Lock()
			time.Sleep(4 * time.Millisecond)
			lock.Unlock()
		case "dispatcher", "spin":
			answer := make(chan byte, 1)
			queue <- answer
			<-answer
		case "refuses":
			select {
			case places <- struct{}{}:
				time.Sleep(10 * time.Millisecond)
				<-places
			default:
				http.Error(w, "too busy", 503)
				return
			}
		}
		io.WriteString(w, "done\n")
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go http.Serve(listener, nil)
	io.ReadAll(os.Stdin)
}
