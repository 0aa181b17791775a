package main

import "testing"

// The vendor's server needs a key, others with the same API may not.
func TestMissingKeyIsNamed(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	for url, want := range map[string]string{"": "OPENAI_API_KEY is not set", "http://127.0.0.1:11434/v1": ""} {
		t.Setenv("OPENAI_BASE_URL", url)
		have := ""
		if _, err := open("openai/m"); err != nil {
			have = err.Error()
		}
		if have != want {
			t.Errorf("with the server %q: error %q, want %q", url, have, want)
		}
	}
	if _, err := open("mistral/m"); err == nil {
		t.Error("a vendor that is not known has a model")
	}
}
