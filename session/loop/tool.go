package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sesslog/sesslog/core"
)

// A Policy says what happens to a call that was started, and whose result is not
// in the log because its host died.
type Policy int

// The policies. The zero one is the safest.
const (
	// Once never runs a call twice: its result becomes an error row of the kind
	// interrupted.
	Once Policy = iota
	// Ask leaves it to Config.Ask.
	Ask
	// Repeat runs the call again. It is for tools that only read, or whose second
	// run changes nothing.
	Repeat
)

// A Spec is a tool as models see it.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// A Tool is what a model may call.
type Tool struct {
	Spec
	Policy Policy
	// Key names the resource that a call uses. The calls of a round that have the
	// same key run one after the other, in their order; others run at the same
	// time. If Key is nil, the key is empty. An error is the result of the call.
	Key func(Call) (string, error)
	// Run returns the result, which Text writes as the model gets it, or an error,
	// as a rule a *Failure. If ctx ends, the host stops: the call then has no
	// result, whatever Run returns.
	Run func(ctx context.Context, arguments json.RawMessage) (any, error)
}

// Parallel is a Key for tools whose calls can run at the same time as all others.
func Parallel(c Call) (string, error) { return "call " + c.ID, nil }

// NewTool returns a tool whose arguments are an A, a struct. Its schema follows from
// the fields of A: their json names, and their jsonschema tags as descriptions.
// Arguments that the schema does not allow are the error invalid_tool_arguments.
func NewTool[A any](name, description string, p Policy, run func(context.Context, A) (any, error)) (Tool, error) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		return Tool{}, fmt.Errorf("tool %q: schema of its arguments: %v: %w", name, err, core.ErrInvalid)
	}
	allowed, err := schema.Resolve(nil)
	if err != nil {
		return Tool{}, fmt.Errorf("tool %q: schema of its arguments: %v: %w", name, err, core.ErrInvalid)
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return Tool{}, fmt.Errorf("tool %q: schema of its arguments: %v: %w", name, err, core.ErrInvalid)
	}
	return Tool{Spec: Spec{name, description, text}, Policy: p, Run: func(ctx context.Context, arguments json.RawMessage) (any, error) {
		var given map[string]any
		var a A
		err := json.Unmarshal(arguments, &given)
		if err == nil {
			err = allowed.Validate(given)
		}
		if err == nil {
			err = json.Unmarshal(arguments, &a)
		}
		if err != nil {
			return nil, &Failure{Kind: invalidArguments, Message: fmt.Sprintf("tool '%s': %v", name, err), Detail: cut(string(arguments), maxArguments)}
		}
		return run(ctx, a)
	}}, nil
}

// sorted returns the tools by name, sorted. Two with the same name are
// core.ErrInvalid: no tool can replace another.
func sorted(tools []Tool) ([]Tool, error) {
	tools = slices.Clone(tools)
	slices.SortFunc(tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	for i := range tools {
		switch t := &tools[i]; {
		case t.Name == "" || t.Run == nil:
			return nil, fmt.Errorf("tool %q has no name or no Run: %w", t.Name, core.ErrInvalid)
		case i > 0 && tools[i-1].Name == t.Name:
			return nil, fmt.Errorf("two tools are called %q: %w", t.Name, core.ErrInvalid)
		case t.Policy < Once || t.Policy > Repeat:
			return nil, fmt.Errorf("tool %q has policy %d: %w", t.Name, t.Policy, core.ErrInvalid)
		}
	}
	return tools, nil
}
