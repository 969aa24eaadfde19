package client_test

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/noregret/noregret/policy"
)

// TestOlderPolicy follows a service of several nodes, of which some answer with an older policy:
// the Local keeps the newer one. If all of them have the older one for long, it is in force.
func TestOlderPolicy(t *testing.T) {
	s := newService(t)
	p, err := s.client.Policy(t.Context(), "toy", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	first, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	newer := *p
	newer.Version += 5
	if _, err := newer.Seal(); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(&newer)
	if err != nil {
		t.Fatal(err)
	}
	var polls atomic.Int64
	var turn atomic.Bool // every fourth node is up to date
	turn.Store(true)
	enough := make(chan struct{})
	const most = 60
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := polls.Add(1)
		if n == most {
			close(enough)
		}
		text, tag := first, p.Digest
		if turn.Load() && n%4 == 1 {
			text, tag = second, newer.Digest
		}
		if r.Header.Get("If-None-Match") == `"`+tag+`"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	})
	s.answer.Store(&answer)
	renewed := make(chan uint64, 100)
	o := hourly()
	o.First, o.Renewed = &newer, func(p *policy.Policy) { renewed <- p.Version }
	l, err := s.client.NewLocal(t.Context(), "toy", o)
	if err != nil {
		t.Fatal(err)
	}
	<-enough
	if l.Policy().Version != newer.Version || len(renewed) > 0 {
		t.Errorf("version %d, renewed %d times", l.Policy().Version, len(renewed))
	}
	turn.Store(false)
	if v := <-renewed; v != p.Version {
		t.Errorf("version %d is in force, want %d", v, p.Version)
	}
	s.answer.Store(nil)
	if err := l.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
