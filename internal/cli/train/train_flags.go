package train

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/progress"
)

// registerSettings adds the flags of the settings with the given names, or of all settings, which
// change opt. A new setting in package classify is a flag of train without a change here.
func registerSettings(s *pflag.FlagSet, opt *classify.Options, names ...string) {
	for _, x := range classify.Settings() {
		if len(names) > 0 && !slices.Contains(names, x.Name) {
			continue
		}
		switch p := x.Value(opt).(type) {
		case *int:
			s.IntVar(p, x.Name, *p, x.Doc)
		case *uint64:
			s.Uint64Var(p, x.Name, *p, x.Doc)
		case *float64:
			s.Float64Var(p, x.Name, *p, x.Doc)
		case *bool:
			s.BoolVar(p, x.Name, *p, x.Doc)
		case classify.FlagValue:
			s.Var(p, x.Name, x.Doc)
		default:
			panic(fmt.Sprintf("setting %s is a %T", x.Name, p)) // a bug in this program
		}
	}
}

// checkSettings returns an error, before the data are read, for a setting out of its range; the
// error names the flag.
func checkSettings(flags *pflag.FlagSet, opt *classify.Options) error {
	for _, x := range classify.Settings() {
		if flags.Lookup(x.Name) == nil {
			continue
		}
		if v, ok := x.InRange(opt); !ok {
			return command.OutOfRange("--"+x.Name, v, x.Want)
		}
	}
	if flags.Changed("steps") && flags.Changed("rate") &&
		(opt.Config.Steps == classify.StepsBetting || opt.Config.Step == 0) {
		return noregret.Errorf(noregret.Usage, "--rate",
			"excludes --steps unless it is a number: auto chooses the steps "+
				"itself")
	}
	return nil
}

// trainFlags are the flags of training that are not settings of package classify.
type trainFlags struct {
	measure, algorithm string
	opt                classify.Options

	flags *pflag.FlagSet
}

func newTrainFlags() *trainFlags {
	return &trainFlags{algorithm: "auto", opt: classify.Options{Seed: 1}.EnsureDefaults()}
}

// AddFlags declares the flags of a command that trains for one measure.
func (f *trainFlags) AddFlags(s *pflag.FlagSet) {
	f.addTo(s)
}

// addTo declares the flags with those of the settings of the given names, or of all.
func (f *trainFlags) addTo(s *pflag.FlagSet, settings ...string) {
	s.StringVar(&f.measure, "measure", f.measure, `measure to maximize (see "noregret measures")`)
	s.StringVar(&f.algorithm, "algorithm", f.algorithm,
		`algorithm (see "noregret algorithms"); auto chooses features, learner and threshold by cross-fitting `+
			`(spade, stamp or sgd-logistic, by the measure, if a setting of theirs is given)`)
	registerSettings(s, &f.opt, settings...)
	f.flags = s
}

// options returns the options that the flags ask for, without the measure. The values are in range.
func (f *trainFlags) options() (o classify.Options, err error) {
	if err := checkSettings(f.flags, &f.opt); err != nil {
		return o, err
	}
	o = f.opt
	o.Algorithm = f.algorithm
	return o, nil
}

// withFlag sets the place of a usage error to the name of the flag.
func withFlag(err error) error {
	e, ok := errors.AsType[*noregret.Error](err)
	places := []string{"algorithm", "positive", "calibration", "class-weight"}
	if !ok || e.Code != noregret.Usage || !slices.Contains(places, e.Place) {
		return err
	}
	flag := *e
	flag.Place = "--" + e.Place
	return &flag
}

// fitProgress returns a callback for [classify.Options.Progress].
func fitProgress(p *progress.Reporter) func(classify.Progress) {
	last := int64(math.MaxInt64)
	return func(now classify.Progress) {
		// The first report, or another run of the same training, which counts from 0.
		anew := now.Examples < last
		last = now.Examples
		if anew {
			p.Start("train "+now.Algorithm, now.Total)
			return // the duration of the steps so far is unknown
		}
		p.Pass(now.Pass)
		p.Metric(now.Measure, now.Value)
		p.Update(now.Examples)
	}
}
