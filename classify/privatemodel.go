package classify

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dp"
)

// ModelPrivacy says how a model is differentially private. All of it is public.
type ModelPrivacy struct {
	// Mechanism is tofw or pofw, and Noise the noise of it, as [PrivateOptions.Noise] names it.
	Mechanism string `json:"mechanism"`
	Noise     string `json:"noise"`
	// Epsilon and Delta are the cost of all models of the run together, Rho and MuSquared the same
	// in zCDP and in Gaussian differential privacy, 0 where the mechanism has none.
	Epsilon    float64       `json:"epsilon"`
	Delta      float64       `json:"delta"`
	Accounting dp.Accounting `json:"accounting"`
	Rho        float64       `json:"rho"`
	MuSquared  float64       `json:"mu_squared"`
	// Adjacency and Unit say what is protected.
	Adjacency dp.Adjacency `json:"adjacency"`
	Unit      string       `json:"unit"`
	// The declared constants: see [PrivateOptions].
	Loss           string  `json:"loss"`
	PositiveWeight float64 `json:"positive_weight"`
	Norm           string  `json:"norm"`
	Radius         float64 `json:"radius"`
	Features       float64 `json:"feature_bound"`
	Clip           float64 `json:"clip"`
	ClipNorm       string  `json:"clip_norm"`
	Intercept      bool    `json:"intercept"`
	StepScale      float64 `json:"step_scale"`
	Horizon        int64   `json:"horizon"`
	Batch          int     `json:"batch"`
	// Records is the number of records so far, which replace-one adjacency treats as public.
	Records int64 `json:"records"`
	// Account and Run name the row of the ledger.
	Account string `json:"account"`
	Run     string `json:"run"`
	// Insecure marks noise from a seed, which protects nobody.
	Insecure bool `json:"insecure"`
	// Statement is the claim with its constants, and Text the same as text.
	Statement dp.Statement `json:"statement"`
	Text      string       `json:"text"`
}

// privateAlgorithm is the name of the algorithm in model files.
func privateAlgorithm(mechanism string) string { return "private-" + mechanism }

// checkPrivate checks what a private model has of its own besides Privacy.
func (m *Model) checkPrivate() error {
	if m.Privacy.Mechanism != "tofw" && m.Privacy.Mechanism != "pofw" {
		return noregret.BadInputf("privacy.mechanism", "%q, want tofw or pofw", m.Privacy.Mechanism)
	}
	if want := privateAlgorithm(m.Privacy.Mechanism); m.Algorithm != want {
		return noregret.BadInputf("algorithm", "%q, want %q", m.Algorithm, want)
	}
	if m.Task != Binary || len(m.Labels) != 2 {
		return noregret.BadInputf("labels", "%d labels of %s data, want two of binary data", len(m.Labels), m.Task)
	}
	return nil
}

// check refuses what no private training writes.
func (p *ModelPrivacy) check() error {
	if !slices.Contains(privateNoises, p.Noise) {
		return noregret.BadInputf("privacy.noise", "%q, want one of %s", p.Noise, listOf(privateNoises))
	}
	if p.Loss != privateLogistic && p.Loss != privateSquared {
		return noregret.BadInputf("privacy.loss", "%q, want logistic or squared", p.Loss)
	}
	norm, err := strconv.ParseFloat(p.Norm, 64)
	if err != nil || !(norm >= 1) {
		return noregret.BadInputf("privacy.norm", "%q, want a number from 1 on, or inf", p.Norm)
	}
	for _, c := range []struct {
		name string
		v    float64
		ok   func(float64) bool
		want string
	}{
		{"epsilon", p.Epsilon, aboveZero, wantPositive},
		{"delta", p.Delta, belowOne, wantShare},
		{"rho", p.Rho, atLeast(0), wantNotBelow},
		{"mu_squared", p.MuSquared, atLeast(0), wantNotBelow},
		{"positive_weight", p.PositiveWeight, aboveZero, wantPositive},
		{"radius", p.Radius, aboveZero, wantPositive},
		{"feature_bound", p.Features, aboveZero, wantPositive},
		{"clip", p.Clip, aboveZero, wantPositive},
		{"step_scale", p.StepScale, aboveZero, wantPositive},
		{"horizon", float64(p.Horizon), atLeast(1), wantOne},
		{"batch", float64(p.Batch), atLeast(1), wantOne},
		{"records", float64(p.Records), func(v float64) bool { return v >= 0 && v <= float64(p.Horizon) }, "0 to " +
			"horizon"},
	} {
		if !c.ok(c.v) {
			return noregret.BadInputf("privacy."+c.name, "%v, want %s", c.v, c.want)
		}
	}
	s := &p.Statement
	if s.Epsilon != p.Epsilon || s.Delta != p.Delta || s.Private == p.Insecure || s.String() != p.Text {
		return noregret.BadInputf("privacy.statement", "says something else than the rest of privacy")
	}
	return nil
}

// formatNumber writes a number with the fewest digits, and infinity as inf.
func formatNumber(v float64) string {
	if math.IsInf(v, 1) {
		return "inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func listOf(names []string) string { return strings.Join(names, ", ") }
