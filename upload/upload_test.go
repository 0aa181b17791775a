package upload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core"
)

// open opens a Store in dir.
func open(t *testing.T, dir string, most int64) *Store {
	t.Helper()
	s, err := Open(Config{Dir: dir, Bytes: most, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// begin begins the upload of b by ada.
func begin(t *testing.T, s *Store, b []byte) Upload {
	t.Helper()
	u, err := s.Begin(t.Context(), "ada", core.DigestOf(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// sends is a Sender of what it reads.
type sends struct{ io.Reader }

func (sends) Interrupt() {}

// send sends b, which must go well.
func send(t *testing.T, s *Store, u Upload, b []byte) Upload {
	t.Helper()
	u, err := s.Append(t.Context(), "ada", u.ID, u.Offset, sends{bytes.NewReader(b)})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func whole(t *testing.T, s *Store, id string) string {
	t.Helper()
	_, from, err := s.Read(t.Context(), "ada", id)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	b, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnUploadGoesOnAfterTheProcessDied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := []byte("one two three")
	s := open(t, dir, 1<<20)
	u := send(t, s, begin(t, s, text), text[:4])
	if u.Offset != 4 || u.Whole() {
		t.Errorf("it is %+v", u)
	}
	if _, _, err := s.Read(t.Context(), "ada", u.ID); !errors.Is(err, ErrOffset) {
		t.Errorf("half of it is read: %v", err)
	}
	s = open(t, dir, 1<<20) // nothing was closed
	again := begin(t, s, text)
	if again != u {
		t.Errorf("it is %+v, was %+v", again, u)
	}
	if u = send(t, s, again, text[4:]); !u.Whole() || whole(t, s, u.ID) != string(text) {
		t.Errorf("it is %+v, %q", u, whole(t, s, u.ID))
	}
	if err := s.Remove(t.Context(), "ada", u.ID); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left are %v", files)
	}
	if _, err := s.Look(t.Context(), "ada", u.ID); !errors.Is(err, ErrGone) || !errors.Is(err, core.ErrNotFound) {
		t.Errorf("a removed one: %v", err)
	}
}

func TestWhatBelongsToNoUploadIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	good, bad := begin(t, s, []byte("good")), begin(t, s, []byte("bad"))
	if err := os.WriteFile(s.bytesOf(bad.ID), []byte("more than was announced"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"half.json.half", "lone.bytes", "other.json", good.ID + ".json.half"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, 1<<20)
	if files, _ := os.ReadDir(dir); len(files) != 2 || len(s.parts) != 1 || s.parts[good.ID] == nil {
		t.Errorf("left are %v", files)
	}
}

func TestAnUploadIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 1<<20)
	u := begin(t, s, []byte("mine"))
	_, appended := s.Append(t.Context(), "bo", u.ID, 0, sends{bytes.NewReader(nil)})
	_, looked := s.Look(t.Context(), "bo", u.ID)
	_, _, read := s.Read(t.Context(), "bo", u.ID)
	for _, err := range []error{appended, looked, read, s.Remove(t.Context(), "bo", u.ID)} {
		if !errors.Is(err, ErrGone) {
			t.Errorf("another's: %v", err)
		}
	}
	other, err := s.Begin(t.Context(), "bo", u.SHA256, u.Size)
	if err != nil || other.ID == u.ID {
		t.Errorf("the same bytes of another owner are %+v, %v", other, err)
	}
}

func TestBytesGoWhereTheUploadEnds(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 1<<20)
	u := send(t, s, begin(t, s, []byte("0123456789")), []byte("012"))
	for _, offset := range []int64{0, 2, 4, 10} {
		now, err := s.Append(t.Context(), "ada", u.ID, offset, sends{bytes.NewReader([]byte("x"))})
		if !errors.Is(err, ErrOffset) || now.Offset != 3 {
			t.Errorf("at %d: %+v, %v", offset, now, err)
		}
	}
	broken := errors.New("broken")
	now, err := s.Append(t.Context(), "ada", u.ID, 3, sends{io.MultiReader(bytes.NewReader([]byte("34")), failing{broken})})
	if !errors.Is(err, broken) || now.Offset != 5 {
		t.Errorf("of a line that breaks: %+v, %v", now, err)
	}
	now, err = s.Append(t.Context(), "ada", u.ID, 5, sends{bytes.NewReader([]byte("56789 and more"))})
	if !errors.Is(err, core.ErrInvalid) || !now.Whole() || whole(t, s, u.ID) != "0123456789" {
		t.Errorf("more than was announced: %+v, %v, %q", now, err, whole(t, s, u.ID))
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A stuck sender gives a few bytes, and then nothing until it is interrupted.
type stuck struct {
	first io.Reader
	began chan struct{} // closed when it is asked for more
	stop  chan struct{}
}

func (s *stuck) Read(b []byte) (int, error) {
	if n, err := s.first.Read(b); err == nil {
		return n, nil
	}
	close(s.began)
	<-s.stop
	return 0, io.ErrUnexpectedEOF
}

func (s *stuck) Interrupt() { close(s.stop) }

func TestWhoeverAsksDoesNotWaitForASenderThatIsStuck(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 1<<20)
	u := begin(t, s, []byte("0123456789"))
	from := &stuck{bytes.NewReader([]byte("012")), make(chan struct{}), make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Append(context.WithoutCancel(t.Context()), "ada", u.ID, 0, from)
		ended <- err
	}()
	<-from.began
	u, err := s.Look(t.Context(), "ada", u.ID)
	if err != nil || u.Offset != 3 {
		t.Errorf("it is %+v, %v", u, err)
	}
	if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the sender hears %v", err)
	}
	if u = send(t, s, u, []byte("3456789")); whole(t, s, u.ID) != "0123456789" {
		t.Errorf("it is %q", whole(t, s, u.ID))
	}
}

func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), 100)
	first := begin(t, s, make([]byte, 50))
	for owner, size := range map[string]int64{"ada": 1, "bo": 51} {
		if _, err := s.Begin(t.Context(), owner, core.Digest{1}, size); !errors.Is(err, ErrNoRoom) {
			t.Errorf("%d bytes of %s: %v", size, owner, err)
		}
	}
	if again := begin(t, s, make([]byte, 50)); again != first {
		t.Errorf("the same again is %+v", again)
	}
	if _, err := s.Begin(t.Context(), "bo", core.Digest{1}, 50); err != nil {
		t.Error(err)
	}
	if _, err := s.Begin(t.Context(), "cy", core.Digest{1}, 1); !errors.Is(err, ErrNoRoom) {
		t.Errorf("more than all may have: %v", err)
	}
	if _, err := s.Begin(t.Context(), "cy", core.Digest{1}, 0); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("of nothing: %v", err)
	}
	s = open(t, t.TempDir(), 1<<20)
	for i := range ofOne {
		if _, err := s.Begin(t.Context(), "ada", core.Digest{byte(i)}, 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Begin(t.Context(), "ada", core.Digest{ofOne}, 1); !errors.Is(err, ErrNoRoom) {
		t.Errorf("more than one may have: %v", err)
	}
}

func TestAnUploadGoesWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, 1<<20)
	u := begin(t, s, []byte("old"))
	s.now = func() time.Time { return u.Expires.Add(-time.Second) }
	s.sweep(t.Context())
	if _, err := s.Look(t.Context(), "ada", u.ID); err != nil {
		t.Errorf("before its time: %v", err)
	}
	s.now = func() time.Time { return u.Expires }
	s.sweep(t.Context())
	if _, err := s.Look(t.Context(), "ada", u.ID); !errors.Is(err, ErrGone) {
		t.Errorf("after its time: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("left are %v", files)
	}
}
