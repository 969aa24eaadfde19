package appendqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/noregret/noregret"
)

const limit = 100 // bytes, of the queues of the tests

// step is what a history does next: append, cancel, take, done, stop, resume or close.
type step struct {
	Do           string
	Size, Events int  // of the append
	At           bool // a position
	Ended        bool // the context of the append has ended
	Bytes, Most  int  // the bounds of the group
	Which        int  // call or group, modulo their number
}

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	s := step{Do: rapid.SampledFrom([]string{
		"append", "append", "append", "append", "append", "cancel", "cancel", "take", "take", "take", "done", "done",
		"stop", "resume", "resume", "close",
	}).Draw(t, "do")}
	if s.Do == "close" && rapid.IntRange(0, 9).Draw(t, "rarely") > 0 {
		s.Do = "append"
	}
	switch s.Do {
	case "append":
		s.Size, s.Events = 10*rapid.IntRange(1, 6).Draw(t, "size"), rapid.IntRange(1, 3).Draw(t, "events")
		s.At, s.Ended = rapid.IntRange(0, 3).Draw(t, "at") == 0, rapid.IntRange(0, 9).Draw(t, "ended") == 0
	case "take":
		s.Bytes, s.Most = 10*rapid.IntRange(2, limit/10).Draw(t, "bytes"), rapid.IntRange(1, 8).Draw(t, "most")
	case "cancel", "done":
		s.Which = rapid.IntRange(0, 1<<20).Draw(t, "which")
	}
	return s
}), 1, 60)

// call is a call of Append. Its event is its number.
type call struct {
	step
	number int
	cancel context.CancelCauseFunc

	waits, taken bool   // where its request is, if it is in the queue
	want         *ended // how the call must have ended, nil if it must go on
	got          *ended // how it has
}

// ended is what Append has returned.
type ended struct {
	first uint64
	err   error
}

// history runs steps, one after the other, and compares the queue with what it must do. What it
// cannot know is which of the calls that wait for room gets it: that it sees.
type history struct {
	t               *testing.T
	q               *Queue[int]
	calls           []*call
	groups          [][]*Request[int] // taken and not done
	taking          chan []*Request[int]
	stopped, closed error
	first           uint64 // the last position that a request got
}

var errCancelled = errors.New("cancelled")

// do does one step.
func (h *history) do(n int, s step) {
	var bounds *step
	before := h.waiting()
	removed := func(*call) bool { return false }
	switch s.Do {
	case "append":
		h.append(s)
	case "cancel":
		going := h.going()
		c := going[s.Which%len(going)]
		if !c.taken {
			c.want = &ended{0, errCancelled}
			removed = func(x *call) bool { return x == c }
		}
		c.cancel(errCancelled)
	case "take":
		bounds = &s
		h.taking = make(chan []*Request[int], 1)
		go func() { h.taking <- h.q.Take(s.Bytes, s.Most) }()
	case "done":
		i := s.Which % len(h.groups)
		for _, r := range h.groups[i] {
			h.first++
			r.First = h.first
			if h.first%3 == 0 {
				r.Err = fmt.Errorf("outcome %d", h.first)
			}
			c := h.calls[r.Events[0]]
			c.want, c.taken = &ended{r.First, r.Err}, false
		}
		h.q.Done(h.groups[i])
		h.groups = slices.Delete(h.groups, i, i+1)
	case "stop":
		h.stopped = fmt.Errorf("stopped in step %d", n)
		for _, c := range h.calls {
			if c.want == nil && !c.taken {
				c.want = &ended{0, h.stopped}
			}
		}
		removed = func(*call) bool { return true }
		h.q.Stop(h.stopped)
	case "resume":
		h.stopped = nil
		h.q.Resume()
	case "close":
		h.closed = fmt.Errorf("closed in step %d", n)
		for _, c := range h.calls {
			if c.want == nil && !c.taken && !c.waits {
				c.want = &ended{0, h.closed}
			}
		}
		h.q.Close(h.closed)
	}
	synctest.Wait() // everyone has done what can be done now
	h.compare(slices.DeleteFunc(before, removed), bounds)
}

// append begins a call.
func (h *history) append(s step) {
	c := &call{step: s, number: len(h.calls)}
	h.calls = append(h.calls, c)
	ctx, cancel := context.WithCancelCause(context.Background())
	c.cancel = cancel
	switch {
	case s.Ended:
		cancel(errCancelled)
		c.want = &ended{0, errCancelled}
	case h.closed != nil:
		c.want = &ended{0, h.closed}
	case h.stopped != nil:
		c.want = &ended{0, h.stopped}
	}
	at := uint64(0)
	if s.At {
		at = 7
	}
	events := make([]int, s.Events)
	events[0] = c.number
	go func() {
		first, err := h.q.Append(ctx, at, events, s.Size)
		c.got = &ended{first, err}
	}()
}

// going returns the calls that have not ended.
func (h *history) going() (out []*call) {
	for _, c := range h.calls {
		if c.want == nil {
			out = append(out, c)
		}
	}
	return out
}

// waiting returns the calls whose requests wait.
func (h *history) waiting() (out []*call) {
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	for _, r := range h.q.waiting {
		out = append(out, h.calls[r.Events[0]])
	}
	return out
}

// compare compares the queue with what it must be after a step: stay are the calls that waited
// before it and that it has not ended, bounds those of a group that was asked for in this step.
func (h *history) compare(stay []*call, bounds *step) {
	h.t.Helper()
	now, taken := h.waiting(), []*call(nil)
	select {
	case group := <-h.taking:
		h.taking = nil
		for _, r := range group {
			taken = append(taken, h.calls[r.Events[0]])
		}
		if len(group) > 0 {
			h.groups = append(h.groups, group)
			h.checkGroup(taken, now, bounds)
		} else if h.closed == nil || len(now) > 0 {
			h.t.Errorf("nothing was taken, though the queue is open or %d requests wait", len(now))
		}
	default:
		if h.taking != nil && (len(now) > 0 || h.closed != nil) {
			h.t.Errorf("the writer waits, though %d requests do, or the queue is closed: %v", len(now), h.closed)
		}
	}
	all := slices.Concat(taken, now)
	if len(all) < len(stay) || !slices.Equal(all[:len(stay)], stay) {
		h.t.Errorf("what waited has not stayed in its order")
	}
	for i, c := range all {
		if c.taken || c.want != nil || i >= len(stay) && c.waits {
			h.t.Errorf("the request %d is there again", c.number)
		}
		c.waits, c.taken = i >= len(taken), i < len(taken)
	}
	bytes := 0
	for _, c := range h.going() {
		if c.waits || c.taken {
			bytes += c.Size
		}
	}
	if got := h.q.Bytes(); got != bytes || got > limit {
		h.t.Errorf("%d bytes are counted, want %d, at most %d", got, bytes, limit)
	}
	for _, c := range h.calls {
		switch {
		case (c.want == nil) != (c.got == nil):
			h.t.Errorf("the call %d has ended with %+v, want %+v", c.number, c.got, c.want)
		case c.want == nil && !c.waits && !c.taken && bytes+c.Size <= limit:
			h.t.Errorf("the call %d of %d bytes waits for room beside %d", c.number, c.Size, bytes)
		case c.want != nil && (c.got.first != c.want.first || !errors.Is(c.got.err, c.want.err)):
			h.t.Errorf("the call %d has ended with %+v, want %+v", c.number, c.got, c.want)
		}
	}
}

// checkGroup checks the bounds of a group, and that the next request did not fit into it. A writer
// that waited may have been faster than that one.
func (h *history) checkGroup(group, behind []*call, bounds *step) {
	h.t.Helper()
	bytes, events := 0, 0
	for i, c := range group {
		if bytes, events = bytes+c.Size, events+c.Events; i > 0 && c.At {
			h.t.Errorf("the request %d is for a position, and is taken behind others", c.number)
		}
	}
	if bounds == nil {
		return
	}
	if len(group) > 1 && (bytes > bounds.Bytes || events > bounds.Most) {
		h.t.Errorf("a group has %d bytes and %d events, want %+v", bytes, events, *bounds)
	}
	if len(behind) > 0 && !behind[0].At && bytes+behind[0].Size <= bounds.Bytes &&
		events+behind[0].Events <= bounds.Most {
		h.t.Errorf("a group of %d bytes and %d events lacks the next request, %+v", bytes, events, behind[0].step)
	}
}

// end lets all calls end.
func (h *history) end(n int) {
	h.do(n, step{Do: "close"})
	for len(h.groups) > 0 || len(h.waiting()) > 0 || h.taking != nil {
		if len(h.groups) > 0 {
			h.do(n, step{Do: "done"})
		} else {
			h.do(n, step{Do: "take", Bytes: limit, Most: 8})
		}
	}
	if got := h.q.Bytes(); got != 0 {
		h.t.Errorf("%d bytes are left", got)
	}
	if group := h.q.Take(limit, 8); group != nil {
		h.t.Errorf("%d requests are taken at the end", len(group))
	}
	for _, c := range h.calls {
		c.cancel(nil)
	}
}

// TestHistories runs random histories against what the package promises: order, bounds, contexts
// that end, Stop, Resume and Close.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := steps.Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			h := &history{t: t, q: New[int](limit)}
			for n, s := range all {
				if s.Do == "take" && h.taking != nil || s.Do == "done" && len(h.groups) == 0 ||
					s.Do == "cancel" && len(h.going()) == 0 {
					continue
				}
				if h.do(n, s); t.Failed() {
					t.Logf("after step %d: %+v", n, s)
					break
				}
			}
			h.end(len(all))
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// TestCallers appends from several goroutines while a writer answers: each caller's requests have
// ascending positions, and all positions are given once.
func TestCallers(t *testing.T) {
	const callers, calls = 8, 200
	q := New[int](limit)
	written := make(chan int)
	go func() {
		last := 0
		for group := q.Take(50, 10); group != nil; group = q.Take(50, 10) {
			for _, r := range group {
				r.First = uint64(last + 1)
				last += len(r.Events)
			}
			q.Done(group)
		}
		written <- last
	}()
	var wg sync.WaitGroup
	var seen [callers * calls]bool
	for range callers {
		wg.Go(func() {
			last := uint64(0)
			for i := range calls {
				first, err := q.Append(t.Context(), 0, []int{i}, 1+i%30)
				if err != nil || first <= last || seen[first-1] {
					t.Errorf("position %d behind %d, %v", first, last, err)
					return
				}
				seen[first-1], last = true, first
			}
		})
	}
	wg.Wait()
	closed := errors.New("closed")
	q.Close(closed)
	if last := <-written; last != callers*calls {
		t.Errorf("%d events were written, want %d", last, callers*calls)
	}
	if _, err := q.Append(t.Context(), 0, []int{1}, 1); !errors.Is(err, closed) {
		t.Errorf("behind the end: %v", err)
	}
}

// TestTooLarge refuses a request that could never be added.
func TestTooLarge(t *testing.T) {
	q := New[int](limit)
	if _, err := q.Append(t.Context(), 0, []int{1}, limit+1); noregret.CodeOf(err) != noregret.Usage {
		t.Errorf("%v", err)
	}
}
