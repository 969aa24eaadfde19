package experiment

import "testing"

// TestNodeEvents applies events of nodes: they concern no experiment, advance no time and have no
// public position, and a snapshot has who leads.
func TestNodeEvents(t *testing.T) {
	s := NewState()
	apply := func(kind string, at int64, payload string) Outcome {
		t.Helper()
		o, err := s.Apply(s.Position()+1, Event{Kind: kind, Time: at, Payload: []byte(payload)})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	public := func() string {
		t.Helper()
		f, err := s.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.PublicDigest()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	apply(KindAudit, 7, `{"action": "tokens", "by": {}}`)
	before := public()
	if Leader(s) != nil {
		t.Error("nobody has led yet")
	}
	const leads = `{"term": 3, "address": "http://a", "protocol": 1, "keys": {"1": "ab"}, "key": "1", "new": 5}`
	for _, c := range []struct {
		kind, payload string
		refused       bool
	}{
		{KindLeads, leads, false},
		{KindDigest, `{}`, false},
		{KindDigest, `{"position": "x"}`, true},
		{KindLeads, `{"term": -1}`, true},
	} {
		if o := apply(c.kind, 9, c.payload); (o.Err != nil) != c.refused || o.Experiment != "" || o.Renewed {
			t.Errorf("%s %s: %+v", c.kind, c.payload, o)
		}
	}
	if s.Position() != 5 || PublicPosition(s) != 1 || s.Time() != 7 || public() != before {
		t.Errorf("position %d, in public %d, time %d", s.Position(), PublicPosition(s), s.Time())
	}
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	r := NewState()
	if err := r.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	l := Leader(r)
	if l == nil || l.Term != 3 || l.Address != "http://a" || l.Protocol != 1 || l.Keys["1"] != "ab" || l.Key != "1" {
		t.Errorf("restored: %+v", l)
	}
	if one, err := s.Digest(); err != nil {
		t.Fatal(err)
	} else if other, err := r.Digest(); err != nil || one != other {
		t.Errorf("digests %s and %s, %v", one, other, err)
	}
}
