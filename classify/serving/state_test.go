package serving_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/serving"
)

func saved(t testing.TB, s *serving.Service) []byte {
	t.Helper()
	b, err := s.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestState: a service that is saved and restored at any moment goes on as one that never ended.
func TestState(t *testing.T) {
	for name, m := range map[string]*classify.Model{
		"two classes": binary(t), "labels": multilabel(t), "learns": learner(t),
		"three classes": trained(t, classify.Multiclass, "macro_f1", classify.Options{Algorithm: "logistic"},
			func(x, z float64) string {
				if x > 0 && z > 0 {
					return "c"
				}
				return map[bool]string{true: "a", false: "b"}[x > 0]
			}),
	} {
		t.Run(name, func(t *testing.T) {
			opt := serving.DefaultOptions()
			opt.Window, opt.MaxWaiting, opt.Learn = 30, 60, name == "learns"
			whole, cut := newService(t, m, opt), newService(t, m, opt)
			r := rand.New(rand.NewPCG(3, 4))
			var ids []string
			for round := range 150 {
				b := rows(uint64(round), 4)
				p := predict(t, whole, b)
				if q := predict(t, cut, b); !reflect.DeepEqual(p, q) {
					t.Fatalf("round %d: %+v, want %+v", round, q, p)
				}
				for i := range p {
					ids = append(ids, p[i].ID)
				}
				for range 5 {
					id, label := ids[max(0, len(ids)-r.IntN(80)-1)], m.Labels[r.IntN(len(m.Labels))]
					a, b := whole.Label(id, label), cut.Label(id, label)
					if a.Fate != b.Fate || fmt.Sprint(a.Err) != fmt.Sprint(b.Err) {
						t.Fatalf("round %d: %+v, want %+v", round, b, a)
					}
				}
				state := saved(t, cut)
				cut = newService(t, m, opt)
				if err := cut.UnmarshalBinary(state); err != nil {
					t.Fatal(err)
				}
				if again := saved(t, cut); !bytes.Equal(state, again) {
					t.Fatalf("round %d: the state does not return", round)
				}
			}
			a, waitingA := whole.Counts()
			b, waitingB := cut.Counts()
			if a != b || waitingA != waitingB || !reflect.DeepEqual(figures(t, whole), figures(t, cut)) ||
				a.Accepted < 100 || a.Late == 0 || a.Dropped == 0 {
				t.Errorf("%+v, want %+v", b, a)
			}
			if l := cut.Learning(); (l.Learned > 0) != opt.Learn {
				t.Errorf("%+v", l)
			}
			less := opt
			less.Window, less.MaxWaiting = 10, 20
			small := newService(t, m, less)
			if err := small.UnmarshalBinary(saved(t, cut)); err != nil {
				t.Fatal(err)
			}
			if _, waiting := small.Counts(); waiting > 20 || figures(t, small).WindowRows != 10 {
				t.Errorf("%d waiting, %+v", waiting, figures(t, small))
			}
		})
	}
}

// TestStateRefused: a state that is damaged, of another model or has learned is refused, and the
// service is as it was.
func TestStateRefused(t *testing.T) {
	m := learner(t)
	opt := serving.DefaultOptions()
	opt.Learn = true
	s := newService(t, m, opt)
	for _, p := range predict(t, s, rows(1, 5))[:2] {
		s.Label(p.ID, "1")
	}
	state := saved(t, s)
	plain := newService(t, m, serving.DefaultOptions())
	predict(t, plain, rows(2, 3))
	before := saved(t, plain)
	if err := plain.UnmarshalBinary(state); noregret.CodeOf(err) != noregret.Usage ||
		!strings.Contains(err.Error(), "learned from 0 labels, and 2 more are held back") {
		t.Error(err)
	}
	damaged := slices.Clone(state)
	damaged[len(damaged)/2] ^= 1
	other := saved(t, newService(t, binary(t), serving.DefaultOptions()))
	for _, b := range [][]byte{damaged, state[:len(state)-1], nil, other} {
		if err := plain.UnmarshalBinary(b); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if !bytes.Equal(saved(t, plain), before) {
		t.Error("a refused state has changed the service")
	}
}

// FuzzState: no state makes the service panic, now or later, and what is taken returns.
func FuzzState(f *testing.F) {
	m := multilabel(f)
	s := newService(f, m, serving.DefaultOptions())
	for i, p := range predict(f, s, rows(1, 5))[:3] {
		s.Label(p.ID, m.Labels[i%2])
	}
	f.Add(saved(f, s))
	f.Add([]byte("noregret-score-2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newService(t, m, serving.DefaultOptions())
		if len(data) > 32 { // with the right checksum
			sum := sha256.Sum256(data[:len(data)-32])
			data = append(data[:len(data)-32:len(data)-32], sum[:]...)
		}
		if err := s.UnmarshalBinary(data); err != nil {
			if noregret.CodeOf(err) != noregret.BadInput {
				t.Fatal(err)
			}
			return
		}
		figures(t, s)
		for _, p := range predict(t, s, rows(2, 2)) {
			if r := s.Label(p.ID, "p"); r.Fate != serving.Accepted {
				t.Fatal(r)
			}
		}
		if err := newService(t, m, serving.DefaultOptions()).UnmarshalBinary(saved(t, s)); err != nil {
			t.Fatal(err)
		}
	})
}
