package s3server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/sesslog/sesslog/internal/testkit"
)

// A Server is a running S3 server. Its methods are not safe for concurrent use; its
// fields do not change.
type Server struct {
	Endpoint  string // a URL, https
	Region    string
	AccessKey string // of an account with all permissions
	SecretKey string
	CAFile    string // PEM; the certificate to trust

	addr, dir, binary string
	process           *process // nil while stopped
	release           func()   // of addr
}

// startTimeout bounds the start of the server.
const startTimeout = time.Minute

// Start runs a Server on loopback until the test ends. The test fails if the server
// cannot be built or started. If the test fails later, its log includes that of the
// server.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartAt(t, loopback)
}

// StartAt is Start on another address of this host, for a test with its own network.
func StartAt(t testing.TB, ip string) *Server {
	t.Helper()
	s, err := launch(t.Context(), t.TempDir(), ip)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Stop()
		s.release()
		if t.Failed() {
			t.Logf("log of the S3 server:\n%s", s.Log())
		}
	})
	return s
}

// Launch is Start without a test: it keeps everything in dir, and the caller must stop
// the Server, whose address stays reserved until the process ends. ctx bounds only the start.
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
	if s.addr, s.release, err = testkit.ReserveAddr(ip); err != nil {
		return nil, err
	}
	s.Endpoint = "https://" + s.addr
	if err := s.Restart(ctx); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

const loopback = "127.0.0.1"

func (s *Server) keyFile() string { return filepath.Join(s.dir, "key.pem") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "server.log") }
func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

// File returns the path of an object's file, or of the directory of all objects below key.
func (s *Server) File(bucket, key string) string {
	return filepath.Join(s.dataDir(), bucket, filepath.FromSlash(key))
}

// Restart restarts the server with its data and address. It returns once the server
// responds.
func (s *Server) Restart(ctx context.Context) error {
	s.Stop()
	out, err := os.OpenFile(s.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // the child has a copy
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

// await returns once the server sends any response.
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
			return fmt.Errorf("the server exited: %w", s.process.err)
		case <-ctx.Done():
			return fmt.Errorf("%w; last error: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// Stop kills the server with SIGKILL and waits for its end. It keeps the data, and may
// be called more than once.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.kill()
		s.process = nil
	}
}

// Log returns the output of the server.
func (s *Server) Log() string {
	log, err := os.ReadFile(s.logFile())
	if err != nil {
		return err.Error()
	}
	return string(log)
}

// MakeBucket creates an empty bucket.
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

// A process is a child process.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // of Wait; read it after done
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
	_ = p.cmd.Process.Kill() // fails only if it has ended
	<-p.done
}
