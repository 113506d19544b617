package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Codec that passes messages as bytes, without any encoding, because no service is described here.
type bare struct{}

func (bare) Marshal(message interface{}) ([]byte, error) { return *message.(*[]byte), nil }

func (bare) Unmarshal(bytes []byte, message interface{}) error {
	*message.(*[]byte) = append([]byte(nil), bytes...)
	return nil
}

func (bare) Name() string { return "proto" }

// Runs a gRPC server that answers each call with the call's message, twice in a row. A call of the method Third fails
// if its number, counted over all calls, is a multiple of three.
func serveGRPC(dir string) {
	handler := func(_ interface{}, stream grpc.ServerStream) error {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		count := atomic.AddInt64(&requests, 1)
		if name, _ := grpc.MethodFromServerStream(stream); name == "/a.Service/Third" && count%3 == 0 {
			return status.Error(codes.Unavailable, "not now")
		}
		answer := append(append([]byte(nil), message...), message...)
		return stream.SendMsg(&answer)
	}
	options := []grpc.ServerOption{
		grpc.ForceServerCodec(bare{}), grpc.UnknownServiceHandler(handler), grpc.MaxConcurrentStreams(6),
	}
	if config := certificate(dir); config != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(config)))
	}
	fail(grpc.NewServer(options...).Serve(listen(dir)))
}

// Calls a server with messages of several lengths. Prints the length of each answer; after an error, prints its name.
func call(address string) {
	connection, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fail(err)
	}
	defer connection.Close()
	within, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, length := range []int{0, 10, 100000} {
		message, answer := make([]byte, length), []byte(nil)
		err := connection.Invoke(within, "/a.B/C", &message, &answer, grpc.ForceCodec(bare{}))
		if err != nil {
			fmt.Println(status.Code(err))
			return
		}
		fmt.Println(len(answer))
	}
}
