package classify

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/internal/snapshot"
	"github.com/noregret/noregret/private"
)

// PrivateTrainer learns a linear model of two classes, one record at a time and each record once,
// such that all models that it gives out are differentially private together. Its mechanism and all
// its constants are fixed before the first record ([NewPrivateTrainer]). [PrivateFit] runs one with
// a ledger. Not safe for concurrent use.
type PrivateTrainer struct {
	options PrivateOptions
	learner *private.Learner
	row     private.PlanRow
	x       []float64
	prefix  [sha256.Size]byte // of the records so far; secret
}

// NewPrivateTrainer plans the mechanism and returns the trainer before its first record. The errors
// are of code usage, with the name of the option's flag as their place, and those of package
// private.
func NewPrivateTrainer(o PrivateOptions) (*PrivateTrainer, error) {
	o = o.EnsureDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	p, err := o.problem()
	if err != nil {
		return nil, err
	}
	row, err := o.choose(p)
	if err != nil {
		return nil, err
	}
	l, err := o.learner(p, row)
	if err != nil {
		return nil, err
	}
	t := &PrivateTrainer{options: o, learner: l, row: row, x: make([]float64, l.Dim())}
	// What a model file cannot hold, such as a name that is not UTF-8, is refused before anything
	// is charged.
	if _, err := t.Model("account", "run"); err != nil {
		return nil, err
	}
	return t, nil
}

// Options returns the options with all defaults.
func (t *PrivateTrainer) Options() PrivateOptions { return t.options }

// Records is the number of records so far, null records included. It is public.
func (t *PrivateTrainer) Records() int64 { return t.learner.Records() }

// Charge is what the whole training costs, however many of its records come.
func (t *PrivateTrainer) Charge() dp.Charge { return t.learner.Charge() }

// Statement says what the models protect.
func (t *PrivateTrainer) Statement() dp.Statement {
	s := t.learner.Statement()
	o := &t.options
	s.Constants = append(s.Constants,
		dp.Constant{Name: "classes", Value: fmt.Sprintf("%q and %q, declared; any other label makes a null record",
			o.Negative, o.Positive)},
		dp.Constant{
			Name:  "null records",
			Value: "count as a step of increment 0: a line that cannot be read, a value that is missing or not finite",
		},
		dp.Constant{Name: "feature space", Value: fmt.Sprintf("%d features of %s, declared", o.Schema.Dim,
			o.Schema.Format)})
	// The mechanism knows the number of steps, not that of records.
	steps := dp.BudgetWarnings(s.Epsilon, s.Delta, float64((o.Horizon+int64(o.Batch)-1)/int64(o.Batch)))
	s.Warnings = slices.DeleteFunc(slices.Clone(s.Warnings), func(w string) bool { return slices.Contains(steps, w) })
	s.Warnings = append(s.Warnings, dp.BudgetWarnings(o.Epsilon, o.Delta, float64(o.Horizon))...)
	s.Exposes = append(s.Exposes,
		"that a file cannot be read at all, lacks a declared column or has a line above 64 MiB: the command then ends "+
			"with an error for its operator",
		"what other models of the same people tell that are charged to another ledger: train --private has a ledger "+
			"for each data file, unless --ledger names one")
	return s
}

// target is the number that stands for a label, NaN for any that is not declared.
func (t *PrivateTrainer) target(label string) float64 {
	switch label {
	case t.options.Positive:
		return 1
	case t.options.Negative:
		return -1
	}
	return null
}

// null is the target of a null record.
var null = math.NaN()

// Add learns a record: a sparse row, and 1 for the positive label, −1 for the negative one, NaN for
// a null record. It returns the errors of [private.Learner.Step], which do not depend on the
// values.
func (t *PrivateTrainer) Add(index []uint32, value []float32, y float64) error {
	t.fill(index, value)
	if err := t.learner.Step(t.x, y); err != nil {
		return err
	}
	t.prefix = extend(t.prefix, index, value, y)
	return nil
}

// fill writes the features of a row, with their ranges and the constant feature, to x.
func (t *PrivateTrainer) fill(index []uint32, value []float32) {
	clear(t.x)
	for j, i := range index {
		if int(i) < t.options.Schema.Dim {
			t.x[i] = float64(value[j])
		}
	}
	for i, r := range t.options.Ranges {
		t.x[i] = r.apply(t.x[i])
	}
	if !t.options.NoIntercept {
		t.x[len(t.x)-1] = 1
	}
}

// extend is the digest of a sequence of records with one more.
func extend(prefix [sha256.Size]byte, index []uint32, value []float32, y float64) [sha256.Size]byte {
	b := make([]byte, 0, len(prefix)+8*len(index)+8)
	b = append(b, prefix[:]...)
	for j, i := range index {
		b = binary.LittleEndian.AppendUint32(b, i)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(value[j]))
	}
	switch { // a NaN has many encodings
	case y > 0:
		b = append(b, 1)
	case y < 0:
		b = append(b, 2)
	}
	return sha256.Sum256(b)
}

// Model returns the current model, which is public as soon as it is released. The account and the
// run are those of the ledger that was charged.
func (t *PrivateTrainer) Model(account, run string) (*Model, error) {
	o := &t.options
	theta := t.learner.Theta()
	weights, intercept := make([]float64, o.Schema.Dim), 0.0
	copy(weights, theta)
	if !o.NoIntercept {
		intercept = theta[len(theta)-1]
	}
	var scaling *ModelScaling
	if o.Ranges != nil {
		scaling = &ModelScaling{Index: []uint32{}, Center: []float64{}, Inverse: []float64{}}
		for i, r := range o.Ranges {
			if r.none() {
				continue
			}
			center, inverse := r.affine()
			weights[i] *= inverse
			intercept -= float64(center * weights[i])
			scaling.Index = append(scaling.Index, uint32(i))
			scaling.Center = append(scaling.Center, center)
			scaling.Inverse = append(scaling.Inverse, inverse)
		}
	}
	vector, err := sparseWeights(weights)
	if err != nil {
		return nil, err
	}
	statement := t.Statement()
	m := &Model{
		Algorithm: privateAlgorithm(t.row.Mechanism),
		Labels:    []string{o.Positive, o.Negative},
		Models:    []ModelLinear{{Weights: vector, Intercept: intercept}},
		Schema:    o.Schema, Scaling: scaling, Warnings: append([]string{}, statement.Warnings...),
		Privacy: t.privacy(account, run, statement),
	}
	return m, m.Validate()
}

func (t *PrivateTrainer) privacy(account, run string, statement dp.Statement) *ModelPrivacy {
	o, charge := &t.options, t.Charge()
	clipNorm := dp.L2
	if t.row.Mechanism != "tofw" {
		clipNorm = dp.LInf
	}
	return &ModelPrivacy{
		Mechanism: t.row.Mechanism, Noise: t.row.Noise, Epsilon: statement.Epsilon, Delta: statement.Delta,
		Accounting: statement.Accounting, Rho: charge.Rho, MuSquared: charge.MuSq,
		Adjacency: charge.Protection.Adjacency, Unit: "one record", Loss: o.Loss, PositiveWeight: o.PositiveWeight,
		Norm: formatNumber(o.Norm), Radius: o.Radius, Features: o.Features, Clip: t.row.Clip,
		ClipNorm: clipNorm.String(), Intercept: !o.NoIntercept, StepScale: o.StepScale, Horizon: o.Horizon,
		Batch: o.Batch, Records: t.Records(), Account: account, Run: run, Insecure: charge.Insecure,
		Statement: statement, Text: statement.String(),
	}
}

// Close erases the secret state from memory.
func (t *PrivateTrainer) Close() {
	t.learner.Close()
	clear(t.x)
	clear(t.prefix[:])
}

const privateMagic = "noregret private trainer-2\n"

// trainerState is the secret state of a trainer.
type trainerState struct {
	Learner []byte
	Prefix  []byte
}

// MarshalBinary returns a snapshot. It is SECRET: see [private.Learner.MarshalBinary].
func (t *PrivateTrainer) MarshalBinary() ([]byte, error) {
	learner, err := t.learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return snapshot.Seal(privateMagic, t.text(), trainerState{learner, t.prefix[:]})
}

// UnmarshalBinary restores a snapshot of a trainer with the same options. An error changes nothing.
func (t *PrivateTrainer) UnmarshalBinary(data []byte) error {
	var s trainerState
	if err := snapshot.Open(data, privateMagic, t.text(), &s); err != nil {
		return err
	}
	if len(s.Prefix) != len(t.prefix) {
		return snapshot.Bad("damaged: a digest of %d bytes", len(s.Prefix))
	}
	if err := t.learner.UnmarshalBinary(s.Learner); err != nil {
		return err
	}
	copy(t.prefix[:], s.Prefix)
	return nil
}

// text describes what a snapshot is bound to: the data's meaning and the learner.
func (t *PrivateTrainer) text() string {
	o := &t.options
	return fmt.Sprintf("labels %q %q, ranges %v, features %q, columns %v, %s", o.Negative, o.Positive, o.Ranges,
		o.Schema.Features, o.Schema.Columns, t.learner)
}

// samePrefix reads the records that a restored trainer has learned already, and reports whether
// they are the same.
type samePrefix struct {
	digest [sha256.Size]byte
	rows   int64
}

func (s *samePrefix) add(b *dataset.Block, i int, y float64) {
	index, value := b.Row(i)
	s.digest = extend(s.digest, index, value, y)
	s.rows++
}

func (s *samePrefix) check(t *PrivateTrainer) error {
	if s.rows != t.Records() || s.digest != t.prefix {
		return noregret.BadInputf("input", "its first %d records are not those that the run has learned: to go on "+
			"would "+
			"count some records twice, which the privacy claim does not allow; give the same input, longer if "+
			"you like", t.Records())
	}
	return nil
}
