package classify

import (
	"crypto/sha256"
	"encoding"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
)

// mustMarshal returns the snapshot of a learner.
func mustMarshal(t *testing.T, l encoding.BinaryMarshaler) []byte {
	t.Helper()
	state, err := l.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// Every single-bit flip of a snapshot, every cut and every addition is refused, and leaves the
// learner as it was.
func TestDamagedSnapshotsAreRefused(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	eachLearner(t, Config{BurnIn: 60}, func(t *testing.T, build func() Learner) {
		for _, n := range []int{20, 400} {
			a := build()
			feed(t, a, stream(4, n))
			state := mustMarshal(t, a)
			allDamage(state, func(bad []byte, what string, at int) {
				if err := a.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
					t.Fatalf("after %d examples, %s %d of %d bytes: got %v, want an error of code bad_input", n, what,
						at, len(state), err)
				}
			})
			if string(mustMarshal(t, a)) != string(state) {
				t.Error("a refused snapshot changed the learner")
			}
		}
	})
}

// allDamage calls f with every single-bit flip of state, every prefix, and with a byte too many; in
// the short form with one flipped bit of every byte and every seventh prefix.
func allDamage(state []byte, f func(bad []byte, what string, at int)) {
	bad := append([]byte(nil), state...)
	for i := range bad {
		for k := range testsize.Of(8, 1) {
			bit := (i + k) % 8
			bad[i] ^= 1 << bit
			f(bad, "flipped byte", i)
			bad[i] ^= 1 << bit
		}
		if i%testsize.Of(1, 7) == 0 {
			f(state[:i], "cut at", i)
		}
	}
	f(append(bad, 0), "added to", len(state))
}

// A snapshot fits only a learner with the same options, given scalings included.
func TestSnapshotsOfOtherOptionsAreRefused(t *testing.T) {
	scaling := func(center, inverse float64) *Scaling {
		s := Identity(13)
		s.Center[12], s.Inverse[12] = center, inverse
		return s
	}
	configs := []Config{
		{},
		{Dim: 13},
		{MaxDim: 50},
		{BurnIn: 60},
		{Positives: 0.2},
		{PriorWeight: 2},
		{PriorWeight: 2, PriorShare: 0.1},
		{Decay: 0.01},
		{MeanWeight: 1},
		{Averaging: AverageNone},
		{Lambda: 0.1},
		{Radius: 1},
		{Step: 0.1},
		{StepScale: 2},
		{NoIntercept: true},
		{MaxExampleWeight: 9},
		{MeanSquare: 3},
		{Scaling: Identity(13)},
		{Scaling: Identity(12)},
		{Scaling: scaling(0, 2)},
		{Scaling: scaling(1, 1)},
		{Scaling: scaling(2, 1)},
	}
	for name, build := range learners {
		var states [][]byte
		for _, c := range configs {
			l, err := build(c)
			if err != nil {
				t.Fatal(err)
			}
			states = append(states, mustMarshal(t, l))
		}
		for i, c := range configs {
			for j, state := range states {
				l, err := build(c)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.UnmarshalBinary(state); (err == nil) != (i == j) {
					t.Errorf("%s: a snapshot of %+v into %+v: %v", name, configs[j], c, err)
				}
			}
		}
	}
}

// A snapshot with a right checksum whose state no learner can be in is refused as well, so that no
// method panics later.
func TestImpossibleSnapshotsAreRefused(t *testing.T) {
	newSTAMP := func() *STAMP {
		l,
			err := NewSTAMP(STAMPConfig{
			Measure: measure.FBeta{B: 1}, FirstEpoch: 20,
			Config: Config{BurnIn: 60, MaxDim: 40},
		})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	nan := math.NaN()
	for name, tc := range map[string]struct {
		n     int
		spoil func(s *learnerState)
	}{
		"no moments in the burn-in":  {20, func(s *learnerState) { s.Common.Moments = nil }},
		"no moments later":           {600, func(s *learnerState) { s.Common.Moments = nil }},
		"moments of unequal lengths": {20, func(s *learnerState) { s.Common.Moments.M2 = nil }},
		"too many moments": {20, func(s *learnerState) {
			m := s.Common.Moments
			m.M2 = make([]float64, 41)
			m.Mean, m.Weight = m.M2, m.M2
		}},
		"a moment that is none": {20, func(s *learnerState) { s.Common.Moments.Mean[0] = nan }},
		"ready at once":         {20, func(s *learnerState) { s.Common.Ready = true }},
		"not ready any more":    {600, func(s *learnerState) { s.Common.Ready = false }},
		"values missing":        {20, func(s *learnerState) { s.Common.Buffer[3].Value = nil }},
		"a huge index": {20, func(s *learnerState) {
			x := s.Common.Buffer[3].Index
			x[len(x)-1] = 1 << 31
		}},
		"unsorted indices":           {20, func(s *learnerState) { slices.Reverse(s.Common.Buffer[3].Index) }},
		"a value that is none":       {20, func(s *learnerState) { s.Common.Buffer[3].Value[0] = float32(nan) }},
		"a weight of 0":              {20, func(s *learnerState) { s.Common.Buffer[3].Weight = 0 }},
		"held examples gone":         {20, func(s *learnerState) { s.Common.Buffer = nil }},
		"held examples later":        {600, func(s *learnerState) { s.Common.Buffer = make([]LabelsExample, 1) }},
		"vectors of unequal lengths": {600, func(s *learnerState) { s.Common.Lins[0].U = s.Common.Lins[0].U[1:] }},
		"averages of another length": {600, func(s *learnerState) { s.Common.Lins[0].Acc = make([]float64, 3) }},
		"too many features": {600, func(s *learnerState) {
			l := &s.Common.Lins[0]
			l.V = make([]float64, 41)
			l.U, l.Inv, l.Mean, l.Acc = l.V, l.V, l.V, nil
		}},
		"a weight that is none":    {600, func(s *learnerState) { s.Common.Lins[0].V[2] = nan }},
		"a scale of 0":             {600, func(s *learnerState) { s.Common.Lins[0].Inv[2] = 0 }},
		"another constant feature": {600, func(s *learnerState) { s.Common.Lins[0].BiasFeature = 7 }},
		"another radius":           {600, func(s *learnerState) { s.Common.Lins[0].Ball = 7 }},
		"a negative time":          {600, func(s *learnerState) { s.Common.T = -1 }},
		"a share of 1":             {600, func(s *learnerState) { s.Common.Share = 1 }},
		"no mean square":           {600, func(s *learnerState) { s.Common.MeanSquare = 0 }},
		"a count that is none":     {600, func(s *learnerState) { s.Common.Pos = nan }},
		"no STAMP part":            {600, func(s *learnerState) { s.STAMP = nil }},
		"a level of 2":             {600, func(s *learnerState) { s.STAMP.Level = 2 }},
		"a level that is none":     {600, func(s *learnerState) { s.STAMP.Level = nan }},
		"a stage of 0":             {600, func(s *learnerState) { s.STAMP.Stage = 0 }},
		"an example of -1":         {600, func(s *learnerState) { s.STAMP.Done = -1 }},
		"a level stage without model": {600, func(s *learnerState) {
			s.STAMP.LevelStage, s.STAMP.Current = true, nil
		}},
		"a level stage in the burn-in": {20, func(s *learnerState) {
			s.STAMP.LevelStage, s.STAMP.Current = true, &Linear{}
		}},
		"a model of many features":  {600, func(s *learnerState) { s.STAMP.Current.Weights = make([]float64, 99) }},
		"a checkpoint that is none": {600, func(s *learnerState) { s.STAMP.Points[0].Model.Intercept = nan }},
		"too many checkpoints": {600, func(s *learnerState) {
			s.STAMP.Points = make([]Checkpoint, maxCheckpoints+1)
		}},
		"coefficients that are none": {600, func(s *learnerState) { s.STAMP.Coef.A[0] = nan }},
		"a negative weight":          {600, func(s *learnerState) { s.STAMP.KPos = -1 }},
		"a negative count":           {600, func(s *learnerState) { s.STAMP.Counts.TP = -1 }},
	} {
		a := newSTAMP()
		feed(t, a, stream(4, tc.n))
		var s learnerState
		if err := unseal(mustMarshal(t, a), a.kind(), &s); err != nil {
			t.Fatal(err)
		}
		good, err := seal(a.kind(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := newSTAMP().UnmarshalBinary(good); err != nil {
			t.Fatal(err)
		}
		tc.spoil(&s)
		bad, err := seal(a.kind(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := newSTAMP().UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: got %v, want an error of code bad_input", name, err)
		}
	}
	spade, err := NewSPADE(SPADEConfig{Measure: measure.QMean{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*spadeState{nil, {Alpha: -1}, {Alpha: nan}, {SumA: math.Inf(1)}} {
		s, err := spade.save()
		if err != nil {
			t.Fatal(err)
		}
		s.SPADE = d
		bad, err := seal(spade.kind(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := spade.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("dual %+v: got %v, want an error of code bad_input", d, err)
		}
	}
	// A right checksum over bytes that are no snapshot.
	junk := []byte(snapshotMagic + "junk")
	sum := sha256.Sum256(junk)
	if err := spade.UnmarshalBinary(append(junk, sum[:]...)); noregret.CodeOf(err) != noregret.BadInput ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("junk: got %v", err)
	}
}

// Restoring continues bit for bit from any example of a short run, in every state of a stage, also
// into a learner in another state.
func TestRestoreContinuesFromAnywhere(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	xs := stream(8, 420)
	for _, c := range []Config{
		{BurnIn: 50},
		{Positives: 0.2, MeanSquare: 2, Scaling: Identity(13)},
		{BurnIn: 50, Decay: 0.01, PriorWeight: 3, PriorShare: 0.3},
	} {
		eachLearner(t, c, func(t *testing.T, build func() Learner) {
			whole := build()
			feed(t, whole, xs)
			want := mustMarshal(t, whole)
			a := build()
			for i, x := range xs {
				if i%testsize.Of(7, 35) == 0 {
					b := build()
					feed(t, b, stream(9, 5*(i%60)))
					if err := b.UnmarshalBinary(mustMarshal(t, a)); err != nil {
						t.Fatal(err)
					}
					feed(t, b, xs[i:])
					if string(mustMarshal(t, b)) != string(want) {
						t.Fatalf("cut at %d: the restored learner ends elsewhere", i)
					}
				}
				feed(t, a, []Example{x})
			}
		})
	}
}

// A learner that has diverged has no snapshot.
func TestNoSnapshotAfterDivergence(t *testing.T) {
	l, err := NewSGD(SGDConfig{Config: Config{Step: 1e200, Scaling: Identity(1), MeanSquare: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 10; i++ {
		err = l.Observe(Example{Index: []uint32{0}, Value: []float32{1}, Positive: i%2 == 0, Weight: 1})
	}
	if noregret.CodeOf(err) != noregret.Diverged {
		t.Fatalf("got %v, want a divergence", err)
	}
	if _, err := l.MarshalBinary(); noregret.CodeOf(err) != noregret.Diverged {
		t.Errorf("got %v, want an error of code diverged", err)
	}
}

// A snapshot restored into a fresh learner continues bit for bit, at any moment: in the burn-in, at
// its end, later.
func TestRestoreContinues(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	xs := stream(3, 3000)
	for _, c := range []Config{{}, {Radius: 2}, {Lambda: 0.01, Averaging: AverageLastPass}} {
		eachLearner(t, c, func(t *testing.T, build func() Learner) {
			cuts := []int{0, 50, 199, 200, 777, 1500}
			for _, cut := range cuts[testsize.Of(0, 2):] {
				a := build()
				feed(t, a, xs[:cut])
				state, err := a.MarshalBinary()
				if err != nil {
					t.Fatal(err)
				}
				b := build()
				if err := b.UnmarshalBinary(state); err != nil {
					t.Fatal(err)
				}
				feed(t, a, xs[cut:])
				feed(t, b, xs[cut:])
				if !sameModel(a.Model(), b.Model()) {
					t.Errorf("cut at %d: the restored learner ends elsewhere", cut)
				}
			}
		})
	}
}

func TestSnapshotRefused(t *testing.T) {
	eachLearner(t, Config{}, func(t *testing.T, build func() Learner) {
		a := build()
		feed(t, a, stream(4, 500))
		state, err := a.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		before := a.Model()
		other, err := NewSGD(SGDConfig{Weights: &ClassWeights{Positive: 3, Negative: 1}})
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{
			"empty": nil, "cut": state[:len(state)/2], "newer": append([]byte("noregret-learner-3\n"), state[19:]...),
			"garbage": []byte("hello"),
		} {
			if err := a.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
				t.Errorf("%s: got %v, want an error of code bad_input", name, err)
			}
		}
		if err := other.UnmarshalBinary(state); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("other options: got %v", err)
		}
		if !sameModel(a.Model(), before) {
			t.Error("a refused snapshot changed the learner")
		}
	})
}
