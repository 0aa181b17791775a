package k8s_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
)

// A service is one address for several pods, as a Service of Kubernetes is. A new
// connection goes to one of its current pods and stays there, also after that pod
// has left the service.
type service struct {
	ln net.Listener

	mu   sync.Mutex
	pods []string
	next int
}

func startService(t *testing.T) *service {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{ln: ln}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go s.forward(conn)
		}
	}()
	return s
}

func (s *service) url() string { return "http://" + s.ln.Addr().String() }

func (s *service) add(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = append(s.pods, addr)
}

func (s *service) remove(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = slices.DeleteFunc(s.pods, func(a string) bool { return a == addr })
}

func (s *service) pick() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.pods[s.next%len(s.pods)]
}

// forward connects a caller to a pod. If that fails, the caller must retry.
func (s *service) forward(caller net.Conn) {
	defer caller.Close()
	pod, err := net.Dial("tcp", s.pick())
	if err != nil {
		return
	}
	defer pod.Close()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{caller, pod}, {pod, caller}} {
		go func() {
			_, _ = io.Copy(way[1], way[0])
			ended <- struct{}{}
		}()
	}
	<-ended
}
