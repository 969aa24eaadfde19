package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/eventlog"
	"github.com/noregret/noregret/experiment"
	"github.com/noregret/noregret/server/internal/access"
)

// operates reports whether a request may see how much feedback private experiments get: it has an
// access token with the role admin for all experiments. Where no tokens are required nobody has.
func operates(tokens *access.Tokens, r *http.Request) bool {
	p := tokens.Find(r)
	return p != nil && p.May(access.Admin) && !p.Limited()
}

// positions turns public positions into those of the log. Public positions number the events
// without feedback of private experiments, which readers do not see. Without such feedback both are
// the same.
type positions struct {
	log  eventlog.Log
	live *liveState

	mu sync.Mutex
	// marks are places that were found, in order; there is at most one in markEvery events.
	marks []mark
}

// mark says how many of the events up to a position of the log are hidden.
type mark struct{ position, hidden uint64 }

// public returns the public position of the mark.
func (m mark) public() uint64 { return m.position - m.hidden }

// markEvery is the least number of events between two marks.
const markEvery = 4096

// last returns the position of the last event of the state, and how many are hidden.
func (p *positions) last() mark {
	p.live.mu.RLock()
	defer p.live.mu.RUnlock()
	return mark{p.live.state.Position(), experiment.Hidden(p.live.state)}
}

// before returns the mark right before the first event in the log, which it may read as a whole,
// but once only for each.
func (p *positions) before(ctx context.Context) (mark, error) {
	last, first := p.last(), p.log.Stats().First
	if last.hidden == 0 || first == 1 {
		return mark{first - 1, 0}, nil
	}
	if m := p.known(first - 1); m.position == first-1 {
		return m, nil
	}
	hidden := uint64(0)
	for rec, err := range p.log.Read(ctx, first) {
		if err != nil {
			return mark{}, err
		}
		if rec.Position > last.position {
			break
		}
		if experiment.IsHidden(rec.Kind) {
			hidden++
		}
	}
	m := mark{first - 1, last.hidden - hidden}
	p.note(m)
	return m, nil
}

// known returns the last mark up to a position of the log.
func (p *positions) known(position uint64) (m mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.marks {
		if k.position <= position {
			m = k
		}
	}
	return m
}

// note keeps a mark, if it is far enough from the others or before all of them that the log has.
func (p *positions) note(m mark) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearchFunc(p.marks, m.position, func(k mark, at uint64) int {
		return int(min(max(int64(k.position)-int64(at), -1), 1))
	})
	first := i == 0 || m.position < p.log.Stats().First
	if !found && (first || m.position-p.marks[i-1].position >= markEvery) {
		p.marks = slices.Insert(p.marks, i, m)
	}
}

// from returns the mark right before the event at a public position, from begin on, that of
// [positions.before].
func (p *positions) from(ctx context.Context, begin mark, public uint64) (mark, error) {
	last := p.last()
	if last.hidden == 0 {
		return mark{public - 1, 0}, nil
	}
	at := begin
	p.mu.Lock()
	for _, k := range p.marks {
		if k.position >= begin.position && k.public() < public {
			at = k
		}
	}
	p.mu.Unlock()
	for rec, err := range p.log.Read(ctx, at.position+1) {
		if err != nil {
			return mark{}, err
		}
		switch {
		case rec.Position > last.position:
			return at, nil
		case experiment.IsHidden(rec.Kind):
			at.hidden++
		case at.public()+1 == public:
			return at, nil
		}
		at.position = rec.Position
		p.note(at)
	}
	return at, nil
}

// publicName returns the public position of the state and the digest of what is public: neither
// changes with the feedback of private experiments.
func (l *liveState) publicName(ctx context.Context) (api.StateName, error) {
	l.mu.RLock()
	position, hidden := experiment.PublicPosition(l.state), experiment.Hidden(l.state)
	private := len(experiment.PrivateNames(l.state)) > 0
	l.mu.RUnlock()
	if hidden == 0 && !private {
		return l.name(ctx)
	}
	return l.publicNamer.name(ctx, position, func() (*experiment.Frozen, error) {
		l.mu.RLock()
		defer l.mu.RUnlock()
		return l.state.Freeze()
	})
}

// errNoPosition is the error of a position that the log does not have yet.
func errNoPosition(from, last uint64) error {
	return noregret.Errorf(noregret.NotFound, "from", "position %d: the last one is %d", from, last)
}

// isCompacted reports whether events were dropped while they were read.
func isCompacted(err error) bool { return errors.Is(err, eventlog.ErrCompacted) }
