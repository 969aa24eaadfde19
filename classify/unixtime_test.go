package classify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/noregret/noregret/classify"
	"github.com/noregret/noregret/classify/measure"
	"github.com/noregret/noregret/dataset"
)

// A column of Unix times trains as well as one that counts from its first value: the same F1, and
// far more than a class decided by rounded seconds could have.
func TestUnixTimesTrainAsCenteredOnes(t *testing.T) {
	const first = 1_700_000_000
	rng := rand.New(rand.NewPCG(3, 4))
	var unix, centered strings.Builder
	for i := range 2000 {
		second, label := rng.IntN(60), "no"
		if i == 0 {
			second = 0
		}
		if second >= 50 != (rng.IntN(20) == 0) {
			label = "yes"
		}
		fmt.Fprintf(&unix, "%d,%s\n", first+second, label)
		fmt.Fprintf(&centered, "%d,%s\n", second, label)
	}
	var f1 []float64
	for _, text := range []string{unix.String(), centered.String()} {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte("t,y\n"+text), 0o666); err != nil {
			t.Fatal(err)
		}
		set, err := dataset.Load(context.Background(), []string{path}, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = set.Close() }() // only read
		class, err := set.Info().Positive("yes")
		if err != nil {
			t.Fatal(err)
		}
		data := classify.Data{Set: set, Positive: class}
		r, err := classify.Fit(context.Background(), data, classify.Options{
			Measure: measure.FBeta{B: 1}, Algorithm: "logistic",
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := classify.Evaluate(context.Background(), data, r.Classifier())
		if err != nil {
			t.Fatal(err)
		}
		f1 = append(f1, c.Value(measure.FBeta{B: 1}))
	}
	if f1[0] != f1[1] || f1[0] < .7 {
		t.Errorf("F1 %v with Unix times, %v with times from the first one", f1[0], f1[1])
	}
}
