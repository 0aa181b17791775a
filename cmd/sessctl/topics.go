package main

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `sessctl reads, writes and moves the sessions of agents that are kept in a log. It
sends HTTP requests to a node and needs neither NATS nor an object store.

Verbs print a table or a few lines. With -o json they print JSON for programs,
with -o wide a table that is not cut and has more columns. On a terminal, long
operations show their progress on standard error.

Verbs that remove data permanently, or many sessions, show what they would do and
ask; --yes does it without a question. Without a terminal they only show it. Most
verbs that write have --dry-run: the node validates the request and returns the
result, but stores nothing.`

const rootExample = `sessctl import ~/.pi/agent/sessions
sessctl ls
sessctl search flaky test
sessctl resume 019a -- pi`

// topics are pages of help that belong to no single verb.
var topics = []struct{ name, FileTitle, text string }{
	{
		"sessions", "What a SESSION argument can be",
		`A SESSION argument is the first of these that applies:

- "-" is a session file on standard input.
- The path of an existing file is that file. A directory is an error.
- An argument with a "/" in it, or with .jsonl at its end, is a file. If it
  does not exist, that is an error.
- Anything else is a session in the log: its id, the id that its agent gave it,
  or a prefix that only one id has. An exact id wins over a prefix. If several
  ids have the prefix, the error lists five of them.

The verbs info, tree, usage, diff, model-input, entries, children, export and
secrets read files, and then contact no node. The other verbs take sessions in
the log; import takes files.

A file is read once, up to the size that it had when it was opened. An
incomplete last line is therefore reported like any line that is not an entry.
Files of more than 512 MiB cannot be read directly: import them.`,
	},
	{
		"json", "What -o json prints",
		`With -o json a verb prints what programs can rely on.

- The fields that the help of a verb lists keep their names and types. Later
  versions may add fields: ignore those that you do not know.
- Each result is one line. Verbs that take several arguments, and tail, print
  one object per line. The others print one object or one list. A list without
  elements is [].
- Data from agents (header, entries, contexts) is passed on as the agent wrote
  it, including number formats and escapes. On a terminal, control characters
  are escaped.
- cursor and --after are cursors, such as 12-9f86d081884c7d65. They are opaque
  and valid on every node. seq is the number of a record. If it is a string, it
  equals cursor, for older scripts.
- Times are in RFC 3339.
- holder and former are claims: agent, host, by, since, writer, epoch, seq.
- life says whether the holder of a claim seems to be active: state (alive,
  silent, new, unknown), seen and host.

A failure is one object on standard error. Results that came before it are on
standard output, also the reports of verify, the status of a node that is not
healthy, and the lines that append could not store. If several files fail, each
has an object.

    {"code":"fenced","detail":"...","next":"...","head":"main","exit":6}

- code and exit are those of the exit codes. detail says what failed, and next
  which command helps.
- line (of the input, from 1) and entry name the faulty input, head and holder
  the claim, cursor the end of the session.
- After a refused append, since lists what another writer appended, and more
  counts the changes that are not listed.

Without -o json a failure is a line "sessctl: VERB: REASON" and, if a command
helps, a line "hint: COMMAND".`,
	},
	{
		"exit-codes", "What exit codes mean",
		`The exit code, the values of code in JSON, and their meaning:

    0    success; also if tail -f was interrupted or its --timeout passed
    1    error, too-new, unauthorized, forbidden, internal
         any other failure; too-new: a newer version wrote the session
    2    usage
         wrong arguments, or a prefix that several ids have
    3    not-found
         no such session, entry, head, blob or file
    4    invalid, too-large
         the input is not valid, or exceeds a limit
    5    conflict, exists, held
         the log or the file system has something else in that place, or the
         session is on hold
    6    fenced
         another writer holds the head
    7    unavailable, too-many, uncertain, full
         no node, no quorum, no space, or no answer in time; uncertain: it may
         be done or not; too-many: over the limits of the token;
         status: the node is not healthy
    8    corrupt, lost
         data is damaged or missing; secrets: something was found
    9    deleted
         the session is in the trash or was erased
    130  interrupted
         interrupted before anything was done

If several files fail, the exit code is that of the first one.`,
	},
	{
		"environment", "Environment variables",
		`Flags win over these variables.

- SESS_URL: the node, or several nodes separated by commas
- SESS_CONTEXT: the context, if SESS_URL is not set either
- SESS_TOKEN: the token
- SESS_WRITER: the claim to write with
- SESS_BY: who does this, for others to read; default USER, then LOGNAME
- SESS_CA, SESS_CLIENT_CERT, SESS_CLIENT_KEY: files for TLS
- XDG_CONFIG_HOME: contexts and settings are in sesslog/ below it; default
  ~/.config
- XDG_STATE_HOME: claims are in sesslog/claims below it, the state of watch in
  sesslog/watch; default ~/.local/state
- PI_CODING_AGENT_DIR: the files of pi (default ~/.pi/agent) and of omp
  (default ~/.omp/agent)
- PI_CODING_AGENT_SESSION_DIR: the one directory that has pi's sessions
- PI_CONFIG_DIR, XDG_DATA_HOME: other places of omp's files
- OPENRATH_HOME: the files of OpenRath; default ./.openrath if it exists, else
  ~/.openrath
- NO_COLOR: if set, output on a terminal has no colors`,
	},
	{
		"claims", "How writers share a session",
		`claim and resume take an exclusive claim on a head. This host remembers the
claim in a file that only its owner can read. append, label, name, move-head,
import and release write with the remembered claim of the head; --writer names
another claim, --no-claim none. If a write is refused because the claim ended,
the host forgets the claim, and the error names the current holder.

A claim is stored in the log and stays after its sessctl has ended. The log then
cannot tell whether the holder is still active. sessctl ps shows processes that
keep running: Go programs with an open session, and sessctl claim --hold, which
stays in the foreground and releases the claim when it is interrupted.

resume does not take a head from a holder that is active, or that claimed it in
the last 30 seconds. It takes the head from any other holder; --take-over takes
it from every holder.

    sessctl resume 019a -- pi                 # run pi here; release at its end
    sessctl resume 019a --no-start            # write the file, claim the head
    sessctl claim --hold 019a & pi; kill $!   # hold the claim while pi runs

Claims protect against concurrent writers, not against unauthorized ones: tokens
do that.`,
	},
}

// addTopics adds the pages of help that belong to no verb: sessctl help NAME.
func addTopics(root *cobra.Command) {
	flags := "These flags work with every verb.\n\n" + strings.TrimSuffix(root.PersistentFlags().FlagUsagesWrapped(helpWidth), "\n")
	root.AddCommand(&cobra.Command{Use: "flags", Short: "Flags of all verbs", Long: flags})
	for _, t := range topics {
		root.AddCommand(&cobra.Command{Use: t.name, Short: t.FileTitle, Long: t.text})
	}
}
