package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Read reads a YAML file over c. A key that Config does not have is an error
// that names it and its line.
func Read(c *Config, file []byte) error {
	d := yaml.NewDecoder(bytes.NewReader(file))
	d.KnownFields(true)
	err := d.Decode(c)
	if errors.Is(err, io.EOF) { // nothing but comments
		return nil
	}
	return err
}

// ReadEnv reads the environment over c: env holds "NAME=value" strings. A name
// that begins with SESS_ and is no field's is an error, unless it is one of
// others: a misspelt setting would be ignored in silence.
func ReadEnv(c *Config, env []string, others ...string) error {
	byName := map[string]Field{}
	for _, f := range Fields(c) {
		byName[f.Env()] = f
	}
	for _, name := range others {
		byName[name] = Field{}
	}
	var errs []error
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !strings.HasPrefix(name, "SESS_") {
			continue
		}
		f, ok := byName[name]
		switch {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: no such setting; sessnode config lists all", name))
		case f.Path == nil:
		default:
			if err := f.Set(value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// Write returns c as a YAML file with a comment above every value that says
// what it is, where else it can be set, and what can be written. Secrets are
// left out.
func Write(c Config) []byte {
	var b bytes.Buffer
	var at []string
	for _, f := range Fields(&c) {
		section := f.Path[:len(f.Path)-1]
		for i := range section {
			if i >= len(at) || at[i] != section[i] {
				fmt.Fprintf(&b, "\n%s%s:\n", indent(i), section[i])
			}
		}
		at = section
		in := indent(len(section))
		for _, line := range wrap(f.Doc, 96-len(in)) {
			fmt.Fprintf(&b, "%s# %s\n", in, line)
		}
		fmt.Fprintf(&b, "%s# (%s, --%s)\n", in, f.Env(), f.Flag())
		fmt.Fprintf(&b, "%s%s: %s\n", in, f.Path[len(section)], f.yaml())
	}
	return b.Bytes()
}

func indent(n int) string { return strings.Repeat("  ", n) }

// yaml is the field's value in a YAML file.
func (f Field) yaml() string {
	if f.Secret && f.String() != "" {
		return `"" # set, not shown`
	}
	out, err := yaml.Marshal(f.value.Interface())
	if err != nil {
		return f.String()
	}
	if l, ok := f.value.Interface().(List); ok {
		return "[" + l.String() + "]"
	}
	return strings.TrimSpace(string(out))
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for w := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
