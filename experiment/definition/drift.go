package definition

import (
	"fmt"
	"math"

	"github.com/noregret/noregret"
)

// LeastMemory and MostMemory bound the rounds of a memory. A shorter one would hardly know more
// than the last round.
const LeastMemory, MostMemory = 5, 100_000

// Drift fixes by hand how much of the past the learner remembers. Without it the policy pasto has a
// bank of memories and chooses, for each arm and metric, the longest that agrees with all shorter
// ones.
type Drift struct {
	// Kind is "none", which a definition without drift has too.
	Kind string `json:"kind,omitempty" enum:",none"`
	// Memory is the number of rounds that are remembered, 5 to 100000; 0 leaves it to the policy. A
	// round's weight falls by 1/Memory with each round after it. A contextual policy begins anew
	// after so many rounds.
	Memory int64 `json:"memory,omitempty" minimum:"5" maximum:"100000"`
}

// driftForm has what was written before memories, which is refused with what to write now.
type driftForm struct {
	Kind      string   `json:"kind,omitempty"`
	Memory    *int64   `json:"memory,omitempty"`
	Rounds    *int64   `json:"rounds,omitempty"`
	Rate      *float64 `json:"rate,omitempty"`
	Horizon   *int64   `json:"horizon,omitempty"`
	Variation *float64 `json:"variation,omitempty"`
	Detector  *string  `json:"detector,omitempty"`
}

// UnmarshalStrict implements [strictjson.Unmarshaler].
func (x *Drift) UnmarshalStrict(_ byte, decode func(v any) error) error {
	var f driftForm
	if err := decode(&f); err != nil {
		return err
	}
	if err := f.refuse(); err != nil {
		return err
	}
	*x = Drift{Kind: "none"}
	if f.Memory != nil {
		if x.Memory = *f.Memory; x.Memory < LeastMemory || x.Memory > MostMemory {
			return noregret.BadInputf("memory", "%d rounds: want %d to %d", x.Memory, LeastMemory,
				MostMemory)
		}
	}
	return nil
}

// refuse returns an error for a form of drift that is no longer there.
func (f *driftForm) refuse() error {
	write := func(rounds float64) string {
		if rounds = math.Round(rounds); rounds >= LeastMemory && rounds <= MostMemory {
			return fmt.Sprintf("write memory: %v", rounds)
		}
		return fmt.Sprintf("that is a memory of %v rounds: write memory, with %d rounds or more", rounds,
			LeastMemory)
	}
	switch rounds := 0.0; f.Kind {
	case "", "none":
	case "discount":
		if f.Rate == nil || !(*f.Rate > 0 && *f.Rate < 1) {
			return noregret.BadInputf("kind",
				"discount is gone: write memory, the number of rounds that are remembered")
		}
		return noregret.BadInputf("kind", "discount is gone: %s, as 1/rate is the number of rounds that are remembered",
			write(1 / *f.Rate))
	case "window", "restart":
		if f.Rounds != nil {
			rounds = float64(*f.Rounds)
		}
		if rounds == 0 {
			return noregret.BadInputf("kind",
				"%s is gone: write memory, the number of rounds that are remembered", f.Kind)
		}
		return noregret.BadInputf("kind", "%s is gone: %s", f.Kind, write(rounds))
	case "detector", "adaptive":
		return noregret.BadInputf("kind", "%s is gone: leave drift out, as the policy pasto chooses its memory by "+
			"what agrees, or write memory, the number of rounds that are remembered", f.Kind)
	default:
		return noregret.BadInputf("kind", "%q: want memory, the number of rounds that are remembered", f.Kind)
	}
	for _, old := range []struct {
		name string
		has  bool
	}{
		{"rounds", f.Rounds != nil},
		{"rate", f.Rate != nil},
		{"horizon", f.Horizon != nil},
		{"variation", f.Variation != nil},
		{"detector", f.Detector != nil},
	} {
		if old.has {
			return noregret.BadInputf(old.name, "is gone: want memory, the number of rounds that are remembered")
		}
	}
	return nil
}

// checkDrift checks whether the policy can forget.
func checkDrift(d *Definition) error {
	n := d.Drift.Memory
	switch {
	case d.Drift.Kind != "" && d.Drift.Kind != "none":
		return noregret.BadInputf("drift.kind",
			"%q: want memory, the number of rounds that are remembered", d.Drift.Kind)
	case n == 0:
		return nil
	case n < LeastMemory || n > MostMemory:
		return noregret.BadInputf("drift.memory", "%d rounds: want %d to %d", n, LeastMemory, MostMemory)
	case d.Policy.Kind == "fixed":
		return noregret.BadInputf("drift.memory", "%d: a fixed policy forgets nothing", n)
	case d.Arms.Box != nil:
		return noregret.BadInputf("drift.memory", "%d: points of a box are learned from all rounds", n)
	case d.Strict:
		return noregret.BadInputf("drift.memory", "%d with strict: its bounds are for all rounds, want no memory", n)
	case d.Changes == "none":
		return noregret.BadInputf("drift.memory",
			"%d with changes none, which takes all rounds: want one of the two", n)
	}
	return nil
}

// AllRounds reports whether the policy pasto takes all rounds as they are: strict bounds, private
// sums and changes none do.
func (d *Definition) AllRounds() bool { return d.Strict || d.Privacy != nil || d.Changes == "none" }
