package durablestreams

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Webhooks says which webhooks subscriptions may have.
type Webhooks string

// The webhooks that subscriptions may have.
const (
	WebhooksOff   Webhooks = "off"   // none
	WebhooksHTTPS Webhooks = "https" // of public addresses, with TLS
	WebhooksLocal Webhooks = "local" // these, and those of this host without TLS
)

// check returns why a subscription may not have a webhook, or nil.
func (m Webhooks) check(raw string) error {
	if m != WebhooksHTTPS && m != WebhooksLocal {
		return invalid("this node sends no webhooks (streams.webhooks)")
	}
	rejected := func(format string, args ...any) error {
		return refuseAs(codeURL, http.StatusBadRequest, "webhook.url "+format, args...)
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || len(raw) > maxPath {
		return rejected("is not a URL of a webhook")
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	local := strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
	switch {
	case u.Scheme == "http" && local && m == WebhooksLocal:
	case u.Scheme != "https" || local:
		return rejected("must use https and a public host")
	case err == nil && !isPublic(addr):
		return rejected("must be of a public host")
	}
	return nil
}

// reserved are global unicast addresses that are no hosts of the internet, or that stand
// for others, by the registries of IANA.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24",
	"203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

// unicast6 has all public IPv6 addresses. Outside are those of NAT64, among others.
var unicast6 = netip.MustParsePrefix("2000::/3")

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is6() && !unicast6.Contains(addr) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// newWebhookClient returns a client that connects only to addresses that m allows, whatever
// a name resolves to, and follows no redirects.
func newWebhookClient(m Webhooks) *http.Client {
	d := net.Dialer{Timeout: webhookTimeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !isPublic(at.Addr()) && (m != WebhooksLocal || !at.Addr().Unmap().IsLoopback()) {
			return errors.New("the webhook is not at a public address")
		}
		return nil
	}}
	return &http.Client{
		Timeout:       webhookTimeout,
		Transport:     &http.Transport{DialContext: d.DialContext, MaxIdleConns: 16, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

const (
	webhookTimeout = 10 * time.Second
	// maxWebhookAnswer bounds what is read of a receiver's answer.
	maxWebhookAnswer = 4 << 10
)

// post sends a body to a webhook. It reports whether the receiver has done the work.
func (h *Handler) post(ctx context.Context, to string, body []byte) (done bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sessnode")
	req.Header.Set("Webhook-Signature", h.key.sign(h.now(), body))
	res, err := h.webhooks.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok { // the path of the URL may be a secret
			err = u.Err
		}
		return false, err
	}
	defer res.Body.Close()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return false, fmt.Errorf("the receiver answered %d", res.StatusCode)
	}
	var said struct {
		Done bool `json:"done"`
	}
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxWebhookAnswer))
	_ = json.Unmarshal(b, &said) // an answer need not say anything
	return said.Done, nil
}

// A signingKey signs what is sent to webhooks.
type signingKey struct {
	private ed25519.PrivateKey
	id      string
}

// newSigningKey derives a key from a secret. Without one, the key is random.
func newSigningKey(secret []byte) *signingKey {
	seed := make([]byte, ed25519.SeedSize)
	if len(secret) == 0 {
		_, _ = rand.Read(seed) // it never fails
	} else {
		sum := sha256.Sum256(append([]byte("durable-streams webhooks\x00"), secret...))
		seed = sum[:]
	}
	k := &signingKey{private: ed25519.NewKeyFromSeed(seed)}
	// The thumbprint of RFC 7638.
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":"%s"}`, k.public()))
	k.id = "ds_" + base64.RawURLEncoding.EncodeToString(sum[:])
	return k
}

func (k *signingKey) public() string {
	return base64.RawURLEncoding.EncodeToString(k.private.Public().(ed25519.PublicKey))
}

// sign returns the header that authenticates a body.
func (k *signingKey) sign(at time.Time, body []byte) string {
	seconds := at.Unix()
	signature := ed25519.Sign(k.private, fmt.Appendf(nil, "%d.%s", seconds, body))
	return fmt.Sprintf("t=%d,kid=%s,ed25519=%s", seconds, k.id, base64.RawURLEncoding.EncodeToString(signature))
}

// A signing says how a webhook's body is signed.
type signing struct {
	Algorithm string `json:"alg"`
	Key       string `json:"kid"`
	Keys      string `json:"jwks_url"`
}

func (k *signingKey) describe(base string) signing {
	return signing{"ed25519", k.id, base + Prefix + "__ds/jwks.json"}
}

// keys answers with the public key.
func (h *Handler) keys(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "public, max-age=300")
	writeJSON(w, http.StatusOK, "application/jwk-set+json", map[string]any{"keys": []any{map[string]string{
		"kty": "OKP", "crv": "Ed25519", "x": h.key.public(), "kid": h.key.id, "use": "sig", "alg": "EdDSA",
	}}})
}
