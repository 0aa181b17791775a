package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// A Poster posts to one URL over one connection. It needs much less processor time than
// net/http's client: writers share the cores with the servers that they measure.
type Poster struct {
	conn    net.Conn
	answers *bufio.Reader
	head    string // request line and headers, up to the value of Content-Length
	request []byte
}

// NewPoster connects to the server of an http URL.
func NewPoster(ctx context.Context, to, contentType string) (*Poster, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: ", u.RequestURI(), u.Host, contentType)
	return &Poster{conn: conn, answers: bufio.NewReader(conn), head: head}, nil
}

// Post sends body and waits for the answer. A status of 300 or more is an error.
func (p *Poster) Post(body []byte) error {
	p.request = fmt.Appendf(p.request[:0], "%s%d\r\n\r\n%s", p.head, len(body), body)
	if _, err := p.conn.Write(p.request); err != nil {
		return err
	}
	resp, err := http.ReadResponse(p.answers, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return err
}

// Close closes the connection.
func (p *Poster) Close() error { return p.conn.Close() }
