package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/policy"
)

// node is the part that a service has in a cluster: it asks for the lease, leads or follows, and
// knows how old what it serves is.
type node struct {
	*Cluster
	log    eventlog.Log
	live   *liveState
	writer *writer
	signer *policy.Signer
	now    func() time.Time
	logger *slog.Logger

	// transport passes requests on, and disconnect, if it is there, closes what it keeps.
	transport  http.RoundTripper
	disconnect func()

	// led is called when the node has begun to lead.
	led func()

	protocol int        // the version of the rules that it knows
	looking  sync.Mutex // held by look
	ended    bool       // only look uses it
	term     uint64     // with which it leads, or has led; only look uses it
	stranger string     // the last holder of the lease with other keys; only look uses it
	yielded  bool       // it has left the lead to others; only look uses it
	double   time.Time  // since when another node has this one's address; only look uses it
	wait     time.Time  // until then it does not ask for the lease; only look uses it
	heard    string     // the last holder whose time was compared; only look uses it
	tail     *tail      // that it follows, nil for none; only look uses it

	moved atomic.Pointer[chan struct{}] // closed when the next event is applied

	mu     sync.Mutex
	tenure eventlog.Tenure // the latest one
	at     time.Time       // of its
	behind behind
	last   uint64 // the latest position that the log is known to have
	// apart is by how much this node's time is ahead of that of the one that leads, 0 up to
	// mostApart.
	apart time.Duration
}

// mostApart is by how much the times of a node that serves and of the one that leads may differ:
// the one that leads refuses decisions and requests of nodes whose time is some more off.
const mostApart = min(proofTime, policy.Tolerance) / 2

// keptConnections is how many idle connections to the node that leads a node keeps: one for each
// request that it passes on at a time. Those beyond two would be made for one request otherwise.
const keptConnections = 256

// errFollows is the error of what only the node that leads does.
var errFollows = errors.New("this node does not lead: another one takes what is stored; try again")

// errNoLeader is the error of what the node that leads does, while none is known.
var errNoLeader = errors.New("no node is known to lead at present; try again")

// newNode returns the node of a service, which follows at first.
func newNode(c *Config, log eventlog.Log, live *liveState, w *writer, signer *policy.Signer) *node {
	n := &node{
		Cluster: c.Cluster, log: log, live: live, writer: w, signer: signer, now: c.Now, logger: c.Logger,
	}
	if n.transport = n.Transport; n.transport == nil {
		own := nodeTransport(n.RootCAs)
		n.transport, n.disconnect = own, own.CloseIdleConnections
	}
	n.behind.since = c.Now()
	n.protocol = max(protocol, n.knows)
	first := make(chan struct{})
	n.moved.Store(&first)
	return n
}

// run looks at the lease until stop is closed.
func (n *node) run(stop <-chan struct{}) {
	t := time.NewTicker(n.Every)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
		}
		n.look()
	}
}

// look asks for the lease, and leads or follows by it. While the log takes no events it does not
// ask, so that another node leads.
func (n *node) look() {
	ctx, cancel := context.WithTimeout(context.Background(), n.Lasts)
	defer cancel()
	n.looking.Lock()
	defer n.looking.Unlock()
	if n.ended {
		return
	}
	asked := n.now()
	if n.writer.refusal() != nil {
		n.resign(ctx)
	} else if !asked.Before(n.wait) {
		n.ask(ctx, asked)
	}
	if !n.writer.leads.Load() {
		n.follow()
	}
}

// ask asks for the lease.
func (n *node) ask(ctx context.Context, asked time.Time) {
	tenure, err := n.Lease.Hold(ctx, n.holder())
	if err != nil {
		n.logger.Debug("the lease of the cluster does not answer", "error", err)
		n.mu.Lock()
		over := asked.Sub(n.at) >= n.Lasts
		n.mu.Unlock()
		if over && n.writer.leads.Swap(false) {
			n.logger.Warn("this node leads no longer: the lease of the cluster does not answer", "term", n.term,
				"error", err)
		}
		return
	}
	if !tenure.Held && !n.signed(tenure.Holder) {
		if tenure.Holder != n.stranger {
			n.logger.Error("the holder of the cluster's lease has other keys, or is no node: nothing is "+
				"passed on to it", "term", tenure.Term)
		}
		n.stranger, tenure.Holder = tenure.Holder, ""
	}
	n.meet(asked, tenure)
	n.compare(tenure)
	n.mu.Lock()
	n.tenure, n.at = tenure, asked
	n.mu.Unlock()
	switch leads := n.writer.leads.Load(); {
	case !tenure.Held && n.writer.leads.Swap(false):
		n.logger.Warn("this node leads no longer", "term", n.term, "leader", addressOf(tenure.Holder))
	case tenure.Held && !(leads && n.term == tenure.Term):
		if n.onTime(ctx) {
			n.lead(ctx, tenure.Term)
		}
	case !tenure.Held && tenure.Holder != "":
		n.yielded = false
	}
	n.note(asked, tenure)
}

// onTime reports whether the node may lead by its clock: it gives events their time, and one that
// is an hour ahead ends rounds and windows an hour early and lets nobody else lead for an hour. A
// node whose clock is not that of what keeps the lease leaves the lead to the others for some time.
// If none of them takes it, as the other clock is the wrong one, it leads all the same.
func (n *node) onTime(ctx context.Context) bool {
	clock, ok := n.Lease.(eventlog.LeaseClock)
	if !ok {
		return true
	}
	before := n.now()
	at, err := clock.Now(ctx)
	if err != nil {
		n.logger.Debug("what keeps the lease does not tell its time", "error", err)
		return true
	}
	off := max(before.Sub(at), 0)
	if behind := at.Sub(n.now()); behind > 0 {
		off = -behind
	}
	switch {
	case off.Abs() <= mostAhead:
		n.yielded = false
		return true
	case n.yielded:
		n.logger.Warn("this node leads with a clock that is not that of the servers of the lease, as no other node "+
			"leads: set the clocks", "ahead", off.Round(time.Millisecond))
		return true
	}
	n.logger.Error("this node leaves the lead to others: its clock is not that of the servers of the lease; set it",
		"ahead", off.Round(time.Millisecond), "most", mostAhead)
	n.yielded, n.wait = true, n.now().Add(4*n.Lasts)
	n.release(ctx)
	return false
}

// meet says so if another node leads at this one's address, which would pass requests on to itself
// for ever. The process that was this node before may hold the lease a little longer.
func (n *node) meet(asked time.Time, tenure eventlog.Tenure) {
	if tenure.Held || addressOf(tenure.Holder) != n.address() {
		n.double = time.Time{}
		return
	}
	if n.double.IsZero() {
		n.double = asked
	}
	if wait := 2 * n.Lasts; asked.Sub(n.double) >= wait {
		n.logger.Error("another node leads at the address of this one, which can pass nothing on: each needs an "+
			"address of its own (--advertise)", "address", n.Address)
		n.double = asked.Add(n.Grace) // says it again then
	}
}

// compare notes whether this node's time is that of the one that leads, which tells it each time
// that it keeps the lease.
func (n *node) compare(tenure eventlog.Tenure) {
	if tenure.Held || tenure.Holder == "" || tenure.Holder == n.heard {
		return // one that was heard before was compared when it was new
	}
	n.heard = tenure.Holder
	off := time.Duration(0) // if it does not tell
	if at, ok := timeOf(tenure.Holder); ok {
		off = n.now().Sub(at)
	}
	if off.Abs() <= mostApart {
		off = 0
	}
	n.mu.Lock()
	before := n.apart
	n.apart = off
	n.mu.Unlock()
	switch {
	case before == 0 && off != 0:
		n.logger.Error("this node is not ready: its time is not that of the node that leads; set the clocks, and "+
			"start the one again that was wrong", "ahead", off.Round(time.Second), "most", mostApart)
	case before != 0 && off == 0:
		n.logger.Info("this node's time is that of the node that leads again")
	}
}

// synchronous returns an error if the node's time is not that of the one that leads, which refuses
// what this one decides and passes on. n may be nil.
func (n *node) synchronous() error {
	if n == nil || n.writer.leads.Load() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.apart == 0 {
		return nil
	}
	where := "ahead of"
	if n.apart < 0 {
		where = "behind"
	}
	return fmt.Errorf("this node's clock is %v %s that of the node that leads, which refuses what it decides: want at "+
		"most %v; ask another node", n.apart.Abs().Round(time.Second), where, mostApart)
}

// address is the node's own, as [addressOf] returns those of others.
func (n *node) address() string { return strings.TrimSuffix(n.Address, "/") }

// holds reports whether the lease is this node's, in a term, by its last answer.
func (n *node) holds(term uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held(term)
}

// held is holds. The caller holds mu.
func (n *node) held(term uint64) bool {
	return n.tenure.Held && n.tenure.Term == term && n.now().Sub(n.at) < n.Lasts
}

// claim makes the writer append if the lease is still this node's. Who loses the lease changes
// tenure first and then the writer, so that the two agree.
func (n *node) claim(term uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.held(term) {
		return false
	}
	n.writer.leads.Store(true)
	return true
}

// lead begins to lead. If it cannot, it goes on following, lets another node lead, and asks again
// later. If the log is slow, the writer goes on with it.
func (n *node) lead(ctx context.Context, term uint64) {
	n.tail.end()
	n.tail, n.term = nil, term
	_, err := n.writer.submit(ctx, &command{do: func() error { return n.writer.lead(term) }})
	if err == nil {
		n.logger.Info("this node leads", "term", term, "position", n.live.position())
		if n.led != nil {
			n.led()
		}
		return
	}
	if ctx.Err() != nil {
		n.logger.Warn("this node does not lead yet: the log is slow", "term", term, "error", err)
		return
	}
	n.logger.Error("this node cannot lead", "term", term, "error", err)
	if n.writer.refusal() != nil || errors.Is(err, errLeaseOver) {
		return // the next look ends it
	}
	n.wait = n.now().Add(n.Lasts)
	n.release(ctx)
}

// resign ends the lead, if there is one, so that another node leads.
func (n *node) resign(ctx context.Context) {
	n.mu.Lock()
	held := n.tenure.Held
	n.tenure.Held = false // before the writer: see claim
	n.mu.Unlock()
	leads := n.writer.leads.Swap(false)
	if leads {
		n.logger.Warn("this node leads no longer", "term", n.term)
	}
	if leads || held {
		n.release(ctx)
	}
}

// release gives the lease back.
func (n *node) release(ctx context.Context) {
	n.mu.Lock()
	n.tenure, n.at = eventlog.Tenure{Term: n.tenure.Term}, time.Time{}
	n.mu.Unlock()
	if err := n.Lease.Release(ctx); err != nil {
		n.logger.Warn("the lease of the cluster could not be released: another node leads when it has ended",
			"error", err)
	}
}

// end ends the node's part in the cluster.
func (n *node) end(ctx context.Context) {
	if n == nil {
		return
	}
	n.looking.Lock()
	defer n.looking.Unlock()
	n.ended = true
	n.resign(ctx)
	n.tail.end()
	n.tail = nil
	if n.disconnect != nil {
		n.disconnect()
	}
}

// leader returns the address of the node that leads, "" if none is known to.
func (n *node) leader() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tenure.Held || n.tenure.Holder == "" || n.at.IsZero() || n.now().Sub(n.at) > n.Grace {
		return ""
	}
	if leader := addressOf(n.tenure.Holder); leader != n.address() {
		return leader
	}
	return ""
}

// A holder of the lease is an address and, each behind a #, the position that the node has reached,
// its time in seconds, and what only nodes with the same keys can derive from these: whoever else
// can write to what keeps the lease must not make nodes pass requests on.
func (n *node) holder() string {
	text := n.Address + "#" + strconv.FormatUint(n.live.position(), 10) + "#" + strconv.FormatInt(n.now().Unix(), 10)
	return text + "#" + n.signer.Derive(holderPurpose+text)
}

const holderPurpose = "holder\n"

// signed reports whether a holder is a node with the same keys.
func (n *node) signed(holder string) bool {
	i := strings.LastIndexByte(holder, '#')
	return i >= 0 && n.signer.Derived(holderPurpose+holder[:i], holder[i+1:])
}

func addressOf(holder string) string {
	address, _, _ := strings.Cut(holder, "#")
	return strings.TrimSuffix(address, "/")
}

func positionOf(holder string) (uint64, bool) {
	_, text, _ := strings.Cut(holder, "#")
	text, _, _ = strings.Cut(text, "#")
	position, err := strconv.ParseUint(text, 10, 64)
	return position, err == nil
}

// timeOf returns the time of a holder when it kept the lease. One of an earlier version tells none.
func timeOf(holder string) (time.Time, bool) {
	fields := strings.Split(holder, "#")
	if len(fields) != 4 {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(fields[2], 10, 64)
	return time.Unix(seconds, 0), err == nil
}

// tail is the reading of the events that other nodes append.
type tail struct {
	cancel context.CancelFunc
	ended  chan struct{}
}

// end ends the reading and waits for its end.
func (t *tail) end() {
	if t != nil {
		t.cancel()
		<-t.ended
	}
}

// over reports whether nothing is read any more.
func (t *tail) over() bool {
	if t == nil {
		return true
	}
	select {
	case <-t.ended:
		return true
	default:
		return false
	}
}

// follow begins to read what other nodes append, unless it does.
func (n *node) follow() {
	if !n.tail.over() || n.writer.refusal() != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &tail{cancel, make(chan struct{})}
	n.tail = t
	go func() {
		defer close(t.ended)
		defer cancel()
		n.read(ctx)
	}()
}

// read applies what other nodes append, until ctx ends or the log cannot be read.
func (n *node) read(ctx context.Context) {
	var batch []eventlog.Record
	size := 0
	for r, err := range n.log.Tail(ctx, n.live.position()+1) {
		switch {
		case errors.Is(err, eventlog.ErrCompacted):
			n.writer.fail("this node is too far behind: restart it, so that it begins with a snapshot",
				outage{err: err, final: true}, nil)
			return
		case errors.Is(err, eventlog.ErrDamaged):
			n.writer.fail("the log cannot be followed", outage{err: err}, nil)
			return
		case err != nil:
			n.logger.Debug("the log is not followed at present", "error", err)
			return
		}
		batch = append(batch, r)
		if size += len(r.Payload); len(batch) < groupEvents && size < groupBytes && r.Position < n.log.Stats().Last {
			continue
		}
		records := batch
		batch, size = nil, 0
		if _, err := n.writer.submit(ctx, &command{do: func() error { return n.writer.follow(records) }}); err != nil {
			n.logger.Debug("events of other nodes were not applied", "error", err)
			return
		}
	}
}

// applied notes that events were applied.
func (n *node) applied() {
	next := make(chan struct{})
	close(*n.moved.Swap(&next))
}

// reach waits until the events up to a position are applied.
func (n *node) reach(ctx context.Context, position uint64) error {
	for {
		moved := *n.moved.Load() // before the position is read, so that no event is missed
		if n.live.position() >= position {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
