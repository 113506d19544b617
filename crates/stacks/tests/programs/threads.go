// A program that computes in a known function, on one goroutine.
package main

import (
	"fmt"
	"os"
)

var result uint64

//go:noinline
func computePlantedSum(steps int) uint64 {
	sum := uint64(1)
	for i := 0; i < steps; i++ {
		sum = sum*31 + uint64(i)
	}
	return sum
}

//go:noinline
func serveForever() {
	for {
		result += computePlantedSum(1 << 22)
	}
}

func main() {
	go serveForever()
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
