//go:build linux

package lan_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/test/fire/lan"
)

// Environment variables that select another role of the test binary.
const (
	inside = "SESSLOG_LAN_INSIDE" // the test, in separate namespaces
	answer = "SESSLOG_LAN_ANSWER" // a host that sends back every datagram
	ask    = "SESSLOG_LAN_ASK"    // a host that sends one and awaits it back
	dial   = "SESSLOG_LAN_DIAL"   // a host that opens a connection and keeps it
)

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(answer) != "":
		os.Exit(code(answers(os.Getenv(answer))))
	case os.Getenv(ask) != "":
		os.Exit(code(asks(os.Getenv(ask))))
	case os.Getenv(dial) != "":
		os.Exit(code(keeps(os.Getenv(dial))))
	}
	os.Exit(m.Run())
}

func code(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func answers(addr string) error {
	c, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	buf := make([]byte, 100)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return err
		}
		if _, err := c.WriteTo(buf[:n], from); err != nil {
			return err
		}
	}
}

func asks(addr string) error {
	c, err := net.Dial("udp", addr)
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 10))
	return err
}

func keeps(addr string) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

func TestLinksApplyTheirFaults(t *testing.T) {
	t.Parallel()
	if os.Getenv(inside) == "" {
		again(t)
		return
	}
	l, err := lan.New(fmt.Sprintf("lan%d", os.Getpid()), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for host := 1; host <= 3; host++ {
		listen(t, l, host)
	}
	reaches(t, l, 1, 2, true)
	l.Set(2, 1, lan.Cut) // only the direction back
	reaches(t, l, 1, 2, false)
	reaches(t, l, 3, 2, true)
	l.Heal()
	reaches(t, l, 1, 2, true)
	l.Set(1, 3, lan.Link{Delay: 200 * time.Millisecond})
	if took := reaches(t, l, 1, 3, true); took < 200*time.Millisecond {
		t.Errorf("over a link that delays by 200 ms it took %v", took)
	}
	refuses(t, l)
	if err := asks(at(l, 2)); err != nil {
		t.Errorf("this process does not reach host 2: %v", err)
	}
}

// refuses fails the test unless a link with Reset ends connections at once, new and
// existing ones.
func refuses(t *testing.T, l *lan.LAN) {
	t.Helper()
	ln, err := net.Listen("tcp", l.IP(0)+":8")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	cmd := on(l, 1, dial, ln.Addr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	there, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	l.Set(0, 1, lan.Link{Reset: true})
	if _, err := there.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection over a link that resets: %v", err)
	}
	if _, err := net.Dial("tcp", at(l, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection over a link that resets: %v", err)
	}
	l.Heal()
	_ = cmd.Process.Kill() // fails only if the process has ended
	_ = cmd.Wait()         // it was killed
}

// again runs the test in separate namespaces.
func again(t *testing.T) {
	if err := lan.Missing(); err != nil {
		t.Skip("skipped:", err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inside+"=1")
	lan.Enter(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func at(l *lan.LAN, host int) string { return l.IP(host) + ":7" }

func on(l *lan.LAN, host int, what, value string) *exec.Cmd {
	args := append(l.Via(host), os.Args[0])
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), what+"="+value)
	cmd.Stderr = os.Stderr
	return cmd
}

// listen makes a host answer for the rest of the test.
func listen(t *testing.T, l *lan.LAN, host int) {
	t.Helper()
	cmd := on(l, host, answer, at(l, host))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails only if the process has ended
		_ = cmd.Wait()         // it was killed
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

// reaches makes one host send to the other.
func reaches(t *testing.T, l *lan.LAN, from, to int, want bool) time.Duration {
	t.Helper()
	began := time.Now()
	err := on(l, from, ask, at(l, to)).Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	if err != nil && !ended {
		t.Fatal(err)
	}
	if (exit == nil) != want {
		t.Errorf("host %d reaches host %d: want %v, %v", from, to, want, err)
	}
	return time.Since(began)
}
