//go:build unix

package e2e_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// lateAgent speaks of its turn again after the editor has gone.
const lateAgent = `says() { echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"own","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}}'; }
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"own"}}'
read -r line; says early
cat >/dev/null
for word in late later latest; do says $word; done
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'`

// An editor that crashes leaves a turn in the log, and no claim.
func TestTurnIsStoredAfterItsEditorCrashed(t *testing.T) {
	t.Parallel()
	node := harness.StartNode(t)
	host := harness.NewHost(t, node)
	fromEditor, editorSays, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	editorHears, toEditor, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd := host.Command(harness.Timeout(t), t, "acp", "--", "sh", "-c", lateAgent)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = fromEditor, toEditor, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = fromEditor.Close()
	_ = toEditor.Close()
	lines := bufio.NewReader(editorHears)
	id := ""
	for i, request := range []string{
		`"method":"initialize","params":{"protocolVersion":1}`, `"method":"session/new","params":{"cwd":"/lab","mcpServers":[]}`,
		`"method":"session/prompt","params":{"sessionId":"%s","prompt":[{"type":"text","text":"go"}]}`,
	} {
		_, err := fmt.Fprintf(editorSays, `{"jsonrpc":"2.0","id":%d,%s}`+"\n", i+1, strings.ReplaceAll(request, "%s", id))
		if err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v\n%s", err, &said)
		}
		_, rest, _ := strings.Cut(line, `"sessionId":"`)
		id, _, _ = strings.Cut(rest, `"`)
	}
	_ = editorHears.Close()
	_ = editorSays.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("sessctl acp: %v\n%s", err, &said)
	}
	stored := host.Do(t, "export", id)
	for _, want := range []string{"early", "late", "later", "latest", `"stopReason":"end_turn"`} {
		if !strings.Contains(stored, want) {
			t.Errorf("the log lacks %s:\n%s", want, stored)
		}
	}
	heads, err := node.Client().Heads(harness.Timeout(t), id)
	if err != nil || len(heads.Heads) != 1 || heads.Heads[0].Head != core.MainHead || heads.Heads[0].Claim != nil {
		t.Errorf("the session is still claimed: %+v, %v", heads, err)
	}
}
