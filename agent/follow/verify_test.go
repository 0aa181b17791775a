package follow_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// A line changes in the middle of a file while lines are added at its end, and the
// follower ends after it has seen only the end.
func TestAmendsLineThatChangedWhileTheFileGrew(t *testing.T) {
	t.Parallel()
	s := newSetup(t, startCluster(t).node(t), t.TempDir())
	lines := []string{header}
	for i := range 200 {
		lines = append(lines, said(fmt.Sprint("e", i), before("e", i), "as it was"))
	}
	write(t, s.path, text(lines...))
	s.flush(t)
	lines[100] = said("e99", before("e", 99), "as it is!")
	want := text(append(lines, said("end", "e199", "more"))...)
	write(t, s.path, want)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(s.path, old, old); err != nil {
		t.Fatal(err)
	}
	stop := s.run(t)
	until(t, "the line at the end", func() bool { return headAt(t, s.node, "main") == "end" })
	stop()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	s.flush(t)
	s.inLog(t, want)
}

func before(name string, i int) string {
	if i == 0 {
		return ""
	}
	return fmt.Sprint(name, i-1)
}
