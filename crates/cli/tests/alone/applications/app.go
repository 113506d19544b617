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
	queue := make(chan chan byte, 1000)
	if limit == "dispatcher" {
		// One goroutine does all the work, one request at a time. This goroutine moves between threads.
		go func() {
			for answer := range queue {
				answer <- work(6000)
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
		case "rare":
			if rand.Intn(100) == 0 {
				time.Sleep(500 * time.Millisecond)
			}
		case "dispatcher":
			answer := make(chan byte, 1)
			queue <- answer
			<-answer
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
