package api

import "encoding/json"

// ItemStatus is the result of an item of feedback or of an exposure.
type ItemStatus string

// The results.
const (
	Accepted  ItemStatus = "accepted"
	Duplicate ItemStatus = "duplicate"
	Late      ItemStatus = "late"
	Rejected  ItemStatus = "rejected"
)

// ItemResult is the result of one item, with the error if it was rejected.
type ItemResult struct {
	Status ItemStatus `json:"status"`
	Error  string     `json:"error,omitempty"`
}

// FeedbackItem is an item of exposures or feedback: a token and, for feedback, metrics by name.
type FeedbackItem struct {
	Token   string             `json:"token"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Context is the context of the decision: only for exposures, and only if the policy is
	// contextual.
	Context json.RawMessage `json:"context,omitempty"`
	// Decided is a decision that a client made by a copy of the policy. It takes the place of the
	// token and of the context: the service repeats the decision.
	Decided *Decided `json:"decided,omitempty"`
}

// Decided is a decision that a client made by a copy of the policy.
type Decided struct {
	Experiment string `json:"experiment"`
	Version    uint64 `json:"version"`
	Unit       string `json:"unit" minLength:"1" maxLength:"512"`
	// Context is the unit's context, if the policy is contextual.
	Context json.RawMessage `json:"context,omitempty" schema:"Context"`
	// Time is when the decision was made, in milliseconds since 1970.
	Time int64 `json:"time"`
}

// FeedbackResult is the answer to feedback, exposures and aggregates: the number of items with each
// status, and the result of each item.
type FeedbackResult struct {
	Accepted  int          `json:"accepted"`
	Duplicate int          `json:"duplicate"`
	Late      int          `json:"late"`
	Rejected  int          `json:"rejected"`
	Items     []ItemResult `json:"items"`
}

// Count counts the items.
func (f *FeedbackResult) Count() {
	f.Accepted, f.Duplicate, f.Late, f.Rejected = 0, 0, 0, 0
	for _, it := range f.Items {
		switch it.Status {
		case Accepted:
			f.Accepted++
		case Duplicate:
			f.Duplicate++
		case Late:
			f.Late++
		default:
			f.Rejected++
		}
	}
}

// Counts counts items by result in a report.
type Counts struct {
	Accepted  int64 `json:"accepted"`
	Duplicate int64 `json:"duplicate"`
	Late      int64 `json:"late"`
	Rejected  int64 `json:"rejected"`
}

// Add counts n items of a result.
func (c *Counts) Add(s ItemStatus, n int64) {
	switch s {
	case Accepted:
		c.Accepted += n
	case Duplicate:
		c.Duplicate += n
	case Late:
		c.Late += n
	default:
		c.Rejected += n
	}
}
