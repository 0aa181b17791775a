package agent

import (
	"time"
)

// testHost returns a host with these environment variables.
func testHost(env map[string]string) *Host {
	get := func(name string) string { return env[name] }
	return &Host{
		Env: get, Name: "a-host", By: "tester", Now: time.Now, Claims: NewClaimStore(get, false), MaxFile: 1 << 20,
		PathRows: func() ([][]string, string, error) { return nil, "", nil },
	}
}
