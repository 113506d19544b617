// Go server with one known limit. The arguments are the limit and the port.
package main

import (
	"encoding/json"
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

type row struct {
	Name   string
	Values []int
}

var rows = make([]row, 60)

func encode() {
	json.Marshal(rows)
}

func main() {
	for i := range rows {
		rows[i] = row{"name", make([]int, 40)}
	}
	work := map[string]func(){"mutex": underLock, "semaphore": withPlace, "json": encode}[os.Args[1]]
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		work()
		io.WriteString(w, "done\n")
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[2], nil)
}
