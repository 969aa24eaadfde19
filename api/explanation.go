package api

import (
	"time"

	"github.com/noregret/noregret/policy"
)

// Explanation says why a unit got its arm, and which estimates the policy was made from.
type Explanation struct {
	policy.Derivation
	Policy PolicyFacts `json:"policy"`
}

// PolicyFacts describes what was known when a version was made.
type PolicyFacts struct {
	Made  time.Time                         `json:"made"`
	Cause string                            `json:"cause"`
	Value *float64                          `json:"value"`
	Units map[string]uint64                 `json:"units"`
	Known map[string]map[string]KnownMetric `json:"known"`
}

// KnownMetric is the estimate of an arm's metric at that time.
type KnownMetric struct {
	N    uint64   `json:"n"`
	Mean *float64 `json:"mean"`
}
