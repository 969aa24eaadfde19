package jetstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/eventlog"
)

// verifies damages one of three replicas in two ways: it is named, with the messages. A server
// whose files are removed gets them from the others.
func (c *cluster) verifies(t *testing.T) {
	o := c.options(t, "verify")
	o.Patience = 20 * time.Second
	writer := openLog(t, o)
	for n := range 30 { // more than the block of a file, as the server mends the last one
		payload := append(fmt.Appendf(nil, "payload %02d", n+1), make([]byte, 400_000)...)
		if err := writer.AppendAt(t.Context(), uint64(n+1), eventlog.Event{Kind: "k", Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() *Report {
		t.Helper()
		r, err := Verify(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Replicas) != 3 || r.First != 1 || r.Last != 30 || r.Messages != 30 {
			t.Errorf("%+v", r)
		}
		return r
	}
	leads := c.leader(t, writer)
	if r := verify(); r.Err() != nil { // and all servers have written all messages
		t.Errorf("%+v: %v", r, r.Err())
	}
	i := (leads + 1) % 3
	name, store := c.servers[i].Name, filepath.Join(c.servers[i].Dir, "jetstream")
	messages := filepath.Join(store, "$G", "streams", "verify", "msgs")
	for _, damage := range []struct {
		what string
		do   func() error
	}{
		{"a bit", func() error { flip(t, messages, "payload 08"); return nil }},
		{"a block cut", func() error {
			return os.Truncate(filepath.Join(messages, "1.blk"), 7*400_000+200_000)
		}},
		{"the copy removed", func() error { return os.RemoveAll(store) }},
	} {
		c.kill(i)
		if err := damage.do(); err != nil {
			t.Fatal(err)
		}
		c.start(t, i)
		r := verify()
		if damage.what == "the copy removed" {
			if r.Err() != nil || !r.Replicas[leads].Leads || c.leader(t, writer) != leads {
				t.Errorf("%s: %+v: %v", damage.what, r, r.Err())
			}
			continue
		}
		if len(r.Findings) != 1 || !errors.Is(r.Err(), eventlog.ErrDamaged) {
			t.Fatalf("%s: %+v: %v", damage.what, r, r.Err())
		}
		f := r.Findings[0]
		if f.Server != name || f.First != 8 || f.From != 8 || f.To != f.Last || f.Last >= 30 || f.Lost() {
			t.Errorf("%s of %s: %s", damage.what, name, f)
		}
	}
}

// TestVerifySingle verifies the stream of a single server, whose damage no other copy mends.
func TestVerifySingle(t *testing.T) {
	h, options := reachable(t)
	l := openLog(t, options())
	fill(t, l, 0, 10)
	if r, err := Verify(t.Context(), options()); err != nil || r.Err() != nil || r.Last != 20 || r.Messages != 10 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := l.SaveSnapshot(t.Context(), 7, []byte("state")); err != nil {
		t.Fatal(err)
	}
	if err := l.Compact(t.Context(), 7); err != nil {
		t.Fatal(err)
	}
	if r, err := Verify(t.Context(), options()); err != nil || r.Err() != nil || r.First != 8 || r.Last != 20 {
		t.Errorf("after events were dropped: %+v, %v", r, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h.stop()
	flip(t, h.files("log")+"/msgs", "w 7")
	h.start(t)
	r, err := Verify(t.Context(), options())
	if err != nil || len(r.Findings) == 0 || r.Findings[0].First != 8 || !r.Findings[0].Lost() {
		t.Errorf("%+v, %v", r, err)
	}
	o := options()
	o.Stream = "other"
	if r, err := Verify(t.Context(), o); noregret.CodeOf(err) != noregret.NotFound {
		t.Errorf("no stream: %+v, %v", r, err)
	}
}

// TestVerifyCompares compares copies that were made up: a message that was changed together with
// its checksum is found by the others, or by the message behind it.
func TestVerifyCompares(t *testing.T) {
	chain := func(payloads ...string) (out []*message) {
		at := point{}
		for _, p := range payloads {
			m := encode(at, []eventlog.Event{{Kind: "k", Payload: []byte(p)}})
			out, at = append(out, m), m.end()
		}
		return out
	}
	good := chain("a", "b", "c", "d")
	with := func(change func(copied []*message)) []*message {
		c := slices.Clone(good)
		change(c)
		return c
	}
	const changed = "it was changed: it is not the message that the others have, or that the next one follows"
	for _, tc := range []struct {
		name   string
		copies [][]*message
		want   []string
	}{
		{"the same", [][]*message{good, good, good}, nil},
		{
			"changed",
			[][]*message{good, with(func(c []*message) { c[1] = chain("a", "x")[1] }), good},
			[]string{"n1: message 2 (positions 2 to 2): " + changed},
		},
		{
			"changed, one copy",
			[][]*message{with(func(c []*message) { c[1] = chain("a", "x")[1] })},
			[]string{"n0: message 2 (positions 2 to 2): " + changed},
		},
		{
			"another end",
			[][]*message{chain("a", "b", "x", "y"), good, good},
			[]string{"n0: messages 3 to 4 (positions 3 to 4): " + changed},
		},
		{
			"a gap and an end",
			[][]*message{
				good, with(func(c []*message) { c[0], c[1] = nil, nil }),
				with(func(c []*message) { c[2], c[3] = nil, nil }),
			},
			[]string{
				"n1: messages 1 to 2 (positions 1 to 2): it is missing or damaged there",
				"n2: messages 3 to 4 (positions 3 to 4): the copy ends before it",
			},
		},
		{
			"lost",
			[][]*message{with(func(c []*message) { c[1] = nil }), with(func(c []*message) { c[1], c[2] = nil, nil })},
			[]string{
				"n0: message 2 (which no server has whole): it is missing or damaged there",
				"n1: message 2 (which no server has whole): it is missing or damaged there",
				"n1: message 3 (positions 3 to 3): it is missing or damaged there",
			},
		},
		{
			"another begin",
			[][]*message{chain("x", "b", "c", "d")[1:]},
			[]string{"n0: message 2 (positions 2 to 2): it does not follow the event up to which the log was dropped"},
		},
	} {
		v := newVerification(&wire{stream: "s"}, nodeKeys{}, 0)
		v.from, v.to = 1, 4
		if tc.name == "another begin" {
			v.base, v.from = good[0].end(), 2
		}
		v.known = make([]known, len(tc.copies[0]))
		for i, messages := range tc.copies {
			v.report.Replicas = append(v.report.Replicas, Replica{Server: fmt.Sprint("n", i)})
			v.copies = append(v.copies, make([]sums, len(v.known)))
			for n, m := range messages {
				v.note(v.copies[i], n, []extract{extractOf(m)})
			}
		}
		v.compare()
		var got []string
		for _, f := range v.report.Findings {
			got = append(got, f.String())
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestVerifyEnds ends Verify with its context, though no server answers.
func TestVerifyEnds(t *testing.T) {
	o := DefaultOptions()
	o.Servers, o.Stream = []string{"nats://127.0.0.1:1"}, "log"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Verify(ctx, o); err == nil {
		t.Errorf("%+v", r)
	}
}
