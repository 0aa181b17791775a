package follow_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

const otherID = "0199aaaa-0000-7000-8000-000000000002"

var otherHeader = strings.Replace(header, sessionID, otherID, 1)

// A session that accepts nothing is reported once; the node does not count as away,
// and other files are copied.
func TestStoppedSessionDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	for name, become := range map[string]string{"a file that holds nothing": "", "a bad line": text(header, said("a", "", "one"), `{"id":"x"}{"id":"y"}`)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, startCluster(t).node(t), t.TempDir())
			other := filepath.Join(s.dir, "b.jsonl")
			write(t, s.path, text(header, said("a", "", "one")))
			write(t, other, text(otherHeader, said("a", "", "one")))
			s.flush(t)
			if err := s.node.Delete(t.Context(), sessionID, api.Notice{}); err != nil {
				t.Fatal(err)
			}
			write(t, s.path, become)
			old := time.Now().Add(-time.Hour)
			if err := os.Chtimes(s.path, old, old); err != nil {
				t.Fatal(err)
			}
			add(t, other, said("b", "a", "two")+"\n")
			s.flush(t)
			s.flush(t)
			if got := string(exported(t, s.node, otherID)); !strings.Contains(got, `"two"`) {
				t.Errorf("the other file's session is\n%s", got)
			}
			if s.told.count(follow.Stopped) != 1 || s.told.count(follow.Away) != 0 {
				t.Error(s.told.all)
			}
		})
	}
}

// A log that was created again gets the content of unchanged files, also of one whose
// head pointed elsewhere.
func TestAuditFillsNewLog(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	data := text(header, said("a", "", "one"), said("b", "a", "two"))
	write(t, s.path, data)
	s.flush(t)
	if _, err := s.node.Move(t.Context(), sessionID, "main", api.MoveRequest{Leaf: core.LeafAt("a")}, ""); err != nil {
		t.Fatal(err)
	}
	data = text(header, said("a", "", "1!!"), said("b", "a", "two"))
	write(t, s.path, data) // a file that no head points to the end of
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(s.path, old, old); err != nil {
		t.Fatal(err)
	}
	s.flush(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.node = startCluster(t).node(t)
	s.age(t)
	s.open(t)
	s.run(t)
	until(t, "the session", func() bool {
		_, err := s.node.Info(t.Context(), sessionID)
		return err == nil
	})
	s.inLog(t, data)
}

// age changes the state of the closed follower so that it has seen all files some
// minutes ago.
func (s *setup) age(t testing.TB) {
	t.Helper()
	path := filepath.Join(s.state, "places")
	b := testkit.ReadFile(t, path)
	b = regexp.MustCompile(`"seen":\d+`).ReplaceAllFunc(b, func([]byte) []byte {
		return fmt.Appendf(nil, `"seen":%d`, time.Now().Add(-5*time.Minute).UnixNano())
	})
	testkit.WriteFile(t, path, b)
}

// Another writer amends a line while the file is compared.
func TestConcurrentAmendIsAConflict(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	write(t, s.path, text(header, said("a", "", "one"), said("b", "a", "two")))
	s.flush(t)
	write(t, s.path, text(header, said("a", "", "1!!"), said("b", "a", "2!!")))
	done := false
	theirs := func(r *http.Request) {
		if r.Method != http.MethodPatch || done {
			return
		}
		done = true
		if _, err := s.node.Amend(t.Context(), sessionID, "b", []byte(said("b", "a", "TWO")), client.AppendOptions{}); err != nil {
			t.Error(err)
		}
	}
	s.line.before.Store(&theirs)
	s.flush(t)
	s.inLog(t, text(header, said("a", "", "1!!"), said("b", "a", "TWO")))
	if s.told.count(follow.Conflict) != 1 {
		t.Error(s.told.all)
	}
}
