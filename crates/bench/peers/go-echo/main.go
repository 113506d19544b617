// A plain Go echo server, with which `make bench` compares loadline's echo service. It is not a part of loadline.
package main

import (
	"io"
	"net"
	"os"
)

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			buffer := make([]byte, 16*1024)
			// Because reader and writer are wrapped, Go copies through the buffer and does not call splice(2).
			io.CopyBuffer(struct{ io.Writer }{connection}, struct{ io.Reader }{connection}, buffer)
		}()
	}
}
