package catalogue

import (
	"bytes"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/internal/check"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// Every algorithm of the catalogue adds and retires arms during a run. The default and the
// baselines then deploy the new arm, which is the best. A retired arm has no share and accepts no
// observations. Snapshots continue with the current arms. Retiring an arm that cannot be retired is
// refused and changes nothing.
func TestRosterOfEveryAlgorithm(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	// Arms 2 and 3 join later.
	mu := pastotest.Table(t, []float64{.5, 0, 1, .2}, []float64{-1, .5, 1, .1})
	for _, e := range Algorithms() {
		t.Run(e.Name, func(t *testing.T) {
			l, err := e.New(f, 2, 2000, nil)
			if err != nil {
				t.Fatal(err)
			}
			a, ok := l.(pasto.Roster)
			if !ok {
				t.Fatalf("%T has no roster", l)
			}
			r := random.New(1, "roster")
			pastotest.Play(t, a, mu, 3, 200, .3, r)
			for want := 2; want < 4; want++ {
				if k, err := a.AddArm(); err != nil || k != want || a.Arms() != want+1 {
					t.Fatal(k, err)
				}
			}
			pastotest.Play(t, a, mu, 3, 1500, .3, r)
			_, slow := a.(*ascent.Algorithm)
			_, noisy := a.(*ascent.SCGD)
			if p := a.Deployed(); !slow && !noisy && p[2] < .9 {
				t.Errorf("the best arm has a share of only %v: %v", p[2], p)
			}
			if err := a.RetireArm(2); err != nil {
				t.Fatal(err)
			}
			check := func(a pasto.Roster) {
				for _, p := range [][]float64{a.Serving(), a.Deployed()} {
					if err := check.Mixture("p", p, 4); err != nil || p[2] != 0 {
						t.Errorf("%v: %v", p, err)
					}
				}
			}
			check(a)
			pastotest.Same(t, a.Observe([]pasto.Observation{{Arm: 2, Metrics: []float64{1, 1}}}),
				"observations[0]: arm 2 is retired: archive what comes late")
			pastotest.Play(t, a, mu, 3, 100, .3, r)
			check(a)
			saved, err := a.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			pastotest.Same(t, a.RetireArm(4), "arm: 4 is unknown: want one of 0 to 3")
			pastotest.Same(t, a.RetireArm(-1), "arm: -1 is unknown: want one of 0 to 3")
			pastotest.Same(t, a.RetireArm(2), "arm: 2 is retired already")
			if again, _ := a.MarshalBinary(); !bytes.Equal(saved, again) {
				t.Error("a refusal changed the state")
			}
			state, _ := r.MarshalBinary()
			b, _ := e.New(f, 2, 2000, nil)
			if err := b.UnmarshalBinary(saved); err != nil {
				t.Fatal(err)
			}
			r2 := random.New(0, "")
			_ = r2.UnmarshalBinary(state)
			pastotest.Play(t, a, mu, 3, 100, .3, r)
			pastotest.Play(t, b, mu, 3, 100, .3, r2)
			x, _ := a.MarshalBinary()
			y, _ := b.MarshalBinary()
			if !bytes.Equal(x, y) {
				t.Error("a restored learner continues differently")
			}
			for _, k := range []int{0, 1} {
				if err := a.RetireArm(k); err != nil {
					t.Fatal(err)
				}
			}
			pastotest.Same(t, a.RetireArm(3), "arm: 3 is the last active one: at least one must stay")
			if p := a.Deployed(); p[3] != 1 {
				t.Errorf("the last arm does not have all traffic: %v", p)
			}
			pastotest.Play(t, a, mu, 3, 10, .3, r)
		})
	}
}
