package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/summerwind/h2spec/client"
	"github.com/summerwind/h2spec/config"
	"github.com/summerwind/h2spec/spec"
	"golang.org/x/net/http2"
)

// Number of test cases that run at the same time. They spend most of their time waiting.
const atOnce = 6

// Maximum time that a test case waits for an event, and maximum running time of the program. Expected events usually
// occur at once. The times are long, so a test does not fail on a busy machine.
const (
	longest = 15 * time.Second
	hangs   = 30 * time.Second
)

// Runs all test cases of h2spec's client mode against a program. For each case, the program is started with a URL as
// its last argument. h2spec's own loop is not used, because it needs many consecutive ports, and because it ends as
// soon as a program takes three seconds.
//
// The first argument is a number of connections. In each case, this number of connections gets normal answers, and the
// next connection gets the test case.
func specOfClient(arguments []string) {
	right, err := strconv.Atoi(arguments[0])
	if err != nil {
		fail(err)
	}
	var cases sync.WaitGroup
	var lock sync.Mutex
	places, passed, failed := make(chan bool, atOnce), 0, 0
	each(client.Spec(), func(test *spec.ClientTestCase) {
		cases.Add(1)
		go func() {
			defer cases.Done()
			places <- true
			said, err := specCase(test, right, arguments[1:])
			<-places
			lock.Lock()
			defer lock.Unlock()
			if err == nil {
				passed++
				return
			}
			failed++
			fmt.Printf("%s/%d %s: %v\n  it said: %s\n", test.Parent.Section, test.Seq, test.Desc, describe(err), said)
		}()
	})
	cases.Wait()
	fmt.Printf("%d tests, %d passed, 0 skipped, %d failed\n", passed+failed, passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}

func each(group *spec.ClientTestGroup, what func(*spec.ClientTestCase)) {
	for _, test := range group.Tests {
		what(test)
	}
	for _, within := range group.Groups {
		each(within, what)
	}
}

func describe(err error) string {
	if why, ok := err.(*spec.TestError); ok {
		return fmt.Sprintf("expected %s, actual %s", strings.Join(why.Expected, " or "), why.Actual)
	}
	return err.Error()
}

// Runs one test case. Returns the program's error output, and the reason if the case failed.
func specCase(test *spec.ClientTestCase, right int, program []string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	verdict := make(chan error, 1)
	go serveCase(listener, test, right, verdict)
	within, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	url := "http://" + listener.Addr().String() + "/"
	command := exec.CommandContext(within, program[0], append(program[1:], url)...)
	var said bytes.Buffer
	command.Stdout, command.Stderr = io.Discard, &said
	command.Run()
	words := strings.TrimSpace(said.String())
	if within.Err() != nil {
		return words, errors.New("the program does not end")
	}
	select {
	case err := <-verdict:
		return words, err
	case <-time.After(longest):
		return words, errors.New("the program ended before the case was over")
	}
}

// Serves the connections of one test case. The first `right` connections get normal answers, the next one gets the test
// case, and all others are closed.
func serveCase(listener net.Listener, test *spec.ClientTestCase, right int, verdict chan<- error) {
	settings := &config.Config{Host: "127.0.0.1", Timeout: longest, MaxHeaderLen: 4000}
	for at := 0; ; at++ {
		base, err := listener.Accept()
		if err != nil {
			return
		}
		conn, err := spec.Accept(settings, resets{base})
		if err != nil || at > right {
			base.Close()
			continue
		}
		if at < right {
			go answer(settings, conn)
			continue
		}
		go func() {
			err := test.Run(settings, conn)
			base.Close()
			verdict <- err
		}()
	}
}

// Sends a normal answer to the first request of a connection.
func answer(settings *config.Config, conn *spec.Conn) {
	if conn.Handshake() != nil {
		return
	}
	request, err := conn.ReadRequest()
	if err != nil {
		return
	}
	block := conn.EncodeHeaders(spec.CommonRespHeaders(settings))
	conn.WriteHeaders(http2.HeadersFrameParam{
		StreamID: request.StreamID, EndStream: true, EndHeaders: true, BlockFragment: block,
	})
}

// Connection that reports a reset (ECONNRESET) as its end (EOF). h2spec accepts both, but does not recognise the error
// that current versions of Go return for a reset.
type resets struct{ net.Conn }

func (conn resets) Read(into []byte) (int, error) {
	n, err := conn.Conn.Read(into)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}
