package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/stream/embedded"
)

// publisherEnv makes the test binary a child that publishes until it is killed; its
// value is the directory of the server.
const publisherEnv = "SESSLOG_EMBEDDED_PUBLISHER"

// publishForever starts a server and prints the sequence of every acknowledged
// message. The body of a message is its sequence.
func publishForever(dir string) int {
	ctx := context.Background()
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, err := embedded.Start(ctx, embedded.Config{Dir: dir, Logger: quiet})
	if err != nil {
		return fail(err)
	}
	nc, err := s.Connect()
	if err != nil {
		return fail(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return fail(err)
	}
	st, err := js.CreateOrUpdateStream(ctx, streamConfig("S", 1))
	if err != nil {
		return fail(err)
	}
	for seq := st.CachedInfo().State.LastSeq + 1; ; seq++ {
		ack, err := js.Publish(ctx, "s.x", []byte(strconv.FormatUint(seq, 10)))
		if err != nil {
			return fail(err)
		}
		if ack.Sequence != seq {
			return fail(fmt.Errorf("message %d was stored as %d", seq, ack.Sequence))
		}
		fmt.Println(seq)
	}
}

func TestKillLosesNoAcknowledgedMessage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acked := uint64(0)
	for round := range 3 { // the restarted server is killed, too
		acked = publishUntilKilled(t, dir, acked+uint64(150+70*round))
	}

	s := start(t, embedded.Config{Dir: dir, Logger: quiet})
	state := streamInfo(t, s, "S").State
	if state.FirstSeq != 1 || state.LastSeq < acked || state.Msgs != state.LastSeq || len(state.Deleted)+int(state.NumDeleted) > 0 {
		t.Fatalf("%d were acknowledged, and the stream holds %+v", acked, state)
	}
	st, err := jetStream(t, s).Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= acked; seq++ {
		msg, err := st.GetMsg(t.Context(), seq)
		if err != nil || string(msg.Data) != strconv.FormatUint(seq, 10) {
			t.Fatalf("message %d: %v, %v", seq, msg, err)
		}
	}
	t.Logf("%d acknowledged over 3 kills, %d stored", acked, state.LastSeq)
}

// publishUntilKilled runs a publisher until it has reached a sequence, kills it and
// returns the last sequence that it printed.
func publishUntilKilled(t *testing.T, dir string, enough uint64) (acked uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), publisherEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	lines := bufio.NewScanner(out)
	for lines.Scan() { // read the rest of the output
		seq, err := strconv.ParseUint(lines.Text(), 10, 64)
		if err != nil {
			t.Fatalf("publisher: %q", lines.Text())
		}
		acked = seq
		if seq >= enough && !killed {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // the error is that it was killed
	if !killed {
		t.Fatalf("the publisher exited after %d", acked)
	}
	return acked
}
