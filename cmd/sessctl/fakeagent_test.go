//go:build unix

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/term"
)

func init() { programs["agent"] = agentDouble }

// agentDouble is an agent that prints each signal, and obeys its standard input.
func agentDouble() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for s := range signals {
			fmt.Printf("heard %v\n", s)
			if s == syscall.SIGTERM || s == syscall.SIGHUP {
				os.Exit(40)
			}
		}
	}()
	fmt.Printf("agent %d is ready in %d\n", os.Getpid(), os.Getppid())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		what, arg, _ := strings.Cut(in.Text(), " ")
		n, _ := strconv.Atoi(arg)
		agentDoes(what, n)
	}
}

func agentDoes(what string, n int) {
	switch what {
	case "size":
		w, h, err := term.GetSize(0)
		fmt.Println("size is", w, h, err)
	case "raw":
		_, err := term.MakeRaw(0)
		fmt.Print("raw now ", err, "\r\n")
	case "stop":
		back := make(chan os.Signal, 1)
		signal.Notify(back, syscall.SIGCONT)
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // this thread may be the last to stop
		<-back
		fmt.Println("agent is back")
	case "exit":
		os.Exit(n)
	case "die":
		signal.Reset()
		_ = syscall.Kill(os.Getpid(), syscall.Signal(n))
	}
}
