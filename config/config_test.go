package config

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	if err := Check(Default("/data", "host")); err != nil {
		t.Error(err)
	}
}

// One flush for many records is the default where all records go through this node.
func TestSingleNodeSharesFlushesByDefault(t *testing.T) {
	t.Parallel()
	group := SyncGroup
	if runtime.GOOS == "windows" {
		group = 0
	}
	for _, of := range []struct {
		name string
		set  func(*Config)
		want Sync
	}{
		{"a single node", func(*Config) {}, group},
		{"a node that was told otherwise", func(c *Config) { c.NATS.Sync = 0 }, 0},
		{"other programs write to its server", func(c *Config) { c.NATS.Listen = "127.0.0.1:4222" }, 0},
		{"an external server", func(c *Config) { c.NATS.URL = "nats://h:4222" }, 0},
		{"a cluster", func(c *Config) { c.Cluster.Name = "c" }, 0},
	} {
		c := Default("/data", "host")
		of.set(&c)
		if Settle(&c); c.NATS.Sync != of.want {
			t.Errorf("%s: %v", of.name, c.NATS.Sync)
		}
	}
}

func TestWriteThenLoadRoundTrips(t *testing.T) {
	t.Parallel()
	c := Default("/data", "host")
	c.Cluster.Routes = List{"127.0.0.1:1", "127.0.0.1:2"}
	c.Watch.Roots = List{"/home/me/.pi/agent/sessions", "agents"}
	c.TLS.Subjects = List{"ops=admin"}
	c.Notices.URLs = List{"https://example.com/hook"}
	c.Limits.Line = 3 << 20
	c.Blobs.S3.Create = true
	var back Config
	if err := Read(&back, Write(c)); err != nil {
		t.Fatalf("%v in\n%s", err, Write(c))
	}
	c.Notices.URLs = nil // secrets are left out
	if diff := cmp.Diff(c, back); diff != "" {
		t.Error(diff)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	c := Default("/data", "host")
	c.Token, c.Cluster.Secret, c.Blobs.S3.SecretKey, c.NATS.Token, c.Notices.Secret = "hush1", "hush2", "hush3", "hush4", "hush5"
	c.Notices.URLs = List{"https://example.com/hush6"}
	if out := string(Write(c)); strings.Contains(out, "hush") {
		t.Errorf("printed:\n%s", out)
	}
}

func TestUnknownKeysAreErrors(t *testing.T) {
	t.Parallel()
	c := Default("/data", "host")
	if err := Read(&c, []byte("listen: 127.0.0.1:1\nnats:\n  lisen: x\n")); err == nil || !strings.Contains(err.Error(), "lisen") || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("a misspelt key in the file: %v", err)
	}
	if err := ReadEnv(&c, []string{"SESS_LISEN=x", "HOME=/"}); err == nil || !strings.Contains(err.Error(), "SESS_LISEN") {
		t.Errorf("a misspelt name in the environment: %v", err)
	}
	if err := ReadEnv(&c, []string{"SESS_URL=x"}, "SESS_URL"); err != nil {
		t.Errorf("a variable of another program: %v", err)
	}
	if err := Read(&c, []byte("# nothing\n")); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func TestEnvironmentOverridesFile(t *testing.T) {
	t.Parallel()
	c := Default("/data", "host")
	if err := Read(&c, []byte("nats:\n  listen: 127.0.0.1:1\nlimits:\n  line: 1MiB\n")); err != nil {
		t.Fatal(err)
	}
	env := []string{"SESS_NATS_LISTEN=127.0.0.1:2", "SESS_CLUSTER_ROUTES=a:1, b:2", "SESS_BLOBS_S3_CREATE=true", "SESS_SNAPSHOTS_IDLE=5s", "SESS_LOG_SHARDS=7"}
	if err := ReadEnv(&c, env); err != nil {
		t.Fatal(err)
	}
	if c.NATS.Listen != "127.0.0.1:2" || c.Limits.Line != 1<<20 || len(c.Cluster.Routes) != 2 || c.Cluster.Routes[1] != "b:2" ||
		!c.Blobs.S3.Create || c.Snapshots.Idle.String() != "5s" || c.Log.Shards != 7 {
		t.Errorf("%+v", c)
	}
	for _, bad := range []string{"SESS_LOG_SHARDS=many", "SESS_LIMITS_LINE=big", "SESS_SNAPSHOTS_IDLE=-5s", "SESS_BLOBS_S3_CREATE=maybe"} {
		if err := ReadEnv(&c, []string{bad}); err == nil || !strings.Contains(err.Error(), bad[:strings.IndexByte(bad, '=')]) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestCheckReportsAllFaults(t *testing.T) {
	t.Parallel()
	c := Default("", "")
	c.Listen = "0.0.0.0:7433"
	c.Log.Replicas = 2
	c.Log.Shards = 1000
	c.Blobs.Store = "tape"
	c.Logging.Level = "loud"
	c.Cluster = Cluster{Name: "c", Listen: "nowhere", Routes: List{"a:1"}}
	c.Limits.Line = 1 << 40
	err := Check(c)
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, key := range []string{"data:", "token:", "node:", "log.replicas:", "log.shards:", "blobs.store:", "logging.level:", "cluster.listen:", "cluster.routes:", "limits.line:"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not named in\n%v", key, err)
		}
	}
}

func TestCheckRefusesSettingsThatLoseOrRevealData(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"file blobs in a cluster": func(c *Config) {
			c.Cluster = Cluster{Name: "c", Listen: "127.0.0.1:1", Routes: List{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}}
		},
		"file blobs with an external server": func(c *Config) { c.NATS.URL = "nats://127.0.0.1:4222" },
		"an open address without a token":    func(c *Config) { c.Listen = ":7433" },
		"replicas on a single server":        func(c *Config) { c.Log.Replicas = 3 },
		"notices without a signature":        func(c *Config) { c.Notices.URLs = List{"https://example.com"} },
		"notices without encryption": func(c *Config) {
			c.Notices = Notices{URLs: List{"http://example.com"}, Secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}
		},
	} {
		c := Default("/data", "host")
		change(&c)
		if Check(c) == nil {
			t.Errorf("%s is allowed", name)
		}
	}
}

// On a host of several users, a token for the API protects nothing if the ports of
// the embedded server ask for none.
func TestCheckRequiresSecretsOfAllPortsBesideAToken(t *testing.T) {
	t.Parallel()
	cluster := Cluster{Name: "c", Listen: "127.0.0.1:1", Routes: List{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}}
	for _, c := range []struct {
		name, want string
		change     func(*Config)
	}{
		{"a cluster on loopback", "", func(c *Config) { c.Cluster = cluster }},
		{"with a token", "cluster.secret:", func(c *Config) { c.Cluster, c.Token = cluster, "t" }},
		{"with certificates of clients", "cluster.secret:", func(c *Config) {
			c.Cluster, c.TLS = cluster, TLS{Cert: "c", Key: "k", ClientCA: "ca", Subjects: List{"ops=admin"}}
		}},
		{"with a token and a secret", "", func(c *Config) { c.Cluster, c.Token = cluster, "t"; c.Cluster.Secret = "s" }},
		{"a NATS port on loopback", "", func(c *Config) { c.NATS.Listen = "127.0.0.1:1" }},
		{"a NATS port with a token of the API", "nats.token:", func(c *Config) { c.NATS.Listen, c.Token = "127.0.0.1:1", "t" }},
		{"a NATS port with both", "", func(c *Config) { c.NATS.Listen, c.NATS.Token, c.Token = "127.0.0.1:1", "n", "t" }},
	} {
		got := Default("/data", "host")
		got.Blobs.Store, got.Blobs.S3.Endpoint, got.Blobs.S3.Bucket = "s3", "http://127.0.0.1:9", "b"
		if c.change(&got); got.Cluster.Name == "" {
			got.Blobs.Store = "fs"
		}
		switch err := Check(got); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"0": 0, "4096": 4096, "64KiB": 64 << 10, "256 MiB": 256 << 20, "1GiB": 1 << 30, "2TiB": 2 << 40} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s is %d, %v", text, s, err)
		}
		var back Size
		if err := back.UnmarshalText([]byte(s.String())); err != nil || back != s {
			t.Errorf("%s prints as %s", text, s)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5GiB", "9999999999TiB", "1MB"} {
		var s Size
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is a size", text)
		}
	}
}

// TestOnlyLoopbackOrOpenAdmitsWithoutToken is a table of settings: clients need
// no token only on loopback, or with open.
func TestOnlyLoopbackOrOpenAdmitsWithoutToken(t *testing.T) {
	t.Parallel()
	certs := TLS{Cert: "c", Key: "k"}
	mutual := TLS{Cert: "c", Key: "k", ClientCA: "ca", Subjects: List{"ops=admin"}}
	for _, c := range []struct {
		name, listen, token string
		open                bool
		tls                 TLS
		fault               string // the key at fault, "" for none
		closed              bool
	}{
		{"loopback", "127.0.0.1:1", "", false, TLS{}, "", false},
		{"loopback by name", "localhost:1", "", false, TLS{}, "", false},
		{"loopback, IPv6", "[::1]:1", "", false, TLS{}, "", false},
		{"loopback with a token", "127.0.0.1:1", "t", false, TLS{}, "", true},
		{"every address", ":1", "", false, TLS{}, "token:", false},
		{"every address, written out", "0.0.0.0:1", "", false, TLS{}, "token:", false},
		{"every address, IPv6", "[::]:1", "", false, TLS{}, "token:", false},
		{"a name", "node.example:1", "", false, TLS{}, "token:", false},
		{"an address with TLS alone", "0.0.0.0:1", "", false, certs, "token:", false},
		{"an address with a token", "0.0.0.0:1", "t", false, TLS{}, "", true},
		{"an address with certificates", "0.0.0.0:1", "", false, mutual, "", true},
		{"with open", "0.0.0.0:1", "", true, TLS{}, "", false},
		{"said, and a token", "0.0.0.0:1", "t", true, TLS{}, "open:", true},
		{"said, and certificates", "0.0.0.0:1", "", true, mutual, "open:", true},
		{"certificates without TLS", "127.0.0.1:1", "t", false, TLS{ClientCA: "ca"}, "tls.client_ca:", true},
		{"certificates that mean nothing", "127.0.0.1:1", "", false, TLS{Cert: "c", Key: "k", ClientCA: "ca"}, "tls.subjects:", true},
		{"subjects without an authority", "127.0.0.1:1", "t", false, TLS{Cert: "c", Key: "k", Subjects: List{"a=read"}}, "tls.subjects:", true},
		{"everybody as a subject", "127.0.0.1:1", "t", false, TLS{Cert: "c", Key: "k", ClientCA: "ca", Subjects: List{"*=read"}}, "tls.subjects:", true},
		{"an unknown scope", "127.0.0.1:1", "t", false, TLS{Cert: "c", Key: "k", ClientCA: "ca", Subjects: List{"a=root"}}, "tls.subjects:", true},
		{"a certificate without its key", "127.0.0.1:1", "", false, TLS{Cert: "c"}, "tls:", false},
	} {
		cfg := Default("/data", "host")
		cfg.Listen, cfg.Token, cfg.Open, cfg.TLS = c.listen, c.token, c.open, c.tls
		err := Check(cfg)
		switch {
		case c.fault == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)):
			t.Errorf("%s: %v, want it to name %s", c.name, err, c.fault)
		}
		if cfg.Closed() != c.closed {
			t.Errorf("%s: closed is %v", c.name, cfg.Closed())
		}
	}
}
