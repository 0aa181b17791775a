package lan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxWaiting bounds the delayed frames. Further ones are lost, as in a switch with full
// buffers.
const maxWaiting = 20_000

// mtu is that of every cable. A large one saves work for the switch.
const mtu = 9000

// A LAN is a network of hosts 1 to n, and this process as host 0. Its methods are safe for
// concurrent use.
type LAN struct {
	name   string
	cables []*os.File
	pumps  sync.WaitGroup

	mu      sync.Mutex
	rng     *rand.Rand
	links   [][]Link // by from and to
	waiting int
	closed  bool
}

// Missing returns why there can be no LAN here, or nil.
func Missing() error {
	if os.Geteuid() != 0 {
		return errors.New("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return errors.New("there is no ip command (iproute2)")
	}
	f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("no TAP devices: %w", err)
	}
	return f.Close()
}

// Enter makes cmd start in separate namespaces, in which New may be called. cmd ends with
// this process.
func Enter(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		Pdeathsig:    syscall.SIGKILL,
	}
}

// New creates a network of n hosts, up to 9, whose names begin with name. Call it in a
// process that Enter started. The links draw from seed.
func New(name string, n int, seed uint64) (*LAN, error) {
	l := &LAN{
		name:   name,
		cables: make([]*os.File, n+1),
		rng:    rand.New(rand.NewPCG(seed, 1)),
		links:  make([][]Link, n+1),
	}
	for i := range l.links {
		l.links[i] = make([]Link, n+1)
	}
	err := l.make()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for i := range l.cables {
		l.pumps.Go(func() { l.pump(i) })
	}
	return l, nil
}

func (l *LAN) make() error {
	// ip stores names of namespaces there; ours stay private.
	const names = "/run/netns"
	if err := os.MkdirAll(names, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("none", names, "tmpfs", 0, ""); err != nil {
		return fmt.Errorf("mount on %s, in a process that Enter did not start?: %w", names, err)
	}
	if err := ip("link set lo up"); err != nil {
		return err
	}
	for i := range l.cables {
		if err := l.plugIn(i); err != nil {
			return fmt.Errorf("host %d of the network: %w", i, err)
		}
	}
	return nil
}

// plugIn creates host i and its cable.
func (l *LAN) plugIn(i int) error {
	dev := fmt.Sprintf("sess%d", i)
	f, err := tap(dev)
	if err != nil {
		return err
	}
	l.cables[i] = f
	in := ""
	if i > 0 {
		in = "-n " + l.host(i) + " "
		if err := ip("netns add " + l.host(i)); err != nil {
			return err
		}
		if err := ip("link set " + dev + " netns " + l.host(i)); err != nil {
			return err
		}
		if err := ip(in + "link set lo up"); err != nil {
			return err
		}
	}
	for _, args := range []string{
		fmt.Sprintf("link set %s address %s mtu %d", dev, mac(i), mtu),
		fmt.Sprintf("addr add %s/24 dev %s", l.IP(i), dev),
		fmt.Sprintf("link set %s up", dev),
	} {
		if err := ip(in + args); err != nil {
			return err
		}
	}
	return nil
}

// tap creates a TAP device and returns its other end.
func tap(dev string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	req, err := unix.NewIfreq(dev)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", dev, err), unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), dev), nil
}

func ip(args string) error {
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", args, err, out)
	}
	return nil
}

// mac returns the hardware address of host i, whose last byte is i.
func mac(i int) string { return fmt.Sprintf("02:5e:55:00:00:%02x", i) }

func (l *LAN) host(i int) string { return fmt.Sprintf("%s-%d", l.name, i) }

// IP returns the address of a host, or of this process for host 0.
func (l *LAN) IP(host int) string { return fmt.Sprintf("10.77.0.%d", host+1) }

// Via returns the command prefix that runs a program on a host.
func (l *LAN) Via(host int) []string { return []string{"ip", "netns", "exec", l.host(host)} }

// Set changes a link. Frames that are already delayed keep their time.
func (l *LAN) Set(from, to int, link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links[from][to] = link
}

// Heal removes the faults of every link.
func (l *LAN) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, to := range l.links {
		clear(to)
	}
}

// Close stops the switch. The hosts end with the process.
func (l *LAN) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	var errs []error
	for _, f := range l.cables {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	l.pumps.Wait()
	return errors.Join(errs...)
}

// pump forwards the frames of host from until its cable is closed.
func (l *LAN) pump(from int) {
	buf := make([]byte, mtu+64)
	for {
		n, err := l.cables[from].Read(buf)
		if err != nil {
			return
		}
		if n < 14 {
			continue
		}
		if buf[0]&1 == 0 { // unicast
			l.send(from, int(buf[5]), buf[:n])
			continue
		}
		for to := range l.cables {
			l.send(from, to, buf[:n])
		}
	}
}

func (l *LAN) send(from, to int, frame []byte) {
	if to == from || to >= len(l.cables) {
		return
	}
	wait, lost, reset := l.fate(from, to)
	if reset {
		if back := resetFor(frame); back != nil {
			_, _ = l.cables[from].Write(back) // as below
		}
	}
	if lost || reset {
		return
	}
	if wait == 0 {
		_, _ = l.cables[to].Write(frame) // a host that cannot receive it loses it
		return
	}
	frame = append([]byte(nil), frame...)
	time.AfterFunc(wait, func() {
		l.mu.Lock()
		l.waiting--
		over := l.closed
		l.mu.Unlock()
		if !over {
			_, _ = l.cables[to].Write(frame) // as above
		}
	})
}

// fate draws what happens to a frame.
func (l *LAN) fate(from, to int) (wait time.Duration, lost, reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	link := l.links[from][to]
	if link.Reset {
		return 0, false, true
	}
	if link.Loss > 0 && l.rng.Float64() < link.Loss {
		return 0, true, false
	}
	wait = link.Delay
	if link.Jitter > 0 {
		wait += time.Duration(l.rng.Int64N(int64(link.Jitter)))
	}
	if wait > 0 {
		if l.waiting >= maxWaiting {
			return 0, true, false
		}
		l.waiting++
	}
	return wait, false, false
}
