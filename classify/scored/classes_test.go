package scored_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/noregret/noregret/classify/scored"
	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/stat"
)

// TestClasses compares with scikit-learn 1.9.1: roc_auc_score(multi_class="ovr", average="macro"),
// log_loss and brier_score_loss.
func TestClasses(t *testing.T) {
	raw, err := os.ReadFile("testdata/classes.json")
	var o struct {
		Cases []struct {
			Name        string
			Probability [][]float64
			Truth       []int
			Weight      []float64
			AUC         float64
			LogLoss     float64 `json:"log_loss"`
			Brier       float64
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	if err != nil || len(o.Cases) != 3 {
		t.Fatal(err, len(o.Cases))
	}
	for _, c := range o.Cases {
		var rows scored.Classes
		for i, p := range c.Probability {
			rows.Add(p, c.Truth[i], c.Weight[i])
		}
		for _, x := range []struct {
			name      string
			got, want float64
		}{
			{"AUC", rows.AUC().Value, c.AUC},
			{"log loss", rows.LogLoss().Value, c.LogLoss},
			{"Brier", rows.Brier().Value, c.Brier},
		} {
			if !(math.Abs(x.got-x.want) <= 1e-9) {
				t.Errorf("%s: %s is %v, want %v", c.Name, x.name, x.got, x.want)
			}
		}
	}
}

// TestClassesOfTwo compares two classes, whose scores are opposite, with the measures of two
// classes.
func TestClassesOfTwo(t *testing.T) {
	var rows scored.Classes
	e := draw(random.New(7, "two classes"), 500)
	for i := range e {
		p := 1 / (1 + math.Exp(-e[i].Score))
		truth := 1
		if e[i].Positive {
			truth = 0
		}
		e[i].Score = p
		rows.Add([]float64{p, 1 - p}, truth, e[i].Weight)
	}
	for _, x := range []struct {
		name      string
		got, want scored.Estimate
		factor    float64
	}{
		{"AUC", rows.AUC(), scored.AUC(e), 1},
		{"log loss", rows.LogLoss(), scored.LogLoss(e), 1},
		{"Brier", rows.Brier(), scored.Brier(e), 2},
	} {
		value, deviation := x.got.Value-x.factor*x.want.Value, x.got.Error/(x.factor*x.want.Error)-1
		if math.Abs(value) > 1e-12 || math.Abs(deviation) > 0.01 {
			t.Errorf("%s is %v, want %v times %v", x.name, x.got, x.factor, x.want)
		}
	}
}

// TestAUCOfClassesCovers counts how often the interval of the mean AUC of three classes holds it.
func TestAUCOfClassesCovers(t *testing.T) {
	r := random.New(8, "auc of classes")
	of := func(n int) scored.Estimate {
		var rows scored.Classes
		for range n {
			y := r.IntN(3)
			z := []float64{stat.Normal(r), stat.Normal(r), stat.Normal(r)}
			z[y] += 0.5 + float64(y)/2
			rows.Add(z, y, 1)
		}
		return rows.AUC()
	}
	truth, covered := of(100_000).Value, 0
	const runs = 500
	for range runs {
		if low, high := of(300).Unit(0.95); low <= truth && truth <= high {
			covered++
		}
	}
	// Three standard deviations of a count of 500 at 95 % are 15.
	if covered < 460 || covered > 490 {
		t.Errorf("%d of %d intervals hold the truth, want some 475", covered, runs)
	}
}
