package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
)

// Numbers of requests and of connections that the server has received.
var requests, connections int64

// Listens on a free port of 127.0.0.1, and prints the address. Writes the counts to the file DIR/counts every 20 ms.
func listen(dir string) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		for {
			write(dir)
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return counting{listener}
}

// Writes the counts to a new file, and then renames it. Readers therefore never see an incomplete file.
func write(dir string) {
	text := fmt.Sprintf("%d %d", atomic.LoadInt64(&requests), atomic.LoadInt64(&connections))
	if err := os.WriteFile(filepath.Join(dir, "counts.new"), []byte(text), 0o644); err != nil {
		fail(err)
	}
	if err := os.Rename(filepath.Join(dir, "counts.new"), filepath.Join(dir, "counts")); err != nil {
		fail(err)
	}
}

type counting struct{ net.Listener }

func (listener counting) Accept() (net.Conn, error) {
	conn, err := listener.Listener.Accept()
	if err == nil {
		atomic.AddInt64(&connections, 1)
	}
	return conn, err
}

// Returns a TLS configuration with the certificate in a folder; nil if the folder has none.
func certificate(dir string) *tls.Config {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert"), filepath.Join(dir, "key"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		fail(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}
}
