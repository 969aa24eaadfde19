package drill

import (
	"slices"
	"sync"
	"time"
)

// Outcome is what a client knows of a call.
type Outcome string

// The outcomes.
const (
	// Done is that of a decision and of an exposure that were answered.
	Done Outcome = "done"
	// Accepted and Duplicate acknowledge a report: it is stored, by this call or by an earlier one.
	Accepted  Outcome = "accepted"
	Duplicate Outcome = "duplicate"
	// Declined is a report that came too late, or broke a rule.
	Declined Outcome = "declined"
	// Refused is an answer that says to try again, such as 503, and Unknown no answer. In both
	// cases the report may have been stored, or be stored later.
	Refused Outcome = "refused"
	Unknown Outcome = "unknown"
)

// Kind is what a call was for.
type Kind string

// The kinds of calls.
const (
	Decide   Kind = "decide"
	Expose   Kind = "expose"
	Feedback Kind = "feedback"
)

// Call is a request with what the client knows of it.
type Call struct {
	Client int // which of the clients that are there at once
	Visit  int // which visitor, from 0
	Node   int // from 0
	Kind   Kind
	Begin  time.Duration // since the cluster was started
	End    time.Duration
	Outcome
}

// history has the calls of all visitors. Its methods are safe for concurrent use.
type history struct {
	begin time.Time // of the cluster, which times are since

	mu     sync.Mutex
	calls  []Call          // in the order of their ends
	visits int             // visitors so far
	writes []time.Duration // when a report was acknowledged, in order
}

// now is the time since the cluster was begun.
func (h *history) now() time.Duration { return time.Since(h.begin) }

// visitor returns the number of the next visitor.
func (h *history) visitor() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.visits++
	return h.visits - 1
}

// all returns the calls.
func (h *history) all() []Call {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

// note notes a call that has ended now.
func (h *history) note(call Call) {
	h.mu.Lock()
	defer h.mu.Unlock()
	call.End = h.now()
	h.calls = append(h.calls, call)
	if call.Kind == Feedback && (call.Outcome == Accepted || call.Outcome == Duplicate) {
		h.writes = append(h.writes, call.End)
	}
}

// written reports whether a report that was sent after a time has been acknowledged.
func (h *history) written(after time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, call := range slices.Backward(h.calls) {
		switch {
		case call.End < after:
			return false
		case call.Kind == Feedback && call.Begin > after && call.Outcome == Accepted:
			return true
		}
	}
	return false
}

// gap returns the longest time without an acknowledged report that ends within two times, in
// seconds.
func (h *history) gap(from, to time.Duration) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return longest(h.writes, from, to).Seconds()
}

// longest returns the longest time between two writes of which the second one is within two times.
// If no write follows, the time ends at the second one.
func longest(writes []time.Duration, from, to time.Duration) (gap time.Duration) {
	i, _ := slices.BinarySearch(writes, from)
	previous := from
	if i > 0 {
		previous = writes[i-1]
	}
	for ; i < len(writes) && writes[i] <= to; i++ {
		gap, previous = max(gap, writes[i]-previous), writes[i]
	}
	return max(gap, to-previous)
}
