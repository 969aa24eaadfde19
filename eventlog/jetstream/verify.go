package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// Report is what [Verify] has found.
type Report struct {
	Stream string `json:"stream"`
	// First and Last are the positions of the first and the last event that were verified, Messages
	// the number of messages that have them.
	First    uint64 `json:"first"`
	Last     uint64 `json:"last"`
	Messages uint64 `json:"messages"`
	// Replicas are the servers that keep a copy, in the order of their names.
	Replicas []Replica `json:"replicas"`
	// Findings are what is wrong with the copies, in the order of replicas and messages.
	Findings []Finding `json:"findings"`
}

// Replica is a server that keeps a copy of the stream.
type Replica struct {
	Server string `json:"server"`
	// Leads says that it led the stream when Verify began, and again when it ended if it could.
	Leads bool `json:"leads,omitempty"`
	// Messages is how many messages of the copy are whole, and Unasked why it was not looked at.
	Messages uint64 `json:"messages"`
	Unasked  string `json:"unasked,omitempty"`
}

// Finding is something wrong with consecutive messages of one copy.
type Finding struct {
	Server string `json:"server"`
	// First and Last are the sequence numbers of the messages, From and To the positions of their
	// events as another copy has them, 0 if none has.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	From  uint64 `json:"from,omitempty"`
	To    uint64 `json:"to,omitempty"`
	// Problem says what is wrong.
	Problem string `json:"problem"`
}

// String says what is wrong, and where.
func (f Finding) String() string {
	which := fmt.Sprintf("message %d", f.First)
	if f.Last > f.First {
		which = fmt.Sprintf("messages %d to %d", f.First, f.Last)
	}
	at := "which no server has whole"
	if f.From > 0 {
		at = fmt.Sprintf("positions %d to %d", f.From, f.To)
	}
	return fmt.Sprintf("%s: %s (%s): %s", f.Server, which, at, f.Problem)
}

// Lost reports whether no copy has the messages.
func (f Finding) Lost() bool { return f.From == 0 }

// Err returns an error if a copy is damaged or was not looked at, nil otherwise.
func (r *Report) Err() error {
	if n := len(r.Findings); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(", and %d more", n-1)
		}
		return noregret.BadInputf(place(r.Stream), "%w: %s%s", eventlog.ErrDamaged, r.Findings[0], more)
	}
	for _, p := range r.Replicas {
		if p.Unasked != "" {
			return noregret.Errorf(noregret.Internal, place(r.Stream), "the copy of %s was not looked at: %s", p.Server,
				p.Unasked)
		}
	}
	return nil
}

// Verify reads the copy of the stream that each of its servers has, and names what is missing or
// was changed, and where. A server is asked for its own copy by making it the leader, which writers
// notice as a pause of less than a second or two for each; at the end the first leader leads again.
// Events that are appended meanwhile are not looked at. Options.Dir is not used. The error is that
// of servers that do not answer; see [Report.Err] for what was found.
func Verify(ctx context.Context, o Options) (*Report, error) {
	var r *Report
	err := visit(ctx, o, func(l *Log) (err error) {
		r, err = newVerification(l.wire, l.keys, o.Patience).run(ctx)
		return err
	})
	return r, err
}

// verification is a call of Verify in progress.
type verification struct {
	wire     *wire
	keys     nodeKeys
	patience time.Duration // of each of its undertakings

	report  Report
	base    point    // up to which the events were dropped
	from    uint64   // the first message
	to      uint64   // the last one
	known   []known  // of each message, as the first copy has it that is whole
	copies  [][]sums // of each replica
	pending int      // messages that are asked for at the same time
}

// known is the end of a message.
type known struct {
	position uint64 // of its last event, 0 if no copy is known to have it
	first    uint64
}

// sums is a message of a copy.
type sums struct {
	sum, previous uint32
	whole         bool
}

// extract is what is kept of a message of a copy. It is zero if the copy does not have it whole.
type extract struct {
	sums
	known
}

// extractOf returns what is kept of a message, nil for one that the copy does not have whole.
func extractOf(m *message) extract {
	if m == nil {
		return extract{}
	}
	return extract{sums{m.sum, m.previous, true}, known{m.last(), m.first}}
}

func newVerification(w *wire, keys nodeKeys, patience time.Duration) *verification {
	return &verification{
		wire: w, keys: keys, patience: patience, report: Report{Stream: w.stream, Findings: []Finding{}},
	}
}

// tries returns the tries of one undertaking.
func (v *verification) tries(ctx context.Context) *tries { return newTries(ctx, v.patience) }

// peers asks the leader for the servers of the stream.
func (v *verification) peers(ctx context.Context) (js.StreamInfo, error) {
	return peers(ctx, v.wire, v.patience)
}

// readBase reads up to where events were dropped. The replica that says it may be behind.
func (v *verification) readBase(ctx context.Context) error {
	t := v.tries(ctx)
	defer t.stop()
	base, err := v.keys.base(ctx, t)
	if err == nil && base.position > v.base.position {
		v.base = base
	}
	return err
}

// run verifies all copies.
func (v *verification) run(ctx context.Context) (*Report, error) {
	info, err := v.peers(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.readBase(ctx); err != nil {
		return nil, err
	}
	v.from, v.to = v.base.sequence+1, max(info.State.LastSeq, v.base.sequence)
	v.pending = 64
	if n := info.State.Msgs; n > 0 { // answers have base64
		v.pending = int(min(max(8<<20/(info.State.Bytes/n+1), 1), 64))
	}
	v.known = make([]known, v.to+1-v.from)
	first := info.Cluster.Leader
	for _, p := range info.Cluster.Replicas {
		v.report.Replicas = append(v.report.Replicas, Replica{Server: p.Name, Leads: p.Name == first})
		if last := len(v.report.Replicas) - 1; p.Offline {
			v.report.Replicas[last].Unasked = "it is offline"
		}
	}
	slices.SortFunc(v.report.Replicas, func(a, b Replica) int { return strings.Compare(a.Server, b.Server) })
	for i := range v.report.Replicas {
		v.copies = append(v.copies, make([]sums, len(v.known)))
		p := &v.report.Replicas[i]
		if p.Unasked != "" {
			continue
		}
		if err := v.read(ctx, p.Server, v.copies[i]); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			p.Unasked = err.Error()
		}
	}
	_ = v.lead(ctx, first) // what is said of the copies is true all the same
	if err := v.readBase(ctx); err != nil {
		return nil, err
	}
	v.compare()
	return &v.report, nil
}

// peers asks the leader for the servers of the stream. That of a single server is one, too.
func peers(ctx context.Context, w *wire, patience time.Duration) (info js.StreamInfo, err error) {
	t := newTries(ctx, patience)
	defer t.stop()
	for {
		info = js.StreamInfo{}
		if err = w.ask(ctx, "STREAM.INFO", "", &info); err == nil {
			if info.Cluster == nil || info.Cluster.Leader == "" && len(info.Cluster.Replicas) == 0 {
				info.Cluster = &js.ClusterInfo{Leader: w.conn.ConnectedServerName()}
			}
			if leader := info.Cluster.Leader; leader != "" {
				info.Cluster.Replicas = append(info.Cluster.Replicas, &js.PeerInfo{Name: leader})
				return info, nil
			}
			err = errors.New("nobody leads it")
		}
		if errors.Is(err, errNoStream) {
			return info, errorAt(place(w.stream), noregret.NotFound, "%w", err)
		}
		if !t.again() {
			return info, errorAt(place(w.stream), noregret.Internal, "%w", err)
		}
	}
}

// lead makes a server the leader of the stream.
func (v *verification) lead(ctx context.Context, server string) error {
	t := v.tries(ctx)
	defer t.stop()
	for wait := 0; ; wait-- {
		info, err := v.peers(ctx)
		if err != nil || info.Cluster.Leader == server {
			return err
		}
		ready := slices.ContainsFunc(info.Cluster.Replicas, func(p *js.PeerInfo) bool {
			return p.Name == server && p.Current && !p.Offline
		})
		if ready && wait <= 0 { // and look meanwhile whether it has become so
			wait = 6
			err = v.wire.stepDown(ctx, v.wire.stream, server)
		}
		if !t.again() {
			return fmt.Errorf("it could not be made the leader: %w", errors.Join(err,
				fmt.Errorf("after %v %s leads", v.patience, info.Cluster.Leader)))
		}
	}
}

// settled waits until a server that leads has all messages that are to be looked at, as one that
// has just become the leader may still take them from its own log. What it lacks then is missing.
func (v *verification) settled(ctx context.Context) error {
	t := v.tries(ctx)
	defer t.stop()
	for range 20 {
		info, err := v.peers(ctx)
		if err != nil || info.State.LastSeq >= v.to || !t.again() {
			return err
		}
	}
	return nil
}

// compare finds what is wrong with the copies.
func (v *verification) compare() {
	v.report.First = v.base.position + 1
	v.report.Last = v.base.position
	begin := int(max(v.base.sequence+1, v.from) - v.from) // events may have been dropped meanwhile
	for _, k := range v.known[min(begin, len(v.known)):] {
		v.report.Last = max(v.report.Last, k.position)
		v.report.Messages++
	}
	for r := range v.report.Replicas {
		p := &v.report.Replicas[r]
		if p.Unasked != "" {
			continue
		}
		var last *Finding
		for i := begin; i < len(v.known); i++ {
			problem := v.problem(r, i, begin)
			if v.copies[r][i].whole {
				p.Messages++
			}
			if problem == "" {
				last = nil
				continue
			}
			k, sequence := v.known[i], v.from+uint64(i)
			if last != nil && last.Problem == problem && (last.From == 0) == (k.position == 0) {
				last.Last, last.To = sequence, k.position
				continue
			}
			v.report.Findings = append(v.report.Findings, Finding{
				Server: p.Server, First: sequence, Last: sequence, From: k.first, To: k.position, Problem: problem,
			})
			last = &v.report.Findings[len(v.report.Findings)-1]
		}
	}
}

// problem says what is wrong with a message of a copy, "" if nothing is.
func (v *verification) problem(replica, i, begin int) string {
	c := v.copies[replica][i]
	if !c.whole {
		for _, later := range v.copies[replica][i:] {
			if later.whole {
				return "it is missing or damaged there"
			}
		}
		return "the copy ends before it"
	}
	if i == begin && v.from+uint64(i) == v.base.sequence+1 && c.previous != v.base.sum {
		return "it does not follow the event up to which the log was dropped"
	}
	if i > begin && v.known[i-1].position > 0 && v.known[i].first != v.known[i-1].position+1 {
		return fmt.Sprintf("it begins with position %d, and the message before ends with %d", v.known[i].first,
			v.known[i-1].position)
	}
	if want := v.agreed(i); c.sum != want {
		return "it was changed: it is not the message that the others have, or that the next one follows"
	}
	return ""
}

// agreed returns the checksum of a message that most copies have, or say that the message before
// theirs has, which decides if as many say something else.
func (v *verification) agreed(i int) (sum uint32) {
	votes := map[uint32]int{}
	for _, c := range v.copies {
		if c[i].whole {
			votes[c[i].sum] += 2
		}
		if i+1 < len(c) && c[i+1].whole {
			votes[c[i+1].previous] += 3
		}
	}
	most := 0
	for _, c := range v.copies { // in their order
		for _, s := range []struct {
			sum   uint32
			there bool
		}{{c[i].sum, c[i].whole}, {v.next(c, i).previous, v.next(c, i).whole}} {
			if s.there && votes[s.sum] > most {
				sum, most = s.sum, votes[s.sum]
			}
		}
	}
	return sum
}

// next is the message of a copy behind another one.
func (v *verification) next(c []sums, i int) sums {
	if i+1 < len(c) {
		return c[i+1]
	}
	return sums{}
}
