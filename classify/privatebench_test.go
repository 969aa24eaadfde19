package classify

import (
	"fmt"
	"math"
	"testing"

	"github.com/noregret/noregret/dataset"
	"github.com/noregret/noregret/dataset/synth"
	"github.com/noregret/noregret/dp"
	"github.com/noregret/noregret/private"
)

// privateStudy trains on n records of g1 and returns the G-mean and the mean loss on 10,000 others.
// The noise is fast and from a seed; epsilon 0 is the same learner without noise.
func privateStudy(epsilon float64, n int, seed uint64, change func(o *PrivateOptions),
) (gmean, loss float64, err error) {
	o := PrivateOptions{
		Epsilon: epsilon, Delta: 1e-5, Horizon: int64(n), Negative: "-1", Positive: "1", PositiveWeight: 19,
		Schema: &dataset.Schema{Format: dataset.SVMLight, Base: dataset.BaseOne, Dim: 10},
		Random: []dp.Option{dp.WithInsecureFastNoiseForTesting(seed)},
	}
	if epsilon == 0 {
		o.Epsilon = 1
	}
	change(&o)
	t, err := NewPrivateTrainer(o)
	if err != nil {
		return 0, 0, err
	}
	if epsilon == 0 {
		p, err := t.options.problem()
		if err != nil {
			return 0, 0, err
		}
		p.Clip = t.row.Clip
		if t.learner, err = private.NewNonPrivateTOFW(p); err != nil {
			return 0, 0, err
		}
	}
	g, err := synth.New(synth.G1, seed)
	if err != nil {
		return 0, 0, err
	}
	x, index, value := make([]float64, g.Dim()), make([]uint32, g.Dim()), make([]float32, g.Dim())
	next := func() (y float64) {
		y = -1
		if g.Next(x) {
			y = 1
		}
		for j, v := range x {
			index[j], value[j] = uint32(j), float32(v)
		}
		return y
	}
	for range n {
		if err := t.Add(index, value, next()); err != nil {
			return 0, 0, err
		}
	}
	right, all, psi := [2]float64{}, [2]float64{}, t.options.loss()
	for range 10_000 {
		y := next()
		t.fill(index, value)
		if _, err := dp.ClipNorm(t.x, t.options.Norm/(t.options.Norm-1), t.options.Features); err != nil {
			return 0, 0, err
		}
		z := 0.0
		for j, w := range t.learner.Theta() {
			z += float64(w * t.x[j])
		}
		class := 0
		if y > 0 {
			class = 1
		}
		all[class]++
		if (z > 0) == (y > 0) {
			right[class]++
		}
		loss += psi.Value(z, y) / 10_000
	}
	return math.Sqrt(right[0] / all[0] * right[1] / all[1]), loss, nil
}

// BenchmarkPrivateTraining prints the table of docs/privacy-learners.md.
func BenchmarkPrivateTraining(b *testing.B) {
	const runs = 5
	for range b.N {
		for _, c := range []struct {
			name   string
			n      int
			change func(o *PrivateOptions)
		}{
			{"logistic", 5000, func(*PrivateOptions) {}},
			{"logistic", 20000, func(*PrivateOptions) {}},
			{"logistic, honaker", 100000, func(*PrivateOptions) {}},
			{"squared", 5000, func(o *PrivateOptions) { o.Loss = "squared" }},
			{"squared", 20000, func(o *PrivateOptions) { o.Loss = "squared" }},
		} {
			fmt.Printf("| %s | %d |", c.name, c.n)
			for _, epsilon := range []float64{0.5, 1, 3, 10, 0} {
				var gmeans, losses [runs]float64
				for run := range runs {
					var err error
					if gmeans[run], losses[run], err = privateStudy(epsilon, c.n, uint64(run+1), c.change); err != nil {
						b.Fatal(err)
					}
				}
				mean, sd := meanAndSD(gmeans[:])
				loss, _ := meanAndSD(losses[:])
				fmt.Printf(" %.3f ± %.3f (%.4f) |", mean, sd, loss)
			}
			fmt.Println()
		}
	}
}

func meanAndSD(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += float64((v - mean) * (v - mean))
	}
	return mean, math.Sqrt(sd / float64(len(values)-1))
}

// A private model of common positives is nearly as good as one without noise at epsilon 3.
func TestPrivateLearns(t *testing.T) {
	for _, loss := range []string{"logistic", "squared"} {
		change := func(o *PrivateOptions) { o.Loss, o.Noise = loss, "honaker" }
		noisy, _, err := privateStudy(10, 5000, 1, change)
		if err != nil {
			t.Fatal(err)
		}
		exact, _, err := privateStudy(0, 5000, 1, change)
		if err != nil || exact < 0.75 || noisy < exact-0.08 {
			t.Errorf("%s: G-mean %.3f, without noise %.3f, %v", loss, noisy, exact, err)
		}
	}
}
