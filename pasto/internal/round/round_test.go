package round

import (
	"testing"

	"github.com/noregret/noregret/pasto"
	"github.com/noregret/noregret/pasto/internal/pastotest"
)

// A group of an earlier round may be of an arm without a share, where the learner admits that and
// the host says so. A retired arm is refused all the same.
func TestCheckEarlier(t *testing.T) {
	f := pastotest.Goals(t, 1, false)
	for _, c := range []struct {
		admits, earlier, active bool
		want                    string
	}{
		{true, true, true, ""},
		{true, false, true, "observations[0]: arm 1 has propensity 0 in this round: it cannot have been drawn"},
		{false, true, true, "observations[0]: arm 1 has propensity 0 in this round: it cannot have been drawn"},
		{true, true, false, "observations[0]: arm 1 is retired: archive what comes late"},
	} {
		in := Checker{Earlier: c.admits}
		_, _, err := in.Check(f, []pasto.Observation{{Arm: 1, Metrics: []float64{3}, Earlier: c.earlier}}, 1,
			[]float64{1, 0}, []bool{true, c.active})
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
