package main

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

// Runs a server of net/http for HTTP/1.1 and HTTP/2. With TLS, ALPN selects the version. Without TLS, clients must know
// in advance that the server supports HTTP/2. Each HTTP/2 connection allows six streams at the same time.
func serveHTTP(dir string) {
	page := strings.Repeat("x", 3000)
	handler := http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		io.Copy(io.Discard, request.Body)
		atomic.AddInt64(&requests, 1)
		io.WriteString(answer, page)
	})
	two := &http2.Server{MaxConcurrentStreams: 6}
	if config := certificate(dir); config != nil {
		server := &http.Server{Handler: handler, TLSConfig: config}
		if err := http2.ConfigureServer(server, two); err != nil {
			fail(err)
		}
		fail(server.ServeTLS(listen(dir), "", ""))
	}
	server := &http.Server{Handler: h2c.NewHandler(handler, two)}
	fail(server.Serve(listen(dir)))
}
