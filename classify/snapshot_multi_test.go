package classify

import (
	"encoding"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/internal/testsize"
	"github.com/noregret/noregret/oco"
)

// manyLearner is the common interface of the learners of several outputs.
type manyLearner interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
	NextPass()
	Finish() error
}

// manyLearners makes one of each, with a function that feeds it a two-class row, whose class and
// feature 2 define three classes.
var manyLearners = map[string]func(c Config) (manyLearner, func(x Example, class int) error, error){
	"multiclass min": func(c Config) (manyLearner, func(Example, int) error, error) {
		return newManyClasses(MulticlassConfig{Config: c, Classes: 3, Measure: measure.MulticlassMin{}})
	},
	"multiclass gmean, known shares": func(c Config) (manyLearner, func(Example, int) error, error) {
		return newManyClasses(MulticlassConfig{
			Config: c, Classes: 3, Measure: measure.MulticlassGMean{},
			Shares: []float64{0.2, 0.3, 0.5},
		})
	},
	"micro": func(c Config) (manyLearner, func(Example, int) error, error) { return newManyLabels(c, MicroAverage) },
	"macro": func(c Config) (manyLearner, func(Example, int) error, error) { return newManyLabels(c, MacroAverage) },
	"one versus rest": func(c Config) (manyLearner, func(Example, int) error, error) {
		l, err := NewMultilabel(MultilabelConfig{
			STAMPConfig: STAMPConfig{Config: c, Measure: measure.FBeta{B: 1}, FirstEpoch: 20}, Labels: 3,
			Exclusive: true,
		})
		return l.(manyLearner), func(x Example, class int) error {
			return l.Observe(LabelsExample{Index: x.Index, Value: x.Value, Labels: []int{class}, Weight: x.Weight})
		}, err
	},
}

func newManyClasses(opt MulticlassConfig) (manyLearner, func(Example, int) error, error) {
	l, err := NewMulticlassSPADE(opt)
	return l, func(x Example, class int) error {
		return l.Observe(LabelsExample{Index: x.Index, Value: x.Value, Labels: []int{class}, Weight: x.Weight})
	}, err
}

func newManyLabels(c Config, average LabelAverage) (manyLearner, func(Example, int) error, error) {
	l,
		err := NewMultilabel(MultilabelConfig{STAMPConfig: STAMPConfig{
		Config: c, Measure: measure.FBeta{B: 1},
		FirstEpoch: 20,
	}, Labels: 3, Average: average})
	if err != nil {
		return nil, nil, err
	}
	return l.(manyLearner), func(x Example, class int) error {
		return l.Observe(LabelsExample{
			Index: x.Index, Value: x.Value,
			Labels: []int{class, (class + 1) % 3}[:1+class%2], Weight: x.Weight,
		})
	}, nil
}

// manyRows are rows with three classes.
func manyRows(seed uint64, n int) (rows []Example, classes []int) {
	rows = stream(seed, n)
	for i, x := range rows {
		class := 0
		if x.Positive {
			class = 1
		} else if i%3 == 0 {
			class = 2
		}
		classes = append(classes, class)
	}
	return rows, classes
}

// A snapshot of each of them, taken at any point, continues bit for bit, also when restored into a
// learner in another state.
func TestManyRestoreContinues(t *testing.T) {
	testsize.NoRace(t)
	t.Parallel()
	rows, classes := manyRows(8, 420)
	others, otherClasses := manyRows(9, 300)
	for _, c := range []Config{
		{BurnIn: 60},
		{BurnIn: 60, Averaging: AverageLastPass, Lambda: 0.01},
		{MeanSquare: 2, Scaling: Identity(13), BurnIn: 60},
		{BurnIn: 60, Steps: StepsBetting},
	} {
		for name, build := range manyLearners {
			fresh := func() (manyLearner, func(Example, int) error) {
				l, observe, err := build(c)
				if err != nil {
					t.Fatal(err)
				}
				return l, observe
			}
			run := func(l manyLearner, observe func(Example, int) error, from, to int) {
				for i := from; i < to; i++ {
					if err := observe(rows[i], classes[i]); err != nil {
						t.Fatal(err)
					}
					if i%150 == 149 {
						l.NextPass()
					}
				}
			}
			whole, observe := fresh()
			run(whole, observe, 0, len(rows))
			want := mustMarshal(t, whole)
			a, learn := fresh()
			for i := range rows {
				if i%testsize.Of(11, 55) == 0 {
					b, observe := fresh()
					for j := range others[:3*(i%100)] {
						if err := observe(others[j], otherClasses[j]); err != nil {
							t.Fatal(err)
						}
					}
					if err := b.UnmarshalBinary(mustMarshal(t, a)); err != nil {
						t.Fatalf("%s, cut at %d: %v", name, i, err)
					}
					run(b, observe, i, len(rows))
					if string(mustMarshal(t, b)) != string(want) {
						t.Fatalf("%s, cut at %d: the restored learner ends elsewhere", name, i)
					}
				}
				run(a, learn, i, i+1)
			}
		}
	}
}

// Damaged snapshots and those of other learners or other options are refused and change nothing.
func TestManyBadSnapshotsAreRefused(t *testing.T) {
	rows, classes := manyRows(8, 200)
	states := map[string][]byte{}
	for name, build := range manyLearners {
		for _, n := range []int{6, 200} {
			l, observe, err := build(Config{BurnIn: 60})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if err := observe(rows[i], classes[i]); err != nil {
					t.Fatal(err)
				}
			}
			state := mustMarshal(t, l)
			states[name] = state
			if n == 6 { // the later ones are larger, and the checksum works the same
				allDamage(state, func(bad []byte, what string, at int) {
					if err := l.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
						t.Fatalf("%s, %s %d of %d bytes: got %v, want an error of code bad_input", name, what, at,
							len(state), err)
					}
				})
			}
			if string(mustMarshal(t, l)) != string(state) {
				t.Errorf("%s: a refused snapshot changed the learner", name)
			}
		}
	}
	for name, build := range manyLearners {
		for _, c := range []Config{{BurnIn: 60}, {BurnIn: 61}, {BurnIn: 60, Scaling: Identity(13)}} {
			for of, state := range states {
				l, _, err := build(c)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.UnmarshalBinary(state); (err == nil) != (name == of && c.BurnIn == 60 && c.Scaling == nil) {
					t.Errorf("a snapshot of %s into %s with %+v: %v", of, name, c, err)
				}
			}
		}
	}
}

// States that no learner can be in are refused, even with a right checksum.
func TestManyImpossibleSnapshotsAreRefused(t *testing.T) {
	rows, classes := manyRows(8, 400)
	build := func(name string, n int) manyLearner {
		l, observe, err := manyLearners[name](Config{BurnIn: 60})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if err := observe(rows[i], classes[i]); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	refused := func(l manyLearner, kind, what string, state any) {
		t.Helper()
		bad, err := seal(kind, state)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.UnmarshalBinary(bad); noregret.CodeOf(err) != noregret.BadInput {
			t.Errorf("%s: got %v, want an error of code bad_input", what, err)
		}
	}
	for what, tc := range map[string]struct {
		n     int
		spoil func(s *multiclassState)
	}{
		"a class too many":  {6, func(s *multiclassState) { s.Common.Buffer[1].Labels[0] = 3 }},
		"values missing":    {6, func(s *multiclassState) { s.Common.Buffer[1].Value = nil }},
		"an output missing": {400, func(s *multiclassState) { s.Common.Lins = s.Common.Lins[:2] }},
		"outputs of unequal lengths": {400, func(s *multiclassState) {
			s.Common.Lins[1] = oco.LinearDescentState{Scale: 1, BiasFeature: 1, Ball: s.Common.Lins[0].Ball}
		}},
		"a dual too short":             {400, func(s *multiclassState) { s.Alpha = s.Alpha[:1] }},
		"a negative dual":              {400, func(s *multiclassState) { s.Alpha[0] = -1 }},
		"counts missing":               {400, func(s *multiclassState) { s.Seen = nil }},
		"no step":                      {400, func(s *multiclassState) { s.Eta0 = 0 }},
		"no moments":                   {400, func(s *multiclassState) { s.Common.Moments = nil }},
		"examples held back at step 1": {400, func(s *multiclassState) { s.Common.Buffer = make([]LabelsExample, 1) }},
	} {
		l := build("multiclass min", tc.n).(*MulticlassSPADE)
		var s multiclassState
		if err := unseal(mustMarshal(t, l), l.kind(), &s); err != nil {
			t.Fatal(err)
		}
		tc.spoil(&s)
		refused(l, l.kind(), what, s)
	}
	for what, tc := range map[string]struct {
		n     int
		spoil func(s *microState)
	}{
		"a label too many":     {6, func(s *microState) { s.Common.Buffer[1].Labels = []int{3} }},
		"a label twice":        {6, func(s *microState) { s.Common.Buffer[1].Labels = []int{1, 1} }},
		"unsorted indices":     {6, func(s *microState) { x := s.Common.Buffer[1].Index; x[0], x[1] = x[1], x[0] }},
		"a model missing":      {400, func(s *microState) { s.Current = s.Current[:2] }},
		"models missing":       {400, func(s *microState) { s.Points[0].Models = nil }},
		"a large model":        {400, func(s *microState) { s.Points[0].Models[1].Weights = make([]float64, 99) }},
		"no level-stage model": {400, func(s *microState) { s.Stages.LevelStage, s.Current = true, nil }},
		"labels missing":       {400, func(s *microState) { s.Seen = s.Seen[:1] }},
		"a level of -1":        {400, func(s *microState) { s.Stages.Level = -1 }},
		"a share of 0":         {400, func(s *microState) { s.Common.Share = 0 }},
		"checkpoints": {400, func(s *microState) {
			s.Points = make([]MultilabelCheckpoint, maxCheckpoints+1)
		}},
	} {
		l := build("micro", tc.n).(*MicroSTAMP)
		var s microState
		if err := unseal(mustMarshal(t, l), l.kind(), &s); err != nil {
			t.Fatal(err)
		}
		tc.spoil(&s)
		refused(l, l.kind(), what, s)
	}
	l := build("macro", 400).(*MacroSTAMP)
	var s macroState
	if err := unseal(mustMarshal(t, l), "macro-stamp of 3", &s); err != nil {
		t.Fatal(err)
	}
	before := mustMarshal(t, l)
	refused(l, "macro-stamp of 3", "a label missing", macroState{s.Labels[:2]})
	first := mustMarshal(t, build("macro", 6).(*MacroSTAMP).labels[0])
	refused(l, "macro-stamp of 3", "a damaged label after a good one",
		macroState{[][]byte{first, s.Labels[1], s.Labels[2][:50]}})
	if string(mustMarshal(t, l)) != string(before) {
		t.Error("a refused snapshot changed the learner")
	}
}
