// A client of HTTP/3 (quic-go), which measures its throughput. Each connection gets the same page again and again.
//
// usage: go-h3 URL CONNECTIONS WARM-UP-SECONDS SECONDS
//
// Prints the number of pages that were received completely after the warm-up, and the number of failures.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go/http3"
)

var pages, failures atomic.Int64

func number(at int) int {
	n, err := strconv.Atoi(os.Args[at])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return n
}

// Gets the page on a connection of its own.
func load(url string) {
	client := http.Client{Transport: &http3.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for {
		response, err := client.Get(url)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
		if err == nil {
			pages.Add(1)
		} else {
			failures.Add(1)
		}
	}
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: go-h3 URL CONNECTIONS WARM-UP-SECONDS SECONDS")
		os.Exit(2)
	}
	for range number(2) {
		go load(os.Args[1])
	}
	time.Sleep(time.Duration(number(3)) * time.Second)
	before := pages.Load()
	time.Sleep(time.Duration(number(4)) * time.Second)
	fmt.Printf("pages %d\nfailures %d\n", pages.Load()-before, failures.Load())
}
