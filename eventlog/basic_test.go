package eventlog

import (
	"context"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestBasic(t *testing.T) {
	ctx := context.Background()
	fs := vfs.NewCrashableMem()
	for round := range 3 {
		s, err := Open(fs, "/a/log", Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			f, l, err := s.Append(ctx, Event{Kind: "k", Time: 7, Payload: []byte(fmt.Sprint(round, i))}, Event{Kind: "z"})
			if err != nil {
				t.Fatal(err)
			}
			if f != uint64(round*20+2*i+1) || l != f+1 {
				t.Fatal(f, l)
			}
		}
		n := 0
		for r, err := range s.Read(ctx, s.Stats().First) {
			if err != nil {
				t.Fatal(err)
			}
			_ = r
			n++
		}
		if err := s.SaveSnapshot(ctx, uint64(round*20+15), []byte("state")); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(ctx, uint64(round*20+13)); err != nil {
			t.Fatal(err)
		}
		t.Log(n, s.Stats())
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		t.Log(fs.List("/a/log/events"))
	}
}
