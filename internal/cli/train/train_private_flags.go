package train

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/internal/cli/dataflags"
)

// privateFlags are the flags of "noregret train" that only a private training has.
type privateFlags struct {
	on                           bool
	epsilon, delta               float64
	horizon                      int64
	batch, dim                   int
	labels, columns              []string
	loss, norm, noise            string
	clip, clipL2                 float64
	featureBound, weight         float64
	ledger, state, account, run  string
	accountEpsilon, accountDelta float64
	resume, newAccount, rehearse bool
	sole                         bool // the ledger is that of a data file, with one account
	insecure                     uint64

	set   *pflag.FlagSet
	files privateFiles
}

func newPrivateFlags(files privateFiles) privateFlags {
	return privateFlags{
		files: files,
		batch: 1, loss: "logistic", norm: "2", noise: "auto", featureBound: 1, weight: 1, account: "data",
	}
}

// privateFlagNames lists the flags that only a private training has.
var privateFlagNames = map[string]bool{
	"private": true, "epsilon": true, "delta": true, "horizon": true, "labels": true, "dim": true, "columns": true,
	"loss": true, "norm": true, "clip": true, "clip-l2": true, "feature-bound": true,
	"positive-weight": true, "batch": true, "noise": true,
	"ledger": true, "account": true, "account-epsilon": true, "account-delta": true, "run": true, "state": true,
	"resume": true, "new-account": true, "check": true, insecureFlag: true,
}

// insecureFlag makes noise from a seed, for tests. It is not in the help.
const insecureFlag = "insecure-noise-seed-for-testing"

// sharedPrivately are the other flags of train that a private training takes: what they say is
// declared, or has nothing to do with the data.
var sharedPrivately = map[string]bool{
	"model": true, "json": true, "stream": true, "save-every": true, "radius": true, "step-scale": true,
	"no-intercept": true, "unscaled": true, "format": true, "base": true, "bits": true, "delimiter": true,
	"quotes": true, "header": true, "label": true, "label-key": true, "categorical": true, "missing": true,
	"workers": true, "help-all": true, "figures": true,
}

// refusedPrivately are the flags of train that a private training refuses, with the reasons. The
// test TestPrivateFlagsAreDecided requires that every flag is in one of the three lists.
var refusedPrivately = map[string]string{
	"measure": "the choice of weights and threshold for a measure depends on the classes of the data: state --loss " +
		"and, " +
		"for rare positives, --positive-weight",
	"algorithm": "the algorithm is private online Frank-Wolfe: --noise chooses its mechanism",
	"reward":    "for algorithms that maximize a measure: state --loss",
	"passes": "a second pass would use each record twice, which costs the budget twice: a private training makes one " +
		"pass",
	"seed": "nothing is drawn from a seed: records come in the order of the input, and noise from the operating system",
	"holdout": "a choice by held-out records is a release of its own: hold records out in a file of their own, which " +
		"is " +
		"not trained on",
	"folds": "cross-fitting uses each record several times and chooses by the results: each is a release of its " +
		"own",
	"digest":      "no digest of the records is released",
	"shard":       "a merge reads the counts and moments of the rows, which would be releases of their own",
	"from":        "for --shard, which is not private",
	"schema-from": "for --shard, which is not private",
	"valid":       "a choice by the records of another file is a release about them",
	"threshold":   "a threshold tuned on records is a release of its own: it is 0",
	"steps":       "the step sizes are 1/(t+1) times --step-scale and depend on no data",
	"rate": "a rate that adapts to the data or is searched for is a release of its own: the step sizes are 1/(t+1) " +
		"times " +
		"--step-scale",
	"calibration":      "held-out scores would be a release of their own",
	"tune-steps":       "to try several step scales and keep the best is a release for each: state --step-scale",
	"level-positives":  "it counts positives of the data, for stamp",
	"dual-scale":       "for spade, which is not private",
	"lambda":           "the ball of --norm and --radius regularises",
	"prior-positives":  "the weights of the classes would depend on their counts: state --positive-weight",
	"all-epochs":       "it chooses among models by held-out records",
	"allow-degenerate": "for measures; a private training minimizes --loss",
	"drift":            "restarts and detectors look at the mistakes on the data, which would be a release of its own",
	"positive":         "the default of the other labels comes from the data: state both with --labels",
	"multilabel":       "for two classes only",
	"class-weight":     "balanced weights would depend on the counts of the data: state --positive-weight",
	"max-bad-lines": "a line that is skipped moves all later records to other steps, so that the number of records " +
		"would not be public: a line that cannot be read is a null record, which counts",
	"max-dim":        "the dimension is declared: --dim, --bits or --columns",
	"weight-column":  "the weight of a record would depend on the data: state --positive-weight",
	"weight-key":     "the weight of a record would depend on the data: state --positive-weight",
	"ignore-columns": "what is not in --columns is ignored; with --bits and JSON lines, remove the keys before",
	"decimal":        "a private training reads numbers with a decimal point: write them so",
	"date-order":     "a private training knows no columns of dates: make numbers of their parts before",
	"missing-values": "a private training knows the usual cells that are missing: leave the others empty",
	"text":           "the words are weighed by how many texts have them: count words before",
	"center":         "the center is a value of the data: state a range in --columns",
	"cache":          "a private training keeps no data",
	"temp-dir":       "a private training keeps no data",
}

// addTo declares the flags.
func (p *privateFlags) addTo(f *pflag.FlagSet) {
	f.BoolVar(&p.on, "private", p.on, "train with differential privacy, in one pass (see above)")
	f.Float64Var(&p.epsilon, "epsilon", p.epsilon, "private: the budget ε of the run, above 0; required")
	f.Float64Var(&p.delta, "delta", p.delta,
		"private: the budget δ, below one over the number of records; required; 0 needs --norm 1")
	f.Int64Var(&p.horizon, "horizon", p.horizon, "private: the largest number of records; required")
	f.StringSliceVar(&p.labels, "labels", p.labels, "private: the negative and the positive label, as in 0,1; required")
	f.IntVar(&p.dim, "dim", p.dim, "private: the number of features of svmlight data")
	f.StringSliceVar(&p.columns, "columns", p.columns,
		"private: the feature columns of CSV or keys of JSON lines; age=0:100 moves that range to -1..1")
	f.StringVar(&p.loss, "loss", p.loss, "private: logistic or squared, both for the labels as -1 and 1")
	f.StringVar(&p.norm, "norm", p.norm, "private: the p of the ball of the weights, from 1 to inf")
	f.Float64Var(&p.clip, "clip", p.clip,
		"private: bound on an increment, in the norm dual to --norm; 0 is half the feature bound, for squared loss "+
			"twice it")
	f.Float64Var(&p.clipL2, "clip-l2", p.clipL2,
		"private: the same in the Euclidean norm, for all noises but exponential and laplace; 0 follows from --clip")
	f.Float64Var(&p.featureBound, "feature-bound", p.featureBound,
		"private: records are scaled down to this norm, dual to --norm")
	f.Float64Var(&p.weight, "positive-weight", p.weight, "private: weight of positive records, not chosen from the "+
		"data")
	f.IntVar(&p.batch, "batch", p.batch, "private: records per step")
	f.StringVar(&p.noise, "noise", p.noise,
		"private: tree, honaker, square-root; with --norm 1 exponential, laplace; auto plans without data")
	f.StringVar(&p.ledger, "ledger", p.ledger, "private: directory of the privacy ledger (default DATA.privacy)")
	f.StringVar(&p.account, "account", p.account,
		"private: account of the ledger that pays; the ledger of a data file has one")
	f.Float64Var(&p.accountEpsilon, "account-epsilon", p.accountEpsilon,
		"private: budget ε for all runs, declared by the first (default --epsilon)")
	f.Float64Var(&p.accountDelta, "account-delta", p.accountDelta,
		"private: budget δ for all runs, declared by the first (default --delta)")
	f.StringVar(&p.run, "run", p.run, "private: name of the run in the ledger (default the model's file name)")
	f.StringVar(&p.state, "state", p.state, "private: directory of the run's SECRET state (default MODEL.state)")
	f.BoolVar(&p.newAccount, "new-account", p.newAccount,
		"private: begin an account that does not exist, with a budget of its own beside what is spent")
	f.BoolVar(&p.rehearse, "check", p.rehearse,
		"private: rehearse first: say on the terminal how the data fit; nothing is written or charged")
	f.BoolVar(&p.resume, "resume", p.resume, "private: continue a run that exists, at no further cost")
	f.Uint64Var(&p.insecure, insecureFlag, p.insecure, "noise from a seed, which protects nobody")
	if err := f.MarkHidden(insecureFlag); err != nil {
		panic(err) // a flag that does not exist: a mistake in this program
	}
	p.set = f
}

// check refuses flags that do not go together. It looks at no data.
func (p *privateFlags) check() error {
	var wrong error
	p.set.Visit(func(f *pflag.Flag) {
		reason, refused := refusedPrivately[f.Name]
		switch {
		case wrong != nil:
		case !p.on && privateFlagNames[f.Name]:
			wrong = noregret.Errorf(noregret.Usage, "--"+f.Name, "needs --private")
		case p.on && refused:
			wrong = noregret.Errorf(noregret.Usage, "--"+f.Name, "not with --private: %s", reason)
		}
	})
	if wrong != nil || !p.on {
		return wrong
	}
	for _, name := range []string{"epsilon", "delta", "horizon", "labels"} {
		if !p.set.Changed(name) {
			return noregret.Errorf(noregret.Usage, "--"+name, "required with --private: it must be stated before "+
				"data are seen")
		}
	}
	if p.rehearse && p.set.Changed("json") {
		return noregret.Errorf(noregret.Usage, "--check", "not with --json: it is for the operator's eyes, on a "+
			"terminal")
	}
	if p.account == "" {
		return noregret.Errorf(noregret.Usage, "--account", "the name is empty")
	}
	if len(p.labels) != 2 {
		return noregret.Errorf(noregret.Usage, "--labels", "%d labels, want the negative and the positive one, as in "+
			"0,1", len(p.labels))
	}
	return p.checkTotals()
}

// privateOptions are the options of a private training.
func (o *trainOptions) privateOptions() (classify.PrivateOptions, error) {
	p, none := &o.private, classify.PrivateOptions{}
	if o.saveEvery < 0 {
		return none, command.OutOfRange("--save-every", o.saveEvery, "at least 0")
	}
	norm, err := strconv.ParseFloat(p.norm, 64)
	if err != nil || !(norm >= 1) {
		return none, command.OutOfRange("--norm", p.norm, "a number from 1 on, or inf")
	}
	for _, v := range []struct {
		flag  string
		value float64
	}{{"--positive-weight", p.weight}, {"--feature-bound", p.featureBound}, {"--batch", float64(p.batch)}} {
		if v.value == 0 { // which stands for a default in package classify
			return none, command.OutOfRange(v.flag, v.value, "a number above 0")
		}
	}
	schema, ranges, err := o.privateSchema()
	if err != nil {
		return none, err
	}
	opt := classify.PrivateOptions{
		Epsilon: p.epsilon, Delta: p.delta, Horizon: p.horizon, Batch: p.batch, Schema: schema, Ranges: ranges,
		Negative: labelName(p.labels[0]), Positive: labelName(p.labels[1]), PositiveWeight: p.weight, Loss: p.loss,
		NoIntercept: o.fit.opt.Config.NoIntercept, Norm: norm, Features: p.featureBound,
		Radius: o.fit.opt.Config.Radius, Clip: p.clip, ClipL2: p.clipL2,
		StepScale: o.fit.opt.Config.StepScale, Noise: p.noise,
	}
	if p.insecure != 0 {
		opt.Random = []dp.Option{dp.WithInsecureDeterministicNoiseForTesting(p.insecure)}
	}
	return opt, nil
}

// labelName is the name that readers give a label: the shortest decimal of a number.
func labelName(label string) string {
	names, err := dataset.LabelList(label)
	if err != nil || len(names) != 1 {
		return label
	}
	return names[0]
}

// privateSchema is the declared feature space.
func (o *trainOptions) privateSchema() (*dataset.Schema, []classify.PrivateRange, error) {
	p, d := &o.private, o.data
	format := dataset.Format(d.Format)
	if format == dataset.Auto {
		format = dataset.SVMLight
		if len(p.columns) > 0 {
			format = dataset.CSV
		}
	}
	s := &dataset.Schema{Format: format, Bits: d.Bits}
	if d.Bits > 0 && d.Bits < 31 {
		s.Dim = 1 << d.Bits
	}
	var ranges []classify.PrivateRange
	var err error
	switch format {
	case dataset.SVMLight:
		err = p.svmlightSchema(s, d)
	case dataset.CSV:
		ranges, err = p.csvSchema(s, d)
	case dataset.JSONL:
		ranges, err = p.jsonSchema(s, d)
	case dataset.Cache:
		err = noregret.Errorf(noregret.Usage, "--format", "a cache holds a feature space that was learned from the "+
			"data: "+
			"train from svmlight, csv or jsonl")
	default:
		err = noregret.Errorf(noregret.Usage, "--format", "%q: a private training reads svmlight, csv and "+
			"jsonl", format)
	}
	if err == nil && format != dataset.CSV && len(d.Categorical) > 0 {
		err = noregret.Errorf(noregret.Usage, "--categorical", "for CSV only")
	}
	if err == nil && format != dataset.SVMLight && p.set.Changed("dim") {
		err = noregret.Errorf(noregret.Usage, "--dim", "for svmlight only: declare --columns or --bits")
	}
	return s, ranges, err
}

func (p *privateFlags) svmlightSchema(s *dataset.Schema, d *dataflags.Flags) error {
	switch {
	case len(p.columns) > 0:
		return noregret.Errorf(noregret.Usage, "--columns", "for CSV and JSON lines only")
	case s.Bits > 0 && p.set.Changed("dim"):
		return noregret.Errorf(noregret.Usage, "--dim", "not with --bits, which declares the dimension")
	case s.Bits == 0 && p.dim < 1:
		return noregret.Errorf(noregret.Usage, "--dim", "required with --private for svmlight, at least 1: the "+
			"largest index "+
			"of the data would tell about a record; or hash with --bits")
	case s.Bits == 0:
		s.Dim = p.dim
	}
	s.Base = dataset.BaseOne
	if d.Base == string(dataset.BaseZero) {
		s.Base = dataset.BaseZero
	}
	return nil
}

func (p *privateFlags) csvSchema(s *dataset.Schema, d *dataflags.Flags) ([]classify.PrivateRange, error) {
	switch {
	case len(p.columns)+len(d.Categorical) == 0:
		return nil, noregret.Errorf(noregret.Usage, "--columns", "required with --private for CSV: which columns are "+
			"features, "+
			"and of which kind, must not be learned from the data")
	case len(d.Categorical) > 0 && s.Bits == 0:
		return nil, noregret.Errorf(noregret.Usage, "--categorical", "needs --bits with --private: a dictionary of "+
			"the values "+
			"would tell which values occur")
	case d.Label == "":
		return nil, noregret.Errorf(noregret.Usage, "--label", "required with --private for CSV: the name of the "+
			"label's column")
	case d.Header == string(dataset.HeaderNo):
		return nil, noregret.Errorf(noregret.Usage, "--header", "with --private a CSV file needs a header, as "+
			"columns are named")
	case d.Missing == string(dataset.MissingIndicator):
		return nil, noregret.Errorf(noregret.Usage, "--missing", "not indicator with --private: which columns lack "+
			"values would be learned from the data; want zero, or error, with which a record that lacks a value is a "+
			"null record")
	}
	names, ranges, err := p.parseColumns(s.Bits > 0)
	if err != nil {
		return nil, err
	}
	s.Header, s.Missing = true, dataset.MissingError
	if d.Missing != "" {
		s.Missing = dataset.Missing(d.Missing)
	}
	for _, n := range names {
		s.Columns = append(s.Columns, dataset.Column{Name: n, Kind: dataset.Numeric})
	}
	for _, n := range d.Categorical {
		s.Columns = append(s.Columns, dataset.Column{Name: n, Kind: dataset.Categorical})
	}
	s.Columns = append(s.Columns, dataset.Column{Name: d.Label, Kind: dataset.LabelKind})
	if s.Bits == 0 {
		s.Features, s.Dim = names, len(names)
	}
	return ranges, nil
}

func (p *privateFlags) jsonSchema(s *dataset.Schema, d *dataflags.Flags) ([]classify.PrivateRange, error) {
	if len(p.columns) > 0 == (s.Bits > 0) {
		return nil, noregret.Errorf(noregret.Usage, "--columns", "with --private JSON lines need either --columns, "+
			"the names of "+
			"the features, or --bits: the names of the data would tell which occur")
	}
	s.Label, s.Weight = "label", "weight"
	if d.LabelKey != "" {
		s.Label = d.LabelKey
	}
	names, ranges, err := p.parseColumns(s.Bits > 0)
	for _, key := range []string{s.Label, s.Weight} {
		if err == nil && slices.Contains(names, key) {
			return nil, noregret.Errorf(noregret.Usage, "--columns", "%q: JSON lines have the label or the weight of "+
				"a record under this key; want keys of features", key)
		}
	}
	if err == nil && s.Bits == 0 {
		s.Features, s.Dim = names, len(names)
	}
	return ranges, err
}

// parseColumns splits the declared columns into names and ranges, nil without any.
func (p *privateFlags) parseColumns(hashed bool) (names []string, ranges []classify.PrivateRange, err error) {
	ranged := false
	for _, c := range p.columns {
		name, r := c, classify.PrivateRange{}
		if i := strings.LastIndexByte(c, '='); i >= 0 {
			low, high, ok := strings.Cut(c[i+1:], ":")
			l, errLow := strconv.ParseFloat(low, 64)
			h, errHigh := strconv.ParseFloat(high, 64)
			if ok && errLow == nil && errHigh == nil {
				if !(l < h) {
					return nil, nil, noregret.Errorf(noregret.Usage, "--columns", "%q: want a range LOW:HIGH that "+
						"ascends", c)
				}
				name, r, ranged = c[:i], classify.PrivateRange{Low: l, High: h}, true
			}
		}
		if name == "" || slices.Contains(names, name) {
			return nil, nil, noregret.Errorf(noregret.Usage, "--columns", "%q: want names that are not empty and "+
				"differ", c)
		}
		names, ranges = append(names, name), append(ranges, r)
	}
	if ranged && hashed {
		return nil, nil, noregret.Errorf(noregret.Usage, "--columns", "no ranges with --bits: a slot has several "+
			"features")
	}
	if !ranged {
		ranges = nil
	}
	return names, ranges, nil
}
