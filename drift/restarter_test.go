package drift

import (
	"errors"
	"slices"
	"testing"

	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/oco"
)

// counter is a learner of another kind.
type counter struct{ batch, rounds int }

func TestRestarter(t *testing.T) {
	r := must(NewRestarter(must(Every(3)), func(batch int) (*counter, error) {
		return &counter{batch: batch}, nil
	}))
	for round := range 10 {
		l := r.Learner()
		if l.batch != round/3 || l.rounds != round%3 || r.Batch() != round/3 || r.Age() != round%3 ||
			r.Rounds() != round {
			t.Fatalf("round %d: %+v, batch %d, age %d", round+1, l, r.Batch(), r.Age())
		}
		l.rounds++
		if restarted := must(r.End(0)); restarted != (round%3 == 2) {
			t.Errorf("round %d: restarted %v", round+1, restarted)
		}
	}
	if _, err := r.MarshalBinary(); err == nil {
		t.Error("a learner without a snapshot was saved")
	}
}

func TestRestarterRefuses(t *testing.T) {
	make := func(int) (*counter, error) { return &counter{}, nil }
	_, err := NewRestarter[*counter](nil, make)
	refused(t, "trigger", err)
	_, err = NewRestarter[*counter](Never(), nil)
	refused(t, "make", err)
	_, err = NewRestarter(Never(), func(int) (oco.Learner, error) { return nil, nil })
	refused(t, "learner", err)
	failure := errors.New("no more")
	r := must(NewRestarter(must(Every(1)), func(batch int) (*counter, error) {
		if batch > 0 {
			return nil, failure
		}
		return &counter{}, nil
	}))
	for range 2 {
		if _, err := r.End(0); !errors.Is(err, failure) {
			t.Errorf("error %v", err)
		}
		if !errors.Is(r.Check(0), failure) {
			t.Error("Check does not report the failure")
		}
	}
}

// TestRestartedExperts: randomized play on restarted weights has in every batch the weights of a
// fresh learner, and so have specialists.
func TestRestartedExperts(t *testing.T) {
	const d, size, rounds = 4, 6, 32
	hedge := func([]float64) (oco.Learner, error) { return oco.NewAdaHedge(d, oco.DefaultAdaHedgeAlpha(d)) }
	asleep := func([]float64) (oco.Learner, error) {
		return experts.NewSpecialists(must(oco.NewAdaHedge(d, oco.DefaultAdaHedgeAlpha(d))))
	}
	weights := must(NewRestarted(Options{Make: hedge, Trigger: must(Every(size))}))
	play := must(experts.NewRandomized(weights, experts.Options{Seed: 1}))
	specialists := must(NewRestarted(Options{Make: asleep, Trigger: must(Every(size))}))
	r := random.New(6, "experts")
	var a, b oco.Learner
	for round := range rounds {
		if round%size == 0 {
			a, b = must(hedge(nil)), must(asleep(nil))
		}
		g, awake := make([]float64, d), make([]float64, d)
		for i := range g {
			g[i], awake[i] = r.Float64(), 1-float64(min(i, 1)*r.IntN(2))
		}
		for _, s := range []oco.Learner{b, specialists.Learner()} {
			if err := s.(*experts.Specialists).Confidence(awake); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(play.Distribution(), a.Predict()) || !slices.Equal(specialists.Predict(), b.Predict()) {
			t.Fatalf("round %d: %v, fresh %v; %v, fresh %v", round+1, play.Distribution(), a.Predict(),
				specialists.Predict(), b.Predict())
		}
		if i := play.Draw(); i < 0 || i >= d {
			t.Fatalf("expert %d", i)
		}
		if err := errors.Join(play.Update(g), specialists.Update(g), a.Update(g), b.Update(g)); err != nil {
			t.Fatal(err)
		}
	}
	if weights.Batch() != rounds/size {
		t.Errorf("%d restarts", weights.Batch())
	}
}
