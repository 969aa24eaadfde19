package offpolicy

import (
	"math"
	"testing"
	"time"

	"github.com/noregret/noregret/confseq"
	"github.com/noregret/noregret/internal/random"
)

func newDoctor(t testing.TB, o DoctorOptions) *Doctor {
	t.Helper()
	d, err := NewDoctor(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDoctorRows has one sick row per case.
func TestDoctorRows(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	half := []float64{0.5, 0.5}
	for _, c := range []struct {
		row  Row
		want Kind
	}{
		{Row{Arm: 2, Propensity: 0.5}, BadArm},
		{Row{Arm: -1, Propensity: 0.5}, BadArm},
		{Row{Arm: 1, Propensity: 0.5, Propensities: []float64{1, 0}}, ImpossibleArm},
		{Row{Propensity: 0}, BadPropensity},
		{Row{Propensity: 1.5}, BadPropensity},
		{Row{Propensity: math.NaN()}, BadPropensity},
		{Row{Propensity: 0.4, Propensities: half}, BadPropensity},
		{Row{Propensity: 0.5, Propensities: []float64{0.5, 0.6}}, BadProbabilities},
		{Row{Propensity: 0.5, Propensities: []float64{1}}, BadProbabilities},
		{Row{Propensity: 0.5, Target: []float64{0.5, 0.4}}, BadProbabilities},
		{Row{Propensity: 0.5, Reward: 2}, BadReward},
		{Row{Propensity: 0.5, Reward: math.NaN()}, BadReward},
		{Row{Propensity: 0.5, ID: "a"}, DuplicateID},
		{Row{Propensity: 0.5, Time: noon.Add(-2 * time.Minute)}, ClockBack},
		{Row{Propensity: 0.5, Time: noon.Add(-30 * time.Second), ID: "b", Target: half, Propensities: half}, ""},
	} {
		o := DefaultDoctorOptions(2)
		o.MinEffective = 0
		d := newDoctor(t, o)
		d.Add(&Row{ID: "a", Time: noon, Propensity: 0.5})
		d.Add(&c.row)
		got := d.Report()
		switch {
		case c.want == "":
			if !got.Healthy() {
				t.Errorf("%+v: %+v", c.row, got.Findings)
			}
		case len(got.Findings) != 1 || got.Findings[0].Kind != c.want || got.Findings[0].First != 2 ||
			got.Findings[0].Rows != 1 || got.Findings[0].Message == "":
			t.Errorf("%+v: got %+v, want %s", c.row, got.Findings, c.want)
		}
	}
}

// TestRecentIDs checks that only the latest identifiers are remembered.
func TestRecentIDs(t *testing.T) {
	o := DefaultDoctorOptions(1)
	o.RecentIDs, o.MinEffective = 2, 0
	d := newDoctor(t, o)
	for _, id := range []string{"a", "b", "c", "a", "c", "b"} { // c is found, a and b are forgotten
		d.Add(&Row{ID: id, Propensity: 1})
	}
	if got := d.Report().Findings; len(got) != 1 || got[0].Kind != DuplicateID || got[0].First != 5 ||
		got[0].Rows != 1 {
		t.Errorf("got %+v", got)
	}
	if len(d.ids) != 2 {
		t.Errorf("%d identifiers are kept", len(d.ids))
	}
}

// draw draws an arm from p.
func draw(src *random.Source, p []float64) (arm int) {
	u := src.Float64()
	for arm < len(p)-1 && u >= p[arm] {
		u -= p[arm]
		arm++
	}
	return arm
}

// TestDoctorLog reads a log whose probabilities change from row to row: a healthy one, one whose
// arms are drawn from others, and one whose propensities are a fifth too small.
func TestDoctorLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		tilt   float64
		factor float64
		want   []Kind
	}{
		{"healthy", 0, 1, nil},
		{"drawn from other probabilities", 0.1, 1, []Kind{SampleRatioBroken}},
		{"wrong propensities", 0, 0.8, []Kind{BadPropensity, MeanWeight}},
	} {
		d, src := newDoctor(t, DefaultDoctorOptions(3)), random.New(3, "offpolicy doctor")
		for range 5000 {
			u := src.Float64() / 4
			p := []float64{0.25 + u, 0.25, 0.5 - u}
			arm := draw(src, []float64{p[0] - c.tilt, p[1], p[2] + c.tilt})
			d.Add(&Row{Arm: arm, Propensity: p[arm] * c.factor, Propensities: p})
		}
		got := d.Report()
		if len(got.Findings) != len(c.want) && c.tilt == 0 {
			t.Errorf("%s: %+v", c.name, got.Findings)
		}
		found := map[Kind]bool{}
		for _, f := range got.Findings {
			found[f.Kind] = true
		}
		for _, k := range c.want {
			if !found[k] {
				t.Errorf("%s: no finding %s in %+v", c.name, k, got.Findings)
			}
		}
		if got.RatioRows != 5000 || got.Rows != 5000 || got.Counts[0]+got.Counts[1]+got.Counts[2] != 5000 {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// TestFewEffective has a log with one large weight.
func TestFewEffective(t *testing.T) {
	d := newDoctor(t, DefaultDoctorOptions(2))
	for range 1000 {
		d.Add(&Row{Propensity: 1})
	}
	d.Add(&Row{Arm: 1, Propensity: 1e-6})
	got := d.Report()
	if len(got.Findings) == 0 || got.Findings[0].Kind != FewEffective || !(got.Weights.Effective < 2) {
		t.Errorf("got %+v", got)
	}
}

// TestRatioIsSampleRatio compares with package confseq where all rows have the same probabilities.
func TestRatioIsSampleRatio(t *testing.T) {
	p := []float64{0.5, 0.25, 0.25, 0}
	want, err := confseq.NewSampleRatio(p, 50)
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultDoctorOptions(4)
	o.Shares = p
	d, src := newDoctor(t, o), random.New(4, "offpolicy ratio")
	for range 2000 {
		arm := draw(src, []float64{0.45, 0.3, 0.25})
		d.Add(&Row{Arm: arm, Propensity: p[arm]})
		if err := want.Add(arm, 1); err != nil {
			t.Fatal(err)
		}
		want.P()
		near(t, "evidence", d.ratio.logE, want.LogE)
	}
	near(t, "p", d.Report().RatioP, want.P())
	if want.P() > 1e-3 {
		t.Errorf("p is %v: the log is too small to show anything", want.P())
	}
}

func TestDoctorOptions(t *testing.T) {
	for _, change := range []func(o *DoctorOptions){
		func(o *DoctorOptions) { o.Arms = 0 },
		func(o *DoctorOptions) { o.Low = 1 },
		func(o *DoctorOptions) { o.Prior = 0 },
		func(o *DoctorOptions) { o.Alpha = 1 },
		func(o *DoctorOptions) { o.RecentIDs = -1 },
		func(o *DoctorOptions) { o.Shares = []float64{1} },
	} {
		o := DefaultDoctorOptions(2)
		if change(&o); o.check() == nil {
			t.Errorf("the options %+v are accepted", o)
		}
	}
}
