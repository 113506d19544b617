package main

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
)

// How long a case waits for what it expects, at most.
const patience = 5 * time.Second

// All cases against a server; the status says whether each passed.
func specOfServer(address string) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		fail(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		fail(err)
	}
	_, tls := os.LookupEnv("H2SPEC_TLS")
	passed, err := h2spec.Run(&config.Config{
		Host: host, Port: number, Path: "/", Timeout: patience, MaxHeaderLen: 4000, Strict: true, TLS: tls, Insecure: true,
	})
	if err != nil {
		fail(err)
	}
	if !passed {
		os.Exit(1)
	}
}
