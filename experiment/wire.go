package experiment

import "encoding/json"

// The forms of the service's API that server and client share. docs/service.md and the OpenAPI
// document describe them.

// Problem is the form of every error: RFC 9457, application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is the module's, Place where the fault lies: "definition:12: arms[0].name", "items", ...
	Code  string `json:"code"`
	Place string `json:"place,omitempty"`
}

// Summary is an experiment in a list.
type Summary struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	State       Status `json:"state"`
	Version     uint64 `json:"version"`
	Round       uint64 `json:"round"`
}

// Applied is what applying a definition did.
type Applied struct {
	Name    string `json:"name"`
	Version uint64 `json:"version"`
	Created bool   `json:"created"`
	Changed bool   `json:"changed"`
}

// Fates is the answer to feedback, exposures and aggregates: how many items had which fate, and
// each item's.
type Fates struct {
	Accepted  int    `json:"accepted"`
	Duplicate int    `json:"duplicate"`
	Late      int    `json:"late"`
	Rejected  int    `json:"rejected"`
	Items     []Item `json:"items"`
}

// Count counts the items.
func (f *Fates) Count() {
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

// Decided is a decision as the API answers it.
type Decided struct {
	Unit       string          `json:"unit"`
	Arm        string          `json:"arm"`
	Value      json.RawMessage `json:"value"`
	Propensity float64         `json:"propensity"`
	Version    uint64          `json:"version"`
	Token      string          `json:"token"`
}

// Reported is an item of exposures or feedback.
type Reported struct {
	Token   string             `json:"token"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
}

// StateName names a state: how far it is, and the digest that any other fold of the same log has,
// too.
type StateName struct {
	Position uint64 `json:"position"`
	Digest   string `json:"digest"`
}
