package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

// EachLine calls f with each line of a response. A line is valid until f returns.
func EachLine(body io.Reader, f func(line []byte) error) error {
	r := bufio.NewReaderSize(body, 256<<10)
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		if err != nil && err != io.EOF {
			return brokeOff(err)
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		long = long[:0]
	}
}

// An Answer is the body of a response. Its read errors say that the response ended
// early, so that they differ from errors of the destination.
type Answer struct{ io.Reader }

func (r Answer) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = brokeOff(err)
	}
	return n, err
}

func brokeOff(err error) error {
	return fmt.Errorf("the response ended early: %w%w", err, hint.Silent(core.ErrUnavailable))
}
