package client

import (
	"context"
	"testing"
	"time"

	"github.com/noregret/noregret"
)

// Pauses double up to the longest one, and end with the context.
func TestPauses(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	p := pauses{time.Hour, 5 * time.Hour}
	for _, want := range []time.Duration{2 * time.Hour, 4 * time.Hour, 5 * time.Hour, 5 * time.Hour} {
		if p.wait(ended, nil) {
			t.Error("wait continues though the context has ended")
		}
		if p.next != want {
			t.Errorf("the next pause is %v, want %v", p.next, want)
		}
	}
	if p = (pauses{time.Microsecond, time.Second}); !p.wait(context.Background(), nil) {
		t.Error("wait does not continue")
	}
}

func TestPasses(t *testing.T) {
	internal := noregret.Errorf(noregret.Internal, "", "no answer")
	for _, c := range []struct {
		err  error
		want bool
	}{
		{internal, true},
		{noregret.BadInputf("", "NaN"), false},
		{&Error{Status: 401, Err: internal}, true},
		{&Error{Status: 403, Err: internal}, false},
		{&Error{Status: 413, Err: internal}, false},
		{&Error{Status: 429, Err: internal}, true},
		{&Error{Status: 500, Err: internal}, false},
		{&Error{Status: 503, Err: internal}, true},
	} {
		if got := passes(c.err); got != c.want {
			t.Errorf("%+v: %v", c.err, got)
		}
	}
}
