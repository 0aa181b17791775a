package k8s_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

func TestSingleNodeKeepsDataWhenReplaced(t *testing.T) {
	t.Parallel()
	pods := startPods(t, newWorld(t, "single"))
	id := write(t, pods[0])
	before := read(t, pods[0], id)
	late := drain(t, pods[0], id)
	replace(t, pods[0])
	if after := read(t, pods[0], id); !bytes.HasPrefix(after, before) || !bytes.Contains(after, []byte(late)) {
		t.Error("the node does not have what was written before it was replaced")
	}
}

func TestClusterServesWhileOneNodeIsReplaced(t *testing.T) {
	t.Parallel()
	pods := startPods(t, newWorld(t, "cluster"))
	id := write(t, pods[0])
	before := read(t, pods[2], id)
	late := drain(t, pods[0], id)
	if after := read(t, pods[1], id); !bytes.HasPrefix(after, before) || !bytes.Contains(after, []byte(late)) {
		t.Error("another node does not have what was written through the one that went")
	}
	appendLine(t, pods[1], id, "while one is away")
	replace(t, pods[0])
	if after := read(t, pods[0], id); !bytes.Contains(after, []byte("while one is away")) {
		t.Error("the node that came back does not have what was written meanwhile")
	}

	// A volume is lost permanently, and its claim is created again.
	pods[1].Kill()
	if err := os.RemoveAll(pods[1].at("/data")); err != nil {
		t.Fatal(err)
	}
	replace(t, pods[1])
	appendLine(t, pods[1], id, "through a node that was empty")
	if after := read(t, pods[1], id); !bytes.HasPrefix(after, before) || !bytes.Contains(after, []byte("while one is away")) {
		t.Error("a node that lost its volume does not have what the others had")
	}
}

func TestNodesOnExternalServersAreStateless(t *testing.T) {
	t.Parallel()
	pods := startPods(t, newWorld(t, "external"))
	id := write(t, pods[0])
	before := read(t, pods[1], id)
	late := drain(t, pods[0], id)
	// Scaled up by one pod, with an empty volume.
	more := newPod(t, pods[0].world, "sessnode-x7k2p")
	more.create(t)
	more.Launch(t)
	more.awaitProbes(t)
	if after := read(t, more, id); !bytes.HasPrefix(after, before) || !bytes.Contains(after, []byte(late)) {
		t.Error("a new node does not have what was written through the one that went")
	}
}

// A request without the token fails.
func TestNodeRequiresItsToken(t *testing.T) {
	t.Parallel()
	pods := startPods(t, newWorld(t, "single"))
	stranger := client.ClientOf([]string{pods[0].URL}, "")
	if _, err := stranger.List(harness.Timeout(t), catalog.Filter{}); err == nil {
		t.Error("a request without a token succeeds")
	}
}

// write imports a session through a pod, and appends to it.
func write(t *testing.T, p *pod) (id string) {
	t.Helper()
	file := harness.NewFile(t, harness.Shape{Turns: 5, Images: 2})
	if _, err := p.client(t).Import(harness.Timeout(t), bytes.NewReader(file.Bytes), -1, client.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, p, file.ID); !bytes.Equal(got, file.Bytes) {
		t.Error("the session is not the file that was imported")
	}
	appendLine(t, p, file.ID, "hello")
	return file.ID
}

func appendLine(t *testing.T, p *pod, id, words string) {
	t.Helper()
	line := []byte(harness.Message("user", words))
	if _, err := p.client(t).Append(harness.Timeout(t), id, line, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}

// read exports the session from a pod.
func read(t *testing.T, p *pod, id string) []byte {
	t.Helper()
	return harness.Export(t, p.client(t), id)
}

// replace creates and starts a stopped pod again.
func replace(t *testing.T, p *pod) {
	t.Helper()
	p.create(t)
	p.Launch(t)
	p.awaitProbes(t)
}

// drain stops a pod as Kubernetes does, during an append and with a follower at the
// end of the session. The append must succeed, the follower's stream must end
// without an error, and the process must exit within the grace period. drain
// returns the appended text.
func drain(t *testing.T, p *pod, id string) (words string) {
	t.Helper()
	follower := follow(t, p, id)
	words = "sent while the node " + p.name + " goes"
	half := appendHalf(t, p, id, words)
	p.Signal(t)
	began := time.Now()
	harness.Await(t, "the node accepts no more connections", func() error {
		conn, err := net.Dial("tcp", p.port(t, "http"))
		if err != nil {
			return nil
		}
		_ = conn.Close()
		return errors.New("it accepts one")
	})
	if status := half(); status != http.StatusOK {
		t.Errorf("an append in progress is answered with %d", status)
	}
	select {
	case <-p.Done():
	case <-time.After(p.world.manifest.grace() - p.world.manifest.preStop()):
		t.Errorf("%s would be killed", p.name)
	}
	if code := p.Wait(t); code != 0 {
		t.Errorf("%s exits with %d", p.name, code)
	}
	t.Logf("%s ended %v after SIGTERM; it would be killed after %v", p.name,
		time.Since(began).Round(time.Millisecond), p.world.manifest.grace()-p.world.manifest.preStop())
	if err := <-follower; err != nil {
		t.Errorf("a follower fails: %v", err)
	}
	return words
}

// appendHalf begins an append and returns when the node reads its body. half sends
// the body and returns the status of the answer.
func appendHalf(t *testing.T, p *pod, id, words string) (half func() int) {
	t.Helper()
	body, rest := io.Pipe()
	reading := make(chan struct{})
	ctx := httptrace.WithClientTrace(harness.Timeout(t), &httptrace.ClientTrace{Got100Continue: func() { close(reading) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.port(t, "http")+"/v1/sessions/"+id+"/entries", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Token)
	req.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: harness.WaitTimeout}
	t.Cleanup(transport.CloseIdleConnections)
	answer := make(chan int, 1)
	go func() {
		defer close(answer)
		r, err := transport.RoundTrip(req)
		if err != nil {
			t.Errorf("an append in progress: %v", err)
			return
		}
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
		answer <- r.StatusCode
	}()
	select {
	case <-reading:
	case <-answer:
		t.Fatal("the append was answered before it was sent")
	}
	return func() int {
		_, _ = io.WriteString(rest, harness.Message("user", words))
		_ = rest.Close()
		return <-answer
	}
}

// follow follows a session through a pod, and sends the error with which that ends.
// It returns when the follower has received the whole session.
func follow(t *testing.T, p *pod, id string) <-chan error {
	t.Helper()
	info, err := p.client(t).Info(harness.Timeout(t), id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	t.Cleanup(leave)
	at, ended := make(chan struct{}), make(chan error, 1)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/v1/sessions/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Token)
	go func() {
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			ended <- fmt.Errorf("follow: %w", err)
			close(at)
			return
		}
		defer r.Body.Close()
		var seen []byte
		buf := make([]byte, 64<<10)
		for arrived := false; ; {
			n, err := r.Body.Read(buf)
			seen = append(seen, buf[:n]...)
			if !arrived && bytes.Contains(seen, []byte(info.Log.Cursor.String())) {
				arrived = true
				close(at)
			}
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				ended <- err
				return
			}
		}
	}()
	<-at
	return ended
}
