package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed scenarios
var files embed.FS

// A scenario is one promise of a server, and the steps that test it.
type scenario struct {
	Name    string `json:"-"` // of its file
	Promise string `json:"promise"`
	Steps   []step `json:"steps"`
}

// A step is one request, several of them, or a kill of the server. README.md explains
// the members.
type step struct {
	Send    string            `json:"send,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	Lines   []json.RawMessage `json:"lines,omitempty"`
	Drop    string            `json:"drop,omitempty"`
	Want    *want             `json:"want,omitempty"`
	Else    *want             `json:"else,omitempty"`

	Times    int      `json:"times,omitempty"`
	AtOnce   int      `json:"atOnce,omitempty"`
	Parallel [][]step `json:"parallel,omitempty"`
	Kill     bool     `json:"kill,omitempty"`
}

// A want is what an answer must have.
type want struct {
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers,omitempty"`
	JSON     json.RawMessage   `json:"json,omitempty"`
	Lines    []json.RawMessage `json:"lines,omitempty"`
	Entries  []json.RawMessage `json:"entries,omitempty"`
	Ends     bool              `json:"ends,omitempty"`
	AnyOrder bool              `json:"anyOrder,omitempty"`
	Parents  string            `json:"parents,omitempty"`
	Count    int               `json:"count,omitempty"`
}

// scenarios returns the scenarios, sorted by name.
func scenarios() ([]scenario, error) {
	names, err := files.ReadDir("scenarios")
	if err != nil {
		return nil, err
	}
	all := make([]scenario, 0, len(names))
	for _, file := range names {
		b, err := files.ReadFile(path.Join("scenarios", file.Name()))
		if err != nil {
			return nil, err
		}
		s := scenario{Name: strings.TrimSuffix(file.Name(), ".json")}
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&s); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		all = append(all, s)
	}
	return all, nil
}

// kills reports whether one of the steps kills the server.
func kills(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.Kill || slices.ContainsFunc(s.Parallel, kills) })
}

// nth returns a copy of the step with i in place of ${i}.
func (s step) nth(i int) (step, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return s, err
	}
	var out step
	return out, json.Unmarshal(bytes.ReplaceAll(b, []byte("${i}"), strconv.AppendInt(nil, int64(i), 10)), &out)
}

// expand replaces each {"times": N, "of": VALUE} by N values, with the count in place
// of ${n}.
func expand(values []json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	for _, v := range values {
		var many struct {
			Times int             `json:"times"`
			Of    json.RawMessage `json:"of"`
		}
		if json.Unmarshal(v, &many) != nil || many.Of == nil {
			all = append(all, v)
			continue
		}
		for n := range many.Times {
			all = append(all, bytes.ReplaceAll(many.Of, []byte("${n}"), strconv.AppendInt(nil, int64(n), 10)))
		}
	}
	return all
}
