package e2e_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

var updateAttempts = flag.Bool("update-attempts", false, "write testdata/*.golden of attempts and answers anew")

// refusing collects the refusals that a NATS server logs.
type refusing struct {
	mu   sync.Mutex
	said []string
}

func (r *refusing) note(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	if !strings.Contains(text, "Violation") {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, text)
}

func (r *refusing) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.said...)
}

func (r *refusing) Noticef(f string, v ...any) { r.note(f, v...) }
func (r *refusing) Warnf(f string, v ...any)   { r.note(f, v...) }
func (r *refusing) Fatalf(f string, v ...any)  { r.note(f, v...) }
func (r *refusing) Errorf(f string, v ...any)  { r.note(f, v...) }
func (r *refusing) Debugf(string, ...any)      {}
func (r *refusing) Tracef(string, ...any)      {}

// natsUsers runs a NATS server with the users of two logs, a and b, each with the
// permissions that sessnode prints for its role: all in one account, or an account per
// log. Users are named a-node and so on, with the password "pw". Nodes authenticate
// with nkeys, whose seeds are in files.
type natsUsers struct {
	*server.Server
	refused *refusing
	seeds   map[string]string // file by user
}

func startNATSUsers(t *testing.T, accounts bool) *natsUsers {
	t.Helper()
	n := &natsUsers{refused: &refusing{}, seeds: map[string]string{}}
	byLog := map[string]*strings.Builder{}
	for _, log := range []string{"a", "b"} {
		users := &strings.Builder{}
		byLog[log] = users
		for _, role := range []string{"reader", "writer", "node", "first"} {
			name := log + "-" + role
			printed := harness.NewNode(t, "--log-name", log).Run(t, "nats-permissions", "--role", role)
			if printed.Code != 0 {
				t.Fatalf("nats-permissions: %s", printed)
			}
			fmt.Fprintf(users, "{ user: %q, password: pw, %s },\n", name, printed.Out)
			if role != "node" && role != "first" {
				continue
			}
			key, err := nkeys.CreateUser()
			if err != nil {
				t.Fatal(err)
			}
			public, _ := key.PublicKey()
			seed, _ := key.Seed()
			n.seeds[name] = filepath.Join(t.TempDir(), name+".nk")
			testkit.WriteFile(t, n.seeds[name], seed)
			fmt.Fprintf(users, "{ nkey: %q, %s },\n", public, printed.Out)
		}
	}
	conf := fmt.Sprintf("authorization: { users: [\n%s%s] }\n", byLog["a"], byLog["b"])
	if accounts {
		conf = fmt.Sprintf("accounts: {\n A: { jetstream: enabled, users: [\n%s] }\n B: { jetstream: enabled, users: [\n%s] }\n}\n", byLog["a"], byLog["b"])
	}
	conf += fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream: { store_dir: %q, sync_interval: always }\nmax_payload: 1MB\n", t.TempDir())
	file := filepath.Join(t.TempDir(), "nats.conf")
	testkit.WriteFile(t, file, []byte(conf))
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatalf("a NATS server reads what nats-permissions prints: %v\n%s", err, conf)
	}
	opts.NoSigs, opts.NoLog = true, true
	if n.Server, err = server.NewServer(opts); err != nil {
		t.Fatal(err)
	}
	n.SetLoggerV2(n.refused, false, false, false)
	n.Start()
	t.Cleanup(func() {
		n.Shutdown()
		n.WaitForShutdown()
	})
	if !n.ReadyForConnections(harness.WaitTimeout) {
		t.Fatal("the NATS server does not listen")
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server refused: %s", strings.Join(n.refused.all(), "\n"))
		}
	})
	return n
}

// node starts a sessnode of a log on the server as the given user, with its blobs
// below a separate prefix.
func (n *natsUsers) node(t *testing.T, bucket *harness.Bucket, log, user string, more ...string) *harness.Node {
	t.Helper()
	args := append(bucket.Args(), "--nats-url", n.ClientURL(), "--nats-nkey", n.seeds[user], "--nats-sync", "1ms", "--log-name", log, "--node", user, "--blobs-s3-prefix", log,
		"--snapshots-min-tail", "1KiB", "--snapshots-idle", "100ms")
	node := harness.StartNode(t, append(args, more...)...)
	return node
}

// TestRolesHaveThePermissionsTheyNeed exercises nodes with the permissions that
// nats-permissions prints: nothing may be refused.
func TestRolesHaveThePermissionsTheyNeed(t *testing.T) {
	t.Parallel()
	ns := startNATSUsers(t, false)
	bucket := harness.StartBucket(t)
	first := ns.node(t, bucket, "a", "a-first") // it creates the bucket of tokens, although it needs none
	if code := first.Terminate(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	hook := &hook{key: []byte("0123456789abcdef01234567")}
	srv := httptest.NewServer(hook)
	t.Cleanup(srv.Close)
	node := ns.node(t, bucket, "a", "a-node", "SESS_TOKEN=a-token-of-the-test",
		"--notices-urls", srv.URL, "SESS_NOTICES_SECRET=whsec_"+base64.StdEncoding.EncodeToString(hook.key))
	node.Token = "a-token-of-the-test"
	h := harness.NewHost(t, node)
	file, gone := harness.NewFile(t, harness.Shape{Turns: 20, Images: 2}), harness.NewFile(t, harness.Shape{Turns: 3})
	h.Do(t, "import", file.Save(t, h.Dir))
	h.Do(t, "import", gone.Save(t, h.Dir))
	claimed, err := node.Client().Claim(harness.Timeout(t), file.ID, core.ClaimRequest{Agent: "pi", Host: "here"})
	if err != nil {
		t.Fatal(err)
	}
	appendText(t, node.Client(), file.ID, "one more", client.AppendOptions{Writer: claimed.Writer})
	harness.Await(t, "the webhook has a notice", func() error {
		_, err := node.Client().Claim(harness.Timeout(t), file.ID, core.ClaimRequest{Agent: "pi", Host: "there", TakeOver: true})
		if err == nil && len(hook.all()) == 0 {
			err = errors.New("it has none")
		}
		return err
	})
	h.Do(t, "ls")
	h.Do(t, "ps")
	h.Do(t, "tail", file.ID)
	h.Do(t, "info", "--strict", file.ID)
	h.Do(t, "checkpoint", file.ID)
	h.Do(t, "verify", file.ID)
	h.Do(t, "status")
	h.Sessctl(t, "doctor") // the findings do not matter here
	h.Do(t, "token", "create", "reader")
	h.Do(t, "token", "ls")
	h.Do(t, "token", "rotate", "reader")
	h.Do(t, "token", "revoke", "reader")
	h.Do(t, "backup", "--to", h.Path("backup"))
	h.Do(t, "rm", gone.ID, "--why", "a test")
	h.Do(t, "erase", gone.ID, "--why", "a test", "--now", "--yes")
	h.Do(t, "audit")
	h.Do(t, "rebuild", "--yes")
	for _, said := range ns.refused.all() {
		t.Errorf("refused: %s", said)
	}
}

// An attempt is an operation that a NATS user tries.
type attempt struct {
	what string
	do   func(*user) bool // reports whether it was permitted
}

// A user is a connection of a NATS user.
type user struct {
	t      *testing.T
	nc     *nats.Conn
	inbox  string
	denied chan struct{}
}

func (n *natsUsers) connect(t *testing.T, name, log, role string) *user {
	t.Helper()
	u := &user{t: t, denied: make(chan struct{}, 100), inbox: "_SESSINBOX_" + strings.Replace(role, "first", "node", 1) + "_" + log}
	var err error
	u.nc, err = nats.Connect(n.ClientURL(), nats.UserInfo(name, "pw"), nats.CustomInboxPrefix(u.inbox),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				u.denied <- struct{}{}
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.nc.Close)
	return u
}

// ask sends a request. It reports whether the server permitted it and a responder
// answered without an error.
func (u *user) ask(subject, body string) bool {
	u.t.Helper()
	sub, err := u.nc.SubscribeSync(u.inbox + "." + nats.NewInbox()[7:])
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	u.drain()
	if err := u.nc.PublishRequest(subject, sub.Subject, []byte(body)); err != nil {
		u.t.Fatal(err)
	}
	// Either a refusal or an answer arrives.
	answers := make(chan *nats.Msg, 1)
	go func() {
		m, err := sub.NextMsg(harness.WaitTimeout)
		if err == nil {
			answers <- m
		}
	}()
	select {
	case <-u.denied:
		return false
	case m := <-answers:
		return !bytes.Contains(m.Data, []byte(`"error"`)) && m.Header.Get("Status") == ""
	case <-time.After(harness.WaitTimeout):
		u.t.Fatalf("neither an answer nor a refusal of %s", subject)
		return false
	}
}

// listen reports whether the user may subscribe.
func (u *user) listen(subject string) bool {
	u.t.Helper()
	u.drain()
	sub, err := u.nc.SubscribeSync(subject)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := u.nc.FlushTimeout(harness.WaitTimeout); err != nil {
		u.t.Fatal(err)
	}
	// The refusal of a subscription arrives before the answer to the ping.
	if !errors.Is(u.nc.LastError(), nats.ErrPermissionViolation) || !strings.Contains(u.nc.LastError().Error(), `"`+subject+`"`) {
		return true
	}
	return false
}

func (u *user) drain() {
	for {
		select {
		case <-u.denied:
		default:
			return
		}
	}
}

// attemptsOn returns the attempts on a log.
func attemptsOn(log string) []attempt {
	asks := func(what, subject, body string) attempt {
		return attempt{what, func(u *user) bool { return u.ask(subject, body) }}
	}
	listens := func(what, subject string) attempt {
		return attempt{what, func(u *user) bool { return u.listen(subject) }}
	}
	stream := "SESS_" + log + "_00"
	create := func(name, config string) string {
		return fmt.Sprintf(`{"stream_name":%q,"config":{"name":%q,"ack_policy":"none","deliver_policy":"all","mem_storage":true,"num_replicas":1,"inactive_threshold":60000000000%s}}`, stream, name, config)
	}
	return []attempt{
		asks("see a shard", "$JS.API.STREAM.INFO."+stream, ""),
		asks("read a record", "$JS.API.STREAM.MSG.GET."+stream, `{"last_by_subj":"sess.`+log+`.00.*"}`),
		asks("read a record from a copy", "$JS.API.DIRECT.GET."+stream, `{"last_by_subj":"sess.`+log+`.00.*"}`),
		listens("follow", "live.sess."+log+".>"),
		asks("append", "sess."+log+".00.session-of-attempts", "x"),
		asks("read all of a shard", "$JS.API.CONSUMER.CREATE."+stream+".c1", create("c1", "")),
		asks("have a shard sent elsewhere", "$JS.API.CONSUMER.CREATE."+stream+".c2", create("c2", `,"deliver_subject":"elsewhere"`)),
		asks("drop a shard's beginning", "$JS.API.STREAM.PURGE."+stream, `{"seq":1}`),
		asks("delete a record", "$JS.API.STREAM.MSG.DELETE."+stream, `{"seq":1}`),
		asks("change a shard", "$JS.API.STREAM.UPDATE."+stream, `{"name":"`+stream+`","subjects":["sess.`+log+`.00.*"],"max_age":1000000000}`),
		asks("delete the shard", "$JS.API.STREAM.DELETE."+stream, ""),
		asks("make a token by hand", "$KV.SESSTOKENS_"+log+".token.aaaaaaaaaaaa", "{}"),
		asks("see the tokens' digests", "$JS.API.DIRECT.GET.KV_SESSTOKENS_"+log+".$KV.SESSTOKENS_"+log+".token.aaaaaaaaaaaa", ""),
		asks("delete the tokens", "$JS.API.STREAM.DELETE.KV_SESSTOKENS_"+log, ""),
		asks("see who is present", "$JS.API.STREAM.INFO.KV_SESSHERE_"+log, ""),
		asks("write an audit record", "sessaudit."+log, "{}"),
		asks("drop the audit records", "$JS.API.STREAM.PURGE.SESSAUDIT_"+log, ""),
		listens("hear the node's answers", "_SESSINBOX_node_"+log+".>"),
	}
}

// onTheServer are the attempts on the server itself.
var onTheServer = []attempt{
	{"listen to everything", func(u *user) bool { return u.listen(">") }},
	{"hear everybody's answers", func(u *user) bool { return u.listen("_INBOX.>") }},
	{"hear of the system", func(u *user) bool { return u.listen("$SYS.>") }},
	{"list streams", func(u *user) bool { return u.ask("$JS.API.STREAM.NAMES", "") }},
	{"make a stream", func(u *user) bool { return u.ask("$JS.API.STREAM.CREATE.X", `{"name":"X","subjects":["x"]}`) }},
	{"write anywhere", func(u *user) bool { return u.ask("x", "x") }},
}

// TestNATSUsersPermissions compares a table of attempts and answers
// with a golden file: two logs on one server, in one account and in an account each.
func TestNATSUsersPermissions(t *testing.T) {
	t.Parallel()
	bucket := harness.StartBucket(t)
	for _, accounts := range []bool{false, true} {
		if accounts && !*long {
			continue // TestLogsAreIsolatedOnSharedServices covers accounts
		}
		name := map[bool]string{false: "permissions-one-account", true: "permissions-two-accounts"}[accounts]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := startNATSUsers(t, accounts)
			// Each log has a session, a token and an audit record.
			for _, log := range []string{"a", "b"} {
				node := ns.node(t, bucket, log, log+"-first", "SESS_TOKEN=a-token-of-the-test")
				node.Token = "a-token-of-the-test"
				if _, err := node.Client().Create(harness.Timeout(t), api.Create{ID: inShardZero()}); err != nil {
					t.Fatal(err)
				}
				if _, err := node.Client().CreateToken(harness.Timeout(t), api.TokenRequest{Name: "x", Scope: "read"}); err != nil {
					t.Fatal(err)
				}
			}
			var b strings.Builder
			users := []string{"a-reader", "a-writer", "a-node", "a-first", "b-node", "b-first"}
			fmt.Fprintf(&b, "%-40s", "ATTEMPT")
			for _, u := range users {
				fmt.Fprintf(&b, " %-8s", u)
			}
			b.WriteString("\n")
			row := func(where string, a attempt) {
				fmt.Fprintf(&b, "%-40s", where+a.what)
				for _, name := range users {
					log, role, _ := strings.Cut(name, "-")
					answer := "refused"
					if a.do(ns.connect(t, name, log, role)) {
						answer = "yes"
					}
					fmt.Fprintf(&b, " %-8s", answer)
				}
				b.WriteString("\n")
			}
			for _, a := range attemptsOn("a") {
				row("a: ", a)
			}
			for _, a := range attemptsOn("b") {
				row("b: ", a)
			}
			for _, a := range onTheServer {
				row("", a)
			}
			sameAttempts(t, "testdata/"+name+".golden", b.String())
		})
	}
}

// inShardZero returns a session ID in the first of four shards.
func inShardZero() string {
	for i := 0; ; i++ {
		id := fmt.Sprintf("session-%d", i)
		h := fnv.New32a()
		_, _ = h.Write([]byte(id))
		if h.Sum32()%4 == 0 {
			return id
		}
	}
}

func sameAttempts(t *testing.T, path, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n")
	if *updateAttempts {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil || got != string(want) {
		t.Errorf("%s differs (%v); check it and update it with: go test ./test/e2e -run TestNATSUsersPermissions -args -update-attempts\n%s", path, err, got)
	}
}

// TestLogsAreIsolatedOnSharedServices asks a node of each log for the
// other log's data.
func TestLogsAreIsolatedOnSharedServices(t *testing.T) {
	t.Parallel()
	ns := startNATSUsers(t, true)
	bucket := harness.StartBucket(t)
	logs := []string{"a", "b"}
	nodes, files, tokens := map[string]*harness.Node{}, map[string]*harness.File{}, map[string]string{}
	for _, log := range logs {
		first := "the-first-token-of-" + log
		n := ns.node(t, bucket, log, log+"-first", "SESS_TOKEN="+first)
		n.Token = first
		nodes[log], files[log] = n, harness.NewFile(t, harness.Shape{Turns: 5, Images: 2})
		importFile(t, n.Client(), files[log])
		if _, err := n.Client().Checkpoint(harness.Timeout(t), files[log].ID); err != nil {
			t.Fatal(err)
		}
		made, err := n.Client().CreateToken(harness.Timeout(t), api.TokenRequest{Name: "agent", Scope: "admin"})
		if err != nil {
			t.Fatal(err)
		}
		tokens[log] = made.Bearer
		harness.Await(t, "the node to know its token", func() error {
			c := n.Client()
			c.Token = made.Bearer
			_, err := c.Whoami(harness.Timeout(t))
			return err
		})
	}
	for i, log := range logs {
		other := logs[1-i]
		there := nodes[log].Client() // with the admin token of that log
		status := func(c *client.Client, f func(*client.Client) error) int {
			err := f(c)
			if e, ok := errors.AsType[*client.Error](err); ok {
				return e.Detail.Status
			}
			if err != nil {
				t.Fatal(err)
			}
			return http.StatusOK
		}
		blobs, err := nodes[other].Client().Blobs(harness.Timeout(t), "", 0)
		if err != nil || len(blobs.Blobs) == 0 {
			t.Fatalf("the other log has no blobs: %v", err)
		}
		snap, object, err := nodes[other].Client().Snapshot(harness.Timeout(t), files[other].ID)
		if err != nil || len(snap) == 0 {
			t.Fatal(err)
		}
		foreign := nodes[log].Client()
		foreign.Token = tokens[other]
		for _, c := range []struct {
			what string
			cl   *client.Client
			want int
			do   func(*client.Client) error
		}{
			{"who am I, with the other's token", foreign, 401, func(c *client.Client) error { _, err := c.Whoami(harness.Timeout(t)); return err }},
			{"list, with the other's token", foreign, 401, func(c *client.Client) error { _, err := c.List(harness.Timeout(t), catalog.Filter{}); return err }},
			{"info of the other's session", there, 404, func(c *client.Client) error { _, err := c.Info(harness.Timeout(t), files[other].ID); return err }},
			{"verify the other's session", there, 404, func(c *client.Client) error { _, err := c.Verify(harness.Timeout(t), files[other].ID); return err }},
			{"append to the other's session", there, 404, func(c *client.Client) error {
				_, err := c.Append(harness.Timeout(t), files[other].ID, []byte(harness.Message("user", "x")), client.AppendOptions{})
				return err
			}},
			{"the other's blob", there, 404, func(c *client.Client) error {
				r, err := c.Blob(harness.Timeout(t), blobs.Blobs[0].Digest)
				if err == nil {
					_ = r.Close()
				}
				return err
			}},
			{"the other's snapshot", there, 404, func(c *client.Client) error {
				_, _, err := c.Snapshot(harness.Timeout(t), files[other].ID)
				return err
			}},
		} {
			if got := status(c.cl, c.do); got != c.want {
				t.Errorf("node of log %s: %s: %d, want %d", log, c.what, got, c.want)
			}
		}
		list, err := there.List(harness.Timeout(t), catalog.Filter{})
		if err != nil || len(list.Sessions) != 1 || string(list.Sessions[0].ID) != files[log].ID {
			t.Errorf("log %s lists %+v, %v", log, list.Sessions, err)
		}
		own, err := there.Blobs(harness.Timeout(t), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range own.Blobs {
			for _, o := range blobs.Blobs {
				if b.Digest == o.Digest {
					t.Errorf("log %s lists blob %s of log %s", log, b.Digest, other)
				}
			}
		}
		if !strings.Contains(object, other) {
			t.Errorf("the snapshot of log %s is at %s", other, object)
		}
	}
}
