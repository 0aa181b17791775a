// Command sessmodel asks a model for sessctl loop, by the library of the model's
// vendor. It is a separate program because these libraries are larger than sessctl.
// sessctl starts it; it has no arguments. The model of the request is VENDOR/NAME, with
// the vendor anthropic or openai. The server and the key are those of the environment:
// ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY, or OPENAI_BASE_URL and OPENAI_API_KEY.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/session/loop/anthropic"
	"github.com/sesslog/sesslog/session/loop/modelproc"
	"github.com/sesslog/sesslog/session/loop/openai"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println("sessmodel asks models for sessctl loop, which starts it: see sessctl help loop")
		return
	}
	if err := modelproc.Serve(context.Background(), os.Stdin, os.Stdout, open); err != nil {
		fmt.Fprintf(os.Stderr, "sessmodel: %v\n", err)
		os.Exit(1)
	}
}

func open(model string) (loop.Streamer, error) {
	vendor, name, _ := strings.Cut(model, "/")
	switch vendor {
	case "anthropic":
		return anthropic.New(name), nil
	case "openai":
		if os.Getenv("OPENAI_API_KEY") == "" && os.Getenv("OPENAI_BASE_URL") == "" {
			return nil, errors.New("OPENAI_API_KEY is not set")
		}
		return openai.New(name), nil
	}
	return nil, fmt.Errorf("there is no vendor %q of models", vendor)
}
