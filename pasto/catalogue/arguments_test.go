package catalogue

import (
	"testing"

	"github.com/noregret/noregret/pasto/ascent"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A horizon below one round is refused where the schedule needs one, and is nothing to the others.
func TestHorizon(t *testing.T) {
	f := pastotest.Goals(t, 5, false, 0)
	for _, e := range Algorithms() {
		for rounds, want := range map[int]string{
			0:       "rounds: 0: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
			-7:      "rounds: -7: this algorithm's step is 1/√T: want a horizon T of at least 1 round",
			1:       "",
			1 << 30: "",
		} {
			l, err := New(e.Name, f, 2, rounds, nil)
			if want != "" && e.Name == "theorem" {
				pastotest.Same(t, err, want)
			} else if err != nil || l.Arms() != 2 {
				t.Errorf("%s, %d rounds: %v", e.Name, rounds, err)
			}
		}
	}
	for _, rounds := range []int{0, -1} {
		if _, err := ascent.New(f, 2, ascent.TheoremOptions(1, rounds)); err == nil {
			t.Errorf("the theorem's options for %d rounds are taken", rounds)
		}
	}
}
