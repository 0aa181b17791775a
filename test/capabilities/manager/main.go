// Command manager is a program of an agent's author for the scenarios: it works
// with sessions by package session, and has nothing but the URL of a node and a
// token (SESS_URL, SESS_TOKEN).
//
// It reads calls from standard input, one per line, and prints what each returns:
//
//	s = create cwd=/w dialect=pi     makes a session, which later calls use
//	a = user hello                   $a stands for the result from here on
//	line {"type":"label",...}        text that begins with { extends to the end
//	branch $a                        an error is printed as "error: " and its text
//
// A result that has a name is printed as that name. Values with blanks are in
// single quotes; name=value sets an option.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/nova"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { // also a call that does not return ends
		fmt.Fprintln(os.Stderr, "manager: it takes too long")
		os.Exit(1)
	})
	node := client.ClientOf(strings.Split(os.Getenv("SESS_URL"), ","), os.Getenv("SESS_TOKEN"))
	log := node.Log()
	m := &manager{ctx: ctx, node: node, log: log, out: os.Stdout, sessions: map[string]*session.Session{}, names: map[string]string{}}
	m.nova = nova.New(nova.Config{Log: log, By: "manager", Logger: debugLog})
	err := m.run(os.Stdin)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// A manager is one run of the program.
type manager struct {
	ctx      context.Context
	node     *client.Client
	log      session.Log
	nova     *nova.Sessions
	out      io.Writer
	s        *session.Session
	sessions map[string]*session.Session // by id
	names    map[string]string           // results, by name
	journal  *lineage.Journal            // sessions made since the call track
}

// run makes the calls that it reads. It returns an error for lines that are no
// calls; errors of calls are printed.
func (m *manager) run(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := m.call(line); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
	}
	return lines.Err()
}

func (m *manager) call(line string) error {
	name, rest, named := strings.Cut(line, " = ")
	if named = named && !strings.ContainsAny(name, " '{"); named {
		line = rest
	}
	for n, v := range m.names {
		line = strings.ReplaceAll(line, "$"+n, v)
	}
	c, err := parse(line)
	if err != nil {
		return err
	}
	if c.verb == "reveal" { // prints what a name stands for
		_, err := fmt.Fprintln(m.out, c.arg(0))
		return err
	}
	f, ok := calls[c.verb]
	if !ok {
		return fmt.Errorf("there is no call %s", c.verb)
	}
	result, err := f(m, c)
	if _, fenced := errors.AsType[*core.FencedError](err); fenced {
		result = "error: another writer holds the head"
	} else if err != nil {
		result = "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
	} else if named {
		m.names[name] = result
	}
	for n, v := range m.names {
		if v != "" {
			result = strings.ReplaceAll(result, v, "$"+n)
		}
	}
	_, err = fmt.Fprintln(m.out, strings.TrimSuffix(result, "\n"))
	return err
}
