package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A conn is the broker's side of a client's connection. It implements the part of the
// NATS protocol that nats.go uses.
type conn struct {
	b    *broker
	id   int
	name string
	c    net.Conn

	// Guarded by b.mu.
	subs   []*sub // by sid
	in     []*pub
	seen   int // number of messages of in that the world has sorted
	out    []byte
	wake   *sync.Cond
	closed bool
	dead   bool // its node is dead and sends nothing
}

type sub struct {
	sid, subject string
	left         int // messages until it ends; 0 for no end, -1 after the end
}

// A pub is a message from a client.
type pub struct {
	from           *conn
	subject, reply string
	header, data   []byte
}

// A delivery is a message for the subscribers of "to". It carries subject.
type delivery struct {
	to, subject, reply string
	header, data       []byte
}

// A door accepts the connections of the client with that name. It implements
// nats.InProcessConnProvider.
type door struct {
	b    *broker
	name string
}

func (d door) InProcessConn() (net.Conn, error) {
	client, server := net.Pipe()
	d.b.mu.Lock()
	defer d.b.mu.Unlock()
	d.b.nextConn++
	c := &conn{b: d.b, id: d.b.nextConn, name: d.name, c: server}
	c.wake = sync.NewCond(&d.b.mu)
	c.write("INFO {\"server_id\":\"SIM\",\"server_name\":\"sim\",\"version\":\"2.12.0\",\"proto\":1,\"headers\":true,\"jetstream\":true,\"max_payload\":1048576,\"client_id\":%d}\r\n", c.id)
	d.b.conns = append(d.b.conns, c)
	go c.writeLoop()
	go c.readLoop()
	return client, nil
}

// write queues data for the client. The caller holds b.mu.
func (c *conn) write(format string, a ...any) {
	c.out = fmt.Appendf(c.out, format, a...)
	c.wake.Signal()
}

func (c *conn) writeLoop() {
	for {
		c.b.mu.Lock()
		for len(c.out) == 0 && !c.closed {
			c.wake.Wait()
		}
		out := c.out
		c.out = nil
		closed := c.closed
		c.b.mu.Unlock()
		if closed {
			return
		}
		if _, err := c.c.Write(out); err != nil {
			c.close()
			return
		}
	}
}

func (c *conn) close() {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	c.closeLocked()
}

func (c *conn) closeLocked() {
	if c.closed {
		return
	}
	c.closed = true
	c.subs, c.out = nil, nil
	c.wake.Signal()
	_ = c.c.Close()
}

func (c *conn) readLoop() {
	defer c.close()
	r := bufio.NewReaderSize(c.c, 64<<10)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		if err := c.command(r, strings.Fields(line)); err != nil {
			return
		}
	}
}

func (c *conn) command(r io.Reader, f []string) error {
	if len(f) == 0 {
		return nil
	}
	switch strings.ToUpper(f[0]) {
	case "PING":
		c.b.mu.Lock()
		c.write("PONG\r\n")
		c.b.mu.Unlock()
	case "SUB":
		c.b.mu.Lock()
		c.subscribe(&sub{sid: f[len(f)-1], subject: f[1]})
		c.b.mu.Unlock()
	case "UNSUB":
		c.unsub(f[1:])
	case "PUB", "HPUB":
		p, err := readPub(r, f)
		if err != nil {
			return err
		}
		p.from = c
		c.b.receive(p)
	}
	return nil
}

// subscribe keeps subs in the order in which the client created them. After a reconnect,
// the client sends them in another order.
func (c *conn) subscribe(s *sub) {
	i := len(c.subs)
	for i > 0 && number(c.subs[i-1].sid) > number(s.sid) {
		i--
	}
	c.subs = slices.Insert(c.subs, i, s)
}

func number(sid string) int {
	n, _ := strconv.Atoi(sid)
	return n
}

func (c *conn) unsub(f []string) {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	for i, s := range c.subs {
		if s.sid != f[0] {
			continue
		}
		if len(f) > 1 {
			s.left, _ = strconv.Atoi(f[1])
			return
		}
		c.subs = append(c.subs[:i:i], c.subs[i+1:]...)
		return
	}
}

// readPub parses PUB subject [reply] size, or HPUB subject [reply] header size, and the
// payload.
func readPub(r io.Reader, f []string) (*pub, error) {
	sizes := 1
	if strings.EqualFold(f[0], "HPUB") {
		sizes = 2
	}
	p := &pub{subject: f[1]}
	if len(f) == 3+sizes {
		p.reply = f[2]
	}
	size, err := strconv.Atoi(f[len(f)-1])
	if err != nil {
		return nil, err
	}
	header := 0
	if sizes == 2 {
		if header, err = strconv.Atoi(f[len(f)-2]); err != nil {
			return nil, err
		}
	}
	buf := make([]byte, size+2)
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, err
	}
	p.header, p.data = buf[:header:header], buf[header:size:size]
	return p, nil
}

// send delivers d to all subscribers. The caller holds b.mu.
func (b *broker) send(d *delivery) {
	for _, c := range b.conns {
		if c.closed || c.dead {
			continue
		}
		for _, s := range c.subs {
			if !matches(s.subject, d.to) || s.left < 0 {
				continue
			}
			c.message(s.sid, d)
			if s.left > 0 {
				if s.left--; s.left == 0 {
					s.left = -1 // it has ended
				}
			}
		}
	}
}

func (c *conn) message(sid string, d *delivery) {
	subject := d.subject
	if subject == "" {
		subject = d.to
	}
	reply := ""
	if d.reply != "" {
		reply = d.reply + " "
	}
	if len(d.header) == 0 {
		c.write("MSG %s %s %s%d\r\n", subject, sid, reply, len(d.data))
	} else {
		c.write("HMSG %s %s %s%d %d\r\n", subject, sid, reply, len(d.header), len(d.header)+len(d.data))
	}
	c.out = append(c.out, d.header...)
	c.out = append(c.out, d.data...)
	c.out = append(c.out, "\r\n"...)
}

func matches(pattern, subject string) bool {
	for {
		p, prest, pmore := strings.Cut(pattern, ".")
		s, srest, smore := strings.Cut(subject, ".")
		if p == ">" {
			return true
		}
		if p != "*" && p != s || pmore != smore {
			return false
		}
		if !pmore {
			return true
		}
		pattern, subject = prest, srest
	}
}

// withHeaders returns header with additional lines.
func withHeaders(header []byte, more ...string) []byte {
	h := bytes.TrimSuffix(header, []byte("\r\n"))
	if len(header) == 0 {
		h = []byte("NATS/1.0\r\n")
	}
	h = bytes.Clone(h)
	for i := 0; i < len(more); i += 2 {
		h = append(h, more[i]+": "+more[i+1]+"\r\n"...)
	}
	return append(h, "\r\n"...)
}
