package acpproxy_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaNames are the names in the published schema of what is answered to requests.
var schemaNames = map[string]string{
	acp.AgentMethodInitialize: "InitializeResponse", acp.AgentMethodSessionNew: "NewSessionResponse", acp.AgentMethodSessionLoad: "LoadSessionResponse",
	acp.AgentMethodSessionResume: "ResumeSessionResponse", acp.AgentMethodSessionList: "ListSessionsResponse", acp.AgentMethodSessionPrompt: "PromptResponse",
	acp.ClientMethodSessionUpdate: "SessionNotification",
}

var schema = sync.OnceValues(func() (func(name string) (*jsonschema.Schema, error), error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/coder/acp-go-sdk").Output()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(strings.TrimSpace(string(dir)), "schema", "schema.json")
	var mu sync.Mutex
	c := jsonschema.NewCompiler()
	return func(name string) (*jsonschema.Schema, error) {
		mu.Lock()
		defer mu.Unlock()
		return c.Compile("file://" + filepath.ToSlash(path) + "#/$defs/" + name)
	}, nil
})

// fits fails the test unless the schema that the protocol publishes allows value, which
// is the answer to method, or its params.
func fits(t *testing.T, method string, value json.RawMessage) {
	t.Helper()
	name, ok := schemaNames[method]
	if !ok {
		return
	}
	compile, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	s, err := compile(name)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s of %s does not fit the schema: %v", value, method, err)
	}
}
