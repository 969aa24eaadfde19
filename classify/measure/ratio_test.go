package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/noregret/noregret"
)

func must[M any](m M, err error) M {
	if err != nil {
		panic(err)
	}
	return m
}

var ratios = []Ratio{
	FBeta{B: 1},
	FBeta{B: 2},
	FBeta{B: 0.5},
	Jaccard(), must(NewGowerLegendre(0.5)), must(NewGowerLegendre(2)),
	Kappa{},
	must(NewTversky(0.3, 0.7)), Accuracy(), must(NewCosts(10, 1)),
	Precision{},
	NPV{},
}

// The value of every measure at TP=30, FN=20, FP=40, TN=910.
func TestRatioValues(t *testing.T) {
	c := Confusion{TP: 30, FN: 20, FP: 40, TN: 910}
	p, n := c.Rates()
	near(t, "P", p, .6, 1e-15)
	near(t, "N", n, .9578947368, 6e-11)
	near(t, "θ", c.Theta(), 19, 0)
	for _, tc := range []struct {
		m    Measure
		want float64
	}{
		{FBeta{B: 1}, .5},
		{FBeta{B: 2}, .5555555556},
		{FBeta{B: 0.5}, .4545454545},
		{Jaccard(), .3333333333},
		{GowerLegendre{Sigma: 0.5}, .9690721649},
		{GowerLegendre{Sigma: 2}, .8867924528},
		{Kappa{}, .4690265487},
		{Tversky{S: 0.3, T: 0.7}, .5357142857},
		{Precision{}, .4285714286},
		{NPV{}, .9784946237},
		{MCC{}, .4765501108},
		{Accuracy(), .94},
		{Costs{Missed: 1, Alarm: 1}, .94},
		{Costs{Missed: 10, Alarm: 1}, .8344827586},
		{FowlkesMallows{}, math.Sqrt(.6 * 3 / 7)},
	} {
		near(t, tc.m.Name(), tc.m.Value(c), tc.want, 6e-11)
		if r, ok := tc.m.(Ratio); ok {
			near(t, tc.m.Name()+" canonical", r.Coefficients(19).Of(p, n), tc.want, 6e-11)
		}
	}
	for _, tc := range []struct {
		m    Ratio
		want float64
	}{
		{FBeta{B: 1}, .4120000000}, {Jaccard(), .3940000000}, {Kappa{}, .4086187845}, {FBeta{B: 2}, .4365217391},
	} {
		near(t, "V of "+tc.m.Name(), tc.m.Coefficients(19).Valuation(p, n, 0.4), tc.want, 6e-11)
	}
}

// Lemma 7: V(w, v) ≥ v ⟺ the measure ≥ v. Also: counts and canonical form agree.
func TestValuationEquivalence(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		theta := math.Exp(r.Float64()*7 - 2)
		p, n, v := r.Float64(), r.Float64(), r.Float64()
		for _, m := range ratios {
			if m.Degenerate() {
				continue
			}
			if _, kappa := m.(Kappa); kappa && theta < 1 {
				continue // the denominator may vanish
			}
			k := m.Coefficients(theta)
			val := k.Of(p, n)
			if math.Abs(val-v) < 1e-12 {
				continue
			}
			if (k.Valuation(p, n, v) >= v) != (val >= v) {
				t.Fatalf("%s at θ=%v P=%v N=%v v=%v: V=%v, measure=%v", m.Name(), theta, p, n, v, k.Valuation(p, n, v),
					val)
			}
			if direct := m.Value(FromRates(p, n, 10, 10*theta)); math.Abs(direct-val) > 1e-9 {
				t.Fatalf("%s: counts give %v, canonical form %v", m.Name(), direct, val)
			}
		}
	}
}

// The pseudo-linear measures (Narasimhan, Kar and Jain 2015, definition 6): example weights, reward
// ranges, rates and admissible levels.
func TestRatioTables(t *testing.T) {
	const theta, v = 19.0, 0.4
	for _, tc := range []struct {
		m        Ratio
		pos, neg float64
	}{
		{FBeta{B: 2}, 5 - v, v},
		{FBeta{B: 1}, 2 - v, v},
		{Jaccard(), 1, v},
		{GowerLegendre{Sigma: 0.5}, 1 - v*0.5, 1 - v*0.5},
		{GowerLegendre{Sigma: 2}, 1 + v, 1 + v},
		{Tversky{S: 0.3, T: 0.7}, 1 - v*0.3, 0.3 * v},
		{Kappa{}, 2*theta - v*(theta-1), 2 + v*(theta-1)},
		{Accuracy(), 1, 1},
		{Precision{}, 1 - v, v},
		{NPV{}, v, 1 - v},
	} {
		p, n := tc.m.Coefficients(theta).Weights(v)
		near(t, tc.m.Name()+" k₊", p, tc.pos, 1e-12)
		near(t, tc.m.Name()+" k₋", n, tc.neg, 1e-12)
	}
	for _, th := range []float64{1, 19, 163} {
		const m = 0.9
		for _, tc := range []struct {
			r            Ratio
			limit, rateM float64
		}{
			{FBeta{B: 1}, 1 + 1/th, m * (1 + th) / (m + 1 + th)},
			{FBeta{B: 2}, 1 + 4/th, m * (1 + th) / (m + 4 + th)},
			{Jaccard(), (1 + th) / th, m * th / (1 + th)},
			{GowerLegendre{Sigma: 0.5}, math.Inf(1), 0.5 * m / (0.5*m + 0.5)},
			{GowerLegendre{Sigma: 2}, 2, m / 2},
			{Kappa{}, (1 + th*th) / (th * (th - 1)), (th*th - 1) * m / (1 + th*th + (th-1)*m)},
			{Precision{}, 1, m * (1 + 1/th) / (1 + m/th)},
		} {
			k := tc.r.Coefficients(th)
			if got := k.RewardRange(); got != tc.limit && math.Abs(got-tc.limit) > 1e-9 {
				t.Errorf("%s at θ=%v: rewards below %v, want %v", tc.r.Name(), th, got, tc.limit)
			}
			near(t, tc.r.Name()+" rate", k.Rate(m), tc.rateM, 1e-12)
		}
	}
	for th, want := range map[float64]float64{1: 2.0 / 3, 19: .95238, 163: .99394} {
		near(t, "η(1) of F1", FBeta{B: 1}.Coefficients(th).Rate(1), want, 5e-6)
	}
	for _, tc := range []struct {
		r      Ratio
		lo, hi float64
	}{
		{FBeta{B: 2}, 0, 5},
		{Jaccard(), 0, math.Inf(1)},
		{Tversky{S: 0.3, T: 0.7}, 0, 1 / 0.3},
		{GowerLegendre{Sigma: 0.5}, math.Inf(-1), 2},
		{GowerLegendre{Sigma: 2}, -1, math.Inf(1)},
		{Kappa{}, -2.0 / 18, 38.0 / 18},
	} {
		lo, hi := tc.r.Coefficients(19).Levels()
		if math.Abs(lo-tc.lo) > 1e-12 || math.Abs(hi-tc.hi) > 1e-12 {
			t.Errorf("%s: levels [%v, %v], want [%v, %v]", tc.r.Name(), lo, hi, tc.lo, tc.hi)
		}
	}
}

// F1 = 2J/(1+J), and the Tversky index contains F_B, Jaccard and F1.
func TestIdentities(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		c := Confusion{TP: r.Float64(), FN: r.Float64(), FP: r.Float64(), TN: r.Float64()}
		j := Jaccard().Value(c)
		near(t, "F1 by Jaccard", 2*j/(1+j), FBeta{B: 1}.Value(c), 1e-14)
		for _, b := range []float64{0.3, 1, 3} {
			tv := must(NewTversky(1/(1+b*b), b*b/(1+b*b)))
			near(t, "Tversky as F_B", tv.Value(c), FBeta{B: b}.Value(c), 1e-14)
		}
	}
}

// Neither MCC nor Fowlkes–Mallows is quasi-concave.
func TestNotQuasiConcave(t *testing.T) {
	at := func(m Measure, p, n float64) float64 { return m.Value(FromRates(p, n, 1, 1)) }
	near(t, "MCC(.9, .6)", at(MCC{}, .9, .6), .5241424184, 6e-11)
	near(t, "MCC(.6, .9)", at(MCC{}, .6, .9), .5241424184, 6e-11)
	near(t, "MCC(.75, .75)", at(MCC{}, .75, .75), .5, 6e-11)
	near(t, "FM(1, 0)", at(FowlkesMallows{}, 1, 0), .7071067812, 6e-11)
	near(t, "FM(.5, 1)", at(FowlkesMallows{}, .5, 1), .7071067812, 6e-11)
	near(t, "FM(.75, .5)", at(FowlkesMallows{}, .75, .5), .6708203932, 6e-11)
	for _, m := range []Measure{Precision{}, NPV{}, TPR(), TNR()} {
		if err := Trainable(m); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("%s counts as trainable: %v", m.Name(), err)
		}
	}
	for _, m := range []Measure{FBeta{B: 1}, Kappa{}, GMean{}, Youden(), MCC{}, FowlkesMallows{}} {
		if err := Trainable(m); err != nil {
			t.Error(err)
		}
	}
}

func TestUndefined(t *testing.T) {
	none := Confusion{TN: 5}
	if v := (FBeta{B: 1}).Value(none); !math.IsNaN(v) {
		t.Errorf("F1 with TP=FP=FN=0 is %v, want NaN", v)
	}
	if v := (FBeta{B: 1}).Value(Confusion{FP: 1, FN: 2}); v != 0 {
		t.Errorf("F1 with TP=0 is %v, want 0", v)
	}
	if v := (GMean{}).Value(none); !math.IsNaN(v) {
		t.Errorf("G-mean without positives is %v, want NaN", v)
	}
	if v := (QMean{}).Value(Confusion{TP: 1}); !math.IsNaN(v) {
		t.Errorf("Q-mean without negatives is %v, want NaN", v)
	}
	if v := (Min{}).Value(none); !math.IsNaN(v) {
		t.Errorf("min without positives is %v, want NaN", v)
	}
	nan := math.NaN()
	if v := UndefinedIsZero.Apply(nan); v != 0 {
		t.Error(v)
	}
	if v := UndefinedIsOne.Apply(nan); v != 1 {
		t.Error(v)
	}
	if v := UndefinedIsOne.Apply(0.25); v != 0.25 {
		t.Error(v)
	}
	if v := UndefinedIsNaN.Apply(nan); !math.IsNaN(v) {
		t.Error(v)
	}
}

func TestParse(t *testing.T) {
	for _, name := range Names() {
		name = strings.NewReplacer("B", "1.5", "SIGMA", "3", "S,T", "0.25,2", "C1,C2", "1,0.5",
			"MISSED,ALARM", "10,1").Replace(name)
		m, err := Parse(name)
		if err != nil {
			t.Errorf("Parse(%q): %v", name, err)
			continue
		}
		if m.Name() != name {
			t.Errorf("Parse(%q).Name() = %q", name, m.Name())
		}
	}
	if !slices.IsSorted(Names()) {
		t.Error("Names are not sorted")
	}
	for _, bad := range []string{
		"", "f3.x", "fbeta", "fbeta:0", "fbeta:-1", "fbeta:x", "fbeta:NaN", "fbeta:Inf", "gower-legendre:0",
		"tversky:1", "tversky:0,0", "tversky:-1,1", "recalls:0,0", "auc", "log-loss",
	} {
		if m, err := Parse(bad); noregret.CodeOf(err) != noregret.Usage {
			t.Errorf("Parse(%q) = %v, %v; want an error of code usage", bad, m, err)
		}
	}
}

func ExampleParse() {
	c := Confusion{TP: 30, FN: 20, FP: 40, TN: 910}
	for _, name := range []string{"f1", "gmean", "kappa", "fbeta:2"} {
		m, err := Parse(name)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s %.4f\n", m.Name(), m.Value(c))
	}
	_, err := Parse("auc")
	fmt.Println(err)
	// Output:
	// f1 0.5000
	// gmean 0.7581
	// kappa 0.4690
	// f2 0.5556
	// measure "auc" cannot be used: the area under the ROC curve is a function of the ranking, not of one classifier's confusion matrix; train for gmean or balanced_accuracy
}
