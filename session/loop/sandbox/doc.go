// Package sandbox is where the tools of an agent work: a place with files in which
// commands run, opened when it is first needed and shared by sessions that come from
// each other.
//
//	slot := sandbox.New(map[string]sandbox.Opener{"local": sandbox.Local})
//	err := slot.To("local", sandbox.Spec{Dir: "/home/dev/site"})
//	defer slot.Close()
//	tools, err := sandbox.Tools(slot)
//	l, err := loop.Start(ctx, log, user, agent, loop.Config{Model: m, Tools: tools}, session.Options{})
//
// Local is a directory of this host. It protects other files from the file tools, and
// this process from commands that do not end or take too much; it does not protect the
// host from a hostile command. A Container does: its commands see the directory, and
// otherwise their image.
package sandbox
