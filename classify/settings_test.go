package classify

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify/measure"
)

// Fit refuses a value out of a setting's range with the words of the table, and no name is in the
// table twice.
func TestSettingsRanges(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings {
		if seen[s.Name] {
			t.Errorf("%s is in the table twice", s.Name)
		}
		seen[s.Name] = true
		for _, v := range []float64{-2, 3, math.NaN(), math.Inf(1)} {
			o := Options{Measure: measure.FBeta{B: 1}}
			switch p := s.Value(&o).(type) {
			case *float64:
				*p = v
			case *int:
				if v-v != 0 {
					continue
				}
				*p = int(v)
			case shareFlag:
				*p.value = &v
			case openFlag:
				if v-v != 0 {
					continue
				}
				*p.value = new(int(v))
			case levelFlag:
				if v-v != 0 {
					continue
				}
				o.LevelPositives = new(int(v))
			default:
				continue
			}
			_, ok := s.InRange(&o)
			err := o.Validate(Binary)
			if !ok && (noregret.CodeOf(err) != noregret.Usage || !strings.Contains(err.Error(), s.Want)) {
				t.Errorf("%s of %v: %v, want an error with %q", s.Name, v, err, s.Want)
			}
			if ok && err != nil && strings.Contains(err.Error(), s.Want) {
				t.Errorf("%s of %v is in range but refused: %v", s.Name, v, err)
			}
		}
	}
}

// A setting that an algorithm does not have is refused with its name, a value that asks for nothing
// is not.
func TestSettingsOfAlgorithms(t *testing.T) {
	macro := multiMeasures(t, false, "macro_f1")[0]
	for task, opt := range map[Task]Options{
		Binary:     {Measure: measure.FBeta{B: 1}, Algorithm: "logistic"},
		Multiclass: {Measure: macro, Algorithm: "logistic"},
	} {
		alg := algorithmOf(task, "logistic")
		for _, s := range settings {
			if s.of == nil || s.of(alg) {
				continue
			}
			for _, given := range []bool{false, true} {
				o := opt
				switch p := s.field(&o).(type) {
				case *bool:
					*p = given
				case *int, *float64: // with a range that 3 is in
					if given {
						reflect.ValueOf(p).Elem().Set(reflect.ValueOf(3).Convert(reflect.TypeOf(p).Elem()))
					}
				case openFlag:
					*p.value = new(1)
					if given {
						*p.value = new(3)
					}
				case driftFlag:
					if given {
						o.Drift = parseDrift(t, "discount:window=100")
					}
				case FlagValue:
					names := strings.Split(p.Type(), "|")
					name := names[0]
					if given {
						name = names[1]
					}
					if err := p.Set(name); err != nil {
						t.Fatal(err)
					}
				}
				if s.Name == "prior-positives" && given {
					o.PriorPositives = 0.5
				}
				_, err := o.resolve(task)
				refused := noregret.CodeOf(err) == noregret.Usage && strings.Contains(err.Error(), s.call())
				if refused != given {
					t.Errorf("%s of %s data, given %v: %v", s.Name, task, given, err)
				}
			}
		}
	}
}

// Settings that are written as text read back as they are written.
func TestSettingsAsText(t *testing.T) {
	for name, values := range map[string][]string{
		"threshold": thresholdRules, "steps": stepRules, "averaging": averagings, "level-positives": {"0", "-1", "7"},
		"rate": {"auto", "0.25", "auto", "default", "1e-05"},
	} {
		s := settingOf(name)
		var o Options
		flag := s.Value(&o).(FlagValue)
		for _, v := range values {
			if err := flag.Set(v); err != nil || flag.String() != v {
				t.Errorf("%s %s: %q, %v", name, v, flag.String(), err)
			}
		}
		before := flag.String()
		if err := flag.Set("-3"); err == nil || flag.String() != before {
			t.Errorf("%s -3: %q, %v", name, flag.String(), err)
		}
	}
}

// An option that may be left open is nil by default and for a 0 in a flag, except for the share to
// hold out, of which 0 is none. A value out of range is stored, and refused by the range.
func TestOpenSettings(t *testing.T) {
	var o Options
	flag := func(name string) FlagValue {
		s := settingOf(name)
		return s.Value(&o).(FlagValue)
	}
	set := func(name, text string) {
		t.Helper()
		if err := flag(name).Set(text); err != nil || flag(name).String() != text {
			t.Errorf("%s %s: reads %s, %v", name, text, flag(name).String(), err)
		}
	}
	for _, name := range []string{"passes", "folds", "holdout"} {
		if s := settingOf(name); flag(name).String() != "0" || s.check(&o) != nil {
			t.Errorf("%s left open is %s, %v", name, flag(name).String(), s.check(&o))
		}
		set(name, "-1")
		if s := settingOf(name); s.check(&o) == nil {
			t.Errorf("%s of -1 is accepted", name)
		}
		if err := flag(name).Set("half"); err == nil || flag(name).String() != "-1" {
			t.Errorf("%s half: %v, %s", name, err, flag(name).String())
		}
		set(name, "0")
	}
	if o.Passes != nil || o.Folds != nil || !o.noHoldout() {
		t.Errorf("flags of 0 give %v passes, %v folds, holdout %v", o.Passes, o.Folds, o.Holdout)
	}
	set("passes", "7")
	set("folds", "3")
	set("holdout", "0.25")
	if *o.Passes != 7 || *o.Folds != 3 || o.holdout() != 0.25 {
		t.Errorf("%d passes, %d folds, holdout %v", *o.Passes, *o.Folds, *o.Holdout)
	}
}

// A LevelPositives of 0 means the same to Fit and to NewSTAMP: the paper's stages of equal length.
func TestLevelPositivesOfZero(t *testing.T) {
	xs := stream(63, 3000)
	o := Options{Measure: measure.FBeta{B: 1}, LevelPositives: new(0), Config: Config{Steps: StepsSqrt}}
	r, err := o.resolve(Binary)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.alg.learner(&r, r.learner)
	if err != nil {
		t.Fatal(err)
	}
	paper := newSTAMP(t, STAMPConfig{Measure: measure.FBeta{B: 1}})
	for _, x := range xs {
		for _, l := range []Learner{l, paper} {
			if err := l.Observe(x); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(paper.points) == 0 || !sameModel(l.Model(), paper.Model()) {
		t.Errorf("%d epochs, the models differ", len(paper.points))
	}
	if r, err = (Options{Measure: measure.FBeta{B: 1}}).resolve(Binary); err != nil || r.levelPositives != 100 {
		t.Errorf("by default %d positives, %v", r.levelPositives, err)
	}
}

// The constructors refuse what the table of parameters excludes, with the words of the table.
func TestParameters(t *testing.T) {
	q, f1, worst := measure.QMean{}, measure.FBeta{B: 1}, measure.MulticlassMin{}
	classes := func(c MulticlassConfig) error {
		c.Measure = worst
		_, err := NewMulticlassSPADE(c)
		return err
	}
	_, step := NewSPADE(SPADEConfig{Measure: q, DualStep: math.NaN()})
	_, positives := NewSTAMP(STAMPConfig{Measure: f1, MinPositives: -1})
	_, warm := NewSTAMP(STAMPConfig{Measure: f1, WarmStart: math.Inf(1)})
	_, labels := NewMultilabel(MultilabelConfig{STAMPConfig: STAMPConfig{Measure: f1}})
	_, average := NewMultilabel(MultilabelConfig{STAMPConfig: STAMPConfig{Measure: f1}, Labels: 2, Average: 3})
	_, rest := NewMultilabel(MultilabelConfig{STAMPConfig: STAMPConfig{Measure: f1}, Labels: 1, Exclusive: true})
	for want, err := range map[string]error{
		"dual step is NaN, want " + paramDualStep.want:      step,
		"positives in a level stage is -1, want at least 1": positives,
		"starting level is +Inf, want a number in [0, 1]":   warm,
		"number of labels is 0, want at least 1":            labels,
		"average is 3, want the macro or the micro average": average,
		"number of classes is 1, want at least 2":           rest,
		"number of classes is 0, want at least 2":           classes(MulticlassConfig{}),
		"share of class 1 is 1, want a number in (0, 1)": classes(
			MulticlassConfig{Classes: 2, Shares: []float64{0.5, 1}}),
		"exponent of ε is 1, want a number in (0, 1)": classes(
			MulticlassConfig{Classes: 2, EpsExponent: 1}),
		"number of rows between models is -1, want at least 0": StreamOptions{
			Fit:       Options{Measure: f1},
			SaveEvery: -1,
		}.Validate(),
		"splits is 0, want at least 1":                             checkSplits(0, 0.5),
		"share of the training part is 1, want a number in (0, 1)": checkSplits(1, 1),
	} {
		if noregret.CodeOf(err) != noregret.Usage || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
