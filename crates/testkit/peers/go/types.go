package main

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	testing "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// Service of the gRPC project's tests between languages. Its messages have nested types and enumerations, and their
// proto file imports another one.
type typed struct {
	testing.UnimplementedTestServiceServer
}

// Returns an answer with as many zero bytes as the request asks for. Fails unless the request has the expected content:
// 3 bytes "abc" and the user name. Sleeps if the request asks for the server's identity, so that a deadline passes.
func (typed) UnaryCall(within context.Context, in *testing.SimpleRequest) (*testing.SimpleResponse, error) {
	atomic.AddInt64(&requests, 1)
	if string(in.GetPayload().GetBody()) != "abc" || !in.FillUsername {
		return nil, status.Error(codes.InvalidArgument, "the message has another content")
	}
	if in.FillServerId {
		select {
		case <-within.Done():
			return nil, status.FromContextError(within.Err()).Err()
		case <-time.After(20 * time.Second):
		}
	}
	body := make([]byte, in.ResponseSize)
	return &testing.SimpleResponse{Payload: &testing.Payload{Body: body}, Username: "peer"}, nil
}

// Sends one message for each part that the request asks for.
func (typed) StreamingOutputCall(in *testing.StreamingOutputCallRequest, out testing.TestService_StreamingOutputCallServer) error {
	atomic.AddInt64(&requests, 1)
	return send(in, out.Send)
}

// Answers with the number of bytes in all messages.
func (typed) StreamingInputCall(in testing.TestService_StreamingInputCallServer) error {
	atomic.AddInt64(&requests, 1)
	sum := int32(0)
	for {
		message, err := in.Recv()
		if err == io.EOF {
			return in.SendAndClose(&testing.StreamingInputCallResponse{AggregatedPayloadSize: sum})
		}
		if err != nil {
			return err
		}
		sum += int32(len(message.GetPayload().GetBody()))
	}
}

// Answers each message at once.
func (typed) FullDuplexCall(both testing.TestService_FullDuplexCallServer) error {
	atomic.AddInt64(&requests, 1)
	for {
		message, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := send(message, both.Send); err != nil {
			return err
		}
	}
}

func send(in *testing.StreamingOutputCallRequest, one func(*testing.StreamingOutputCallResponse) error) error {
	for _, part := range in.ResponseParameters {
		time.Sleep(time.Duration(part.IntervalUs) * time.Microsecond)
		answer := &testing.StreamingOutputCallResponse{Payload: &testing.Payload{Body: make([]byte, part.Size)}}
		if err := one(answer); err != nil {
			return err
		}
	}
	return nil
}

// Runs a gRPC server that describes itself by reflection.
func serveTyped(dir string) {
	options := []grpc.ServerOption{grpc.MaxConcurrentStreams(100)}
	server := grpc.NewServer(options...)
	testing.RegisterTestServiceServer(server, typed{})
	reflection.Register(server)
	fail(server.Serve(listen(dir)))
}
