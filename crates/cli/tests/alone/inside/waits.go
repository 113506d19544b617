// Go server with one known limit. Arguments: the limit and the port.
package main

import (
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

var lock sync.Mutex
var places = make(chan struct{}, 5)

func underLock() {
	lock.Lock()
	defer lock.Unlock()
	time.Sleep(3 * time.Millisecond)
}

func withPlace() {
	places <- struct{}{}
	time.Sleep(15 * time.Millisecond)
	<-places
}

func main() {
	work := map[string]func(){"mutex": underLock, "semaphore": withPlace}[os.Args[1]]
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		work()
		io.WriteString(w, "done\n")
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[2], nil)
}
