// Servers and clients in Go with which loadline is tested: servers that count requests, a gRPC client, and h2spec.
//
// usage: peers http DIR | grpc DIR | typed DIR | call ADDRESS | h2spec-server ADDRESS | h2spec-client CONNECTIONS PROGRAM ARGUMENTS
//
// A server listens on a free port of 127.0.0.1, and prints its address as the first line. Every 20 ms, it writes its
// counts to a file in DIR. It uses TLS if DIR contains the files cert and key.
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fail("usage: peers http|grpc|typed|call|h2spec-server|h2spec-client ARGUMENTS")
	}
	said, arguments := os.Args[1], os.Args[2:]
	switch said {
	case "http":
		serveHTTP(arguments[0])
	case "grpc":
		serveGRPC(arguments[0])
	case "typed":
		serveTyped(arguments[0])
	case "call":
		call(arguments[0])
	case "h2spec-server":
		specOfServer(arguments[0])
	case "h2spec-client":
		specOfClient(arguments)
	default:
		fail("no program is called " + said)
	}
}

func fail(why interface{}) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(2)
}
