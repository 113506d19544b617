// A plain Go echo server: a peer to measure loadline's servers against, not a part of loadline.
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
			// Reader and writer are wrapped, so that the copy goes through the buffer and not through splice.
			io.CopyBuffer(struct{ io.Writer }{connection}, struct{ io.Reader }{connection}, buffer)
		}()
	}
}
