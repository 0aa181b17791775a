//go:build unix

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/sesslog/sesslog/session/loop/sandbox"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	slot := sandbox.New(map[string]sandbox.Opener{"local": sandbox.Local})
	defer slot.Close()
	if err := slot.To("local", sandbox.Spec{Dir: dir}); err != nil {
		log.Fatal(err)
	}
	tools, err := sandbox.Tools(slot)
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range tools {
		fmt.Println(t.Name)
	}
	box, err := slot.Require(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	result, err := box.Run(context.Background(), "echo 8080 > port; cat port")
	fmt.Print(result.Stdout, err)
	// Output:
	// bash
	// read
	// write
	// 8080
	// <nil>
}

func ExampleSlot_Share() {
	slot := sandbox.New(map[string]sandbox.Opener{"local": sandbox.Local})
	if err := slot.To("local", sandbox.Spec{Dir: os.TempDir()}); err != nil {
		log.Fatal(err)
	}
	box, err := slot.Require(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fork, err := slot.Share() // for a fork of the session
	if err != nil {
		log.Fatal(err)
	}
	other := sandbox.New(nil)
	if err := other.Bind(box); err != nil { // for any other session
		log.Fatal(err)
	}
	fmt.Println(box.Refs(), "sessions have it")
	err = errors.Join(slot.Close(), fork.Close(), other.Close())
	fmt.Println(box.Refs(), "sessions have it;", err)
	// Output:
	// 3 sessions have it
	// 0 sessions have it; <nil>
}
