package main

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
)

// Maximum time that a test case waits for the event that it expects.
const patience = 5 * time.Second

// Runs all test cases of h2spec against a server. Exits with status 1 if any of them failed.
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
