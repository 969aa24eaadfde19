package drift

import (
	"errors"
	"slices"
	"testing"

	"github.com/noregret/noregret/changepoint"
	"github.com/noregret/noregret/experts"
	"github.com/noregret/noregret/forget"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/oco"
)

// counter is a learner of another kind.
type counter struct{ batch, rounds int }

func TestRestarter(t *testing.T) {
	r := must(NewRestarter(must(forget.Every(3)), func(batch int) (*counter, error) {
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
	_, err = NewRestarter[*counter](forget.Never(), nil)
	refused(t, "make", err)
	_, err = NewRestarter(forget.Never(), func(int) (oco.Learner, error) { return nil, nil })
	refused(t, "learner", err)
	failure := errors.New("no more")
	r := must(NewRestarter(must(forget.Every(1)), func(batch int) (*counter, error) {
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
	weights := must(NewRestarted(RestartedOptions{Make: hedge, Trigger: must(forget.Every(size))}))
	play := must(experts.NewRandomized(weights, experts.DefaultRandomizedOptions(1)))
	specialists := must(NewRestarted(RestartedOptions{Make: asleep, Trigger: must(forget.Every(size))}))
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

// keeper is a trigger of the caller's own that does not reset itself.
type keeper struct {
	forget.Trigger
	due, resets int
}

func (k *keeper) Add(float64) (bool, error) { k.due++; return k.due >= 3, nil }
func (k *keeper) Reset()                    { k.due, k.resets = 0, k.resets+1 }

// TestRestartsOncePerChange: one change of the losses restarts a learner once with every detector,
// also with those that keep numbers of before the change, such as ADWIN. A trigger of the caller's
// own is reset as well.
func TestRestartsOncePerChange(t *testing.T) {
	adwin := func() changepoint.Detector {
		o := changepoint.DefaultADWINOptions()
		o.Lower, o.Upper = 0, 1
		return must(changepoint.NewADWIN(o))
	}
	rise := func() changepoint.Detector {
		return must(changepoint.NewPageHinkley(changepoint.DefaultPageHinkleyOptions()))
	}
	for name, make := range map[string]func() changepoint.Detector{"adwin": adwin, "page-hinkley": rise} {
		for _, detect := range []func(changepoint.Detector, float64, float64) (forget.Trigger, error){
			forget.Detect, forget.DetectRise,
		} {
			for seed := range uint64(5) {
				r := must(NewRestarter(must(detect(make(), 0, 1)), func(int) (*counter, error) {
					return &counter{}, nil
				}))
				cost := must(NewRestartedCost(constantCost{}, must(detect(make(), 0, 1)), Project))
				rng := random.New(seed, "change")
				for i := range 4000 {
					x := .2
					if i >= 2000 {
						x = .8
					}
					x += .1 * (rng.Float64() - .5)
					if must(r.End(x)) {
						if i < 2000 {
							t.Errorf("%s, seed %d: restarted in round %d, before the change", name, seed, i)
						}
					}
					if _, err := cost.Play(rng); err != nil {
						t.Fatal(err)
					}
					if err := cost.Observe(x); err != nil {
						t.Fatal(err)
					}
				}
				if r.Batch() != 1 || cost.Batch() != 1 {
					t.Errorf("%s, seed %d: %d and %d restarts, want 1", name, seed, r.Batch(), cost.Batch())
				}
			}
		}
	}
	k := &keeper{Trigger: forget.Never()}
	r := must(NewRestarter[*counter](k, func(int) (*counter, error) { return &counter{}, nil }))
	for range 9 {
		must(r.End(0))
	}
	if r.Batch() != 3 || k.resets != 3 {
		t.Errorf("%d restarts and %d resets of the caller's trigger, want 3", r.Batch(), k.resets)
	}
}

// constantCost is a learner that always plays the same point.
type constantCost struct{ CostLearner }

func (constantCost) Dim() int                     { return 1 }
func (constantCost) Play(Rand) ([]float64, error) { return []float64{0}, nil }
func (constantCost) Observe(float64) error        { return nil }
func (constantCost) Restart(Mode) error           { return nil }
