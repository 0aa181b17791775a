package s3server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

// A Server is a running S3 server and how to reach it. Its methods are not safe
// for use by several goroutines; its fields do not change.
type Server struct {
	Endpoint  string // a URL, https
	Region    string
	AccessKey string // of an account that may do everything
	SecretKey string
	CAFile    string // PEM; the certificate to trust

	addr, dir, binary string
	process           *process // nil while stopped
}

// startTimeout bounds the wait for a server that neither answers nor dies.
const startTimeout = time.Minute

// Start runs a Server on loopback for the length of a test. The test fails at
// once when it cannot be built or does not come up; if the test fails later on,
// the server's log is part of what it says.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartAt(t, loopback)
}

// StartAt is Start on an address of this host other than loopback, for a test
// with a network of its own.
func StartAt(t testing.TB, ip string) *Server {
	t.Helper()
	s, err := launch(t.Context(), t.TempDir(), ip)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("log of the S3 server:\n%s", s.Log())
		}
	})
	return s
}

// Launch is Start for who has no test at hand: it keeps everything in dir, and
// the caller stops the Server. ctx bounds the start, not the life of the Server.
func Launch(ctx context.Context, dir string) (*Server, error) {
	return launch(ctx, dir, loopback)
}

func launch(ctx context.Context, dir, ip string) (*Server, error) {
	binary, err := Build(ctx)
	if err != nil {
		return nil, err
	}
	// The server changes its working directory.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	s := &Server{
		Region:    "us-east-1",
		AccessKey: "sesslog-test",
		SecretKey: "sesslog-test-secret",
		CAFile:    filepath.Join(dir, "cert.pem"),
		dir:       dir,
		binary:    binary,
	}
	if err := os.MkdirAll(s.dataDir(), 0o700); err != nil {
		return nil, err
	}
	if err := writeCertificate(s.CAFile, s.keyFile(), ip); err != nil {
		return nil, err
	}
	// Between asking for a free port and binding it somebody else may be
	// faster; then the server dies at once, and the next port is tried.
	for range 5 {
		if s.addr, err = freeAddr(ip); err != nil {
			return nil, err
		}
		s.Endpoint = "https://" + s.addr
		if err = s.Restart(ctx); err == nil || !strings.Contains(s.Log(), "address already in use") {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

const loopback = "127.0.0.1"

func freeAddr(ip string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (s *Server) keyFile() string { return filepath.Join(s.dir, "key.pem") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }
func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

// Restart runs the server again, on its data and at its address, after Stop. It
// returns once the server answers.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	out, err := os.OpenFile(s.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // the child has its own
	args := []string{"--port", s.addr, "--region", s.Region, "--cert", s.CAFile, "--key", s.keyFile(), "--keep-alive", "--quiet"}
	if _, err := os.Stat(s.iamDir()); err == nil {
		args = append(args, "--iam-dir", s.iamDir())
	}
	cmd := exec.Command(s.binary, append(args, "posix", s.dataDir())...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.AccessKey, "ROOT_SECRET_KEY="+s.SecretKey)
	cmd.Stdout, cmd.Stderr = out, out
	dieWithParent(cmd)
	if s.process, err = startProcess(cmd); err != nil {
		return err
	}
	if err := s.await(ctx); err != nil {
		s.Stop()
		return fmt.Errorf("start the S3 server at %s: %w\n%s", s.addr, err, s.Log())
	}
	return nil
}

// await returns once the server answers anything at all.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := s.httpClient()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Endpoint, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			return errors.Join(err, resp.Body.Close())
		}
		select {
		case <-s.process.done:
			return fmt.Errorf("it died: %w", s.process.err)
		case <-ctx.Done():
			return fmt.Errorf("%w; last answer: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// Stop kills the server without a chance to tidy up, as a power cut would, and
// returns once it is dead. Its data stays. It may be called more than once.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Log returns what the server wrote.
func (s *Server) Log() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// MakeBucket makes an empty bucket.
func (s *Server) MakeBucket(ctx context.Context, name string) error {
	c, err := s.Client(s.AccessKey, s.SecretKey)
	if err != nil {
		return err
	}
	if err := c.MakeBucket(ctx, name, minio.MakeBucketOptions{Region: s.Region}); err != nil {
		return fmt.Errorf("make bucket %s: %w", name, err)
	}
	return nil
}

// A process is a child that is waited for.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child is dead
	err  error         // why; to be read after done
}

func startProcess(cmd *exec.Cmd) (*process, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it fails only for the dead
	<-p.done
}
