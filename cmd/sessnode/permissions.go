package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/access/tokenstore"
	"github.com/sesslog/sesslog/config"
)

// natsRoles are the roles of clients of the NATS server of a log.
var natsRoles = []struct{ name, what string }{
	{"reader", "a Go program that reads and follows sessions through package stream"},
	{"writer", "a Go program that also writes to sessions"},
	{"node", "a sessnode of an existing log"},
	{"first", "the first sessnode of a log, which creates its streams and buckets; use node afterwards"},
}

// natsInbox returns the subject prefix for replies to a role. Other roles and
// other logs cannot subscribe to it.
func natsInbox(log, role string) string {
	if role == "first" {
		role = "node" // the same program
	}
	return "_SESSINBOX_" + role + "_" + log
}

// natsPermissions returns the subjects that a role needs to publish and subscribe
// to, and no others.
func natsPermissions(role, log string, shards int) (publish, subscribe []string) {
	subscribe = []string{natsInbox(log, role) + ".>", "live.sess." + log + ".>"}
	var streams []string
	for i := range shards {
		streams = append(streams, fmt.Sprintf("SESS_%s_%02d", log, i))
	}
	of := func(call string, names ...string) {
		for _, name := range names {
			publish = append(publish, "$JS.API."+call+"."+name)
		}
	}
	of("STREAM.INFO", streams...)
	of("STREAM.MSG.GET", streams...)
	of("DIRECT.GET", streams...)
	if role == "reader" {
		return publish, subscribe
	}
	publish = append(publish, "sess."+log+".>")
	if role == "writer" {
		return publish, subscribe
	}
	audit, notices := "SESSAUDIT_"+log, "SESSNOTICES_"+log
	presence, tokens := "KV_SESSHERE_"+log, "KV_"+tokenstore.BucketName(log)
	publish = append(publish, "$JS.API.INFO") // requested before a bucket is created; returns the account's limits
	of("STREAM.PURGE", streams...)            // truncation and erasure
	of("STREAM.LEADER.STEPDOWN", streams...)  // if a leader lacks a record that a follower has
	of("STREAM.INFO", audit, presence, tokens)
	of("STREAM.MSG.GET", tokens)
	of("STREAM.CREATE", presence) // it is in memory, and lost if all servers restart
	of("STREAM.PURGE", presence)
	for _, bucket := range []string{presence, tokens} {
		of("DIRECT.GET", bucket, bucket+".>")
		publish = append(publish, "$KV."+strings.TrimPrefix(bucket, "KV_")+".>", "$JS.FC."+bucket+".>")
	}
	publish = append(publish, "sessaudit."+log, "sessnotices."+log+".*", "$JS.ACK."+notices+".>")
	of("STREAM.CREATE", notices) // when webhooks are first configured
	of("STREAM.UPDATE", notices)
	for _, name := range append(streams, audit, presence, tokens, notices) {
		of("CONSUMER.CREATE", name+".>")
		of("CONSUMER.MSG.NEXT", name+".*")
		of("CONSUMER.INFO", name+".*")
		of("CONSUMER.DELETE", name+".*")
	}
	if role == "first" {
		of("STREAM.CREATE", append(streams, audit, tokens)...)
	}
	return publish, subscribe
}

func permissionsCmd(cfg *config.Config, out io.Writer) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "nats-permissions",
		Short: "Print the NATS permissions of a role",
		Long: `Prints the permissions that a role needs on the NATS server of the log, and no
others, as a block for a user or an account in the server's configuration. The
log is that of the settings: log.name, and log.shards if it is not the default.

Roles:
` + rolesText(),
		Example: `  sessnode nats-permissions
  sessnode nats-permissions --role first --log-name main
  sessnode nats-permissions --role reader > reader.conf`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, r := range natsRoles {
				if r.name == role {
					external := *cfg
					external.NATS.Sync = 0 // shared flushes are for the embedded server
					return printPermissions(out, role, r.what, cfg.Log.Name, shardsOf(external))
				}
			}
			return fmt.Errorf("--role %q: use one of\n%s", role, rolesText())
		},
	}
	cmd.Flags().StringVar(&role, "role", "node", "reader, writer, node or first")
	return cmd
}

func rolesText() string {
	var b strings.Builder
	for _, r := range natsRoles {
		fmt.Fprintf(&b, "  %-8s %s\n", r.name, r.what)
	}
	return b.String()
}

func printPermissions(out io.Writer, role, what, log string, shards int) error {
	publish, subscribe := natsPermissions(role, log, shards)
	var b strings.Builder
	fmt.Fprintf(&b, "# Role %s of log %s, %d shards: %s.\n", role, log, shards, what)
	if role == "reader" || role == "writer" {
		fmt.Fprintf(&b, "# It connects with nats.CustomInboxPrefix(%q).\n", natsInbox(log, role))
	}
	fmt.Fprintf(&b, "permissions: {\n  publish: {\n    allow: [\n%s    ]\n  }\n  subscribe: {\n    allow: [\n%s    ]\n  }\n}\n",
		quoted(publish), quoted(subscribe))
	_, err := io.WriteString(out, b.String())
	return err
}

func quoted(subjects []string) string {
	var b strings.Builder
	for _, s := range subjects {
		fmt.Fprintf(&b, "      %q\n", s)
	}
	return b.String()
}
