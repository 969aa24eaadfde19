package confseq

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// The wealth is the product of the bets, with the bets that the formulas of the comment give.
func TestBettingByHand(t *testing.T) {
	b := Betting{Rows: 100}
	xs, least, v := []float64{1, 0.25, 3, -0.5, 0.25}, []float64{0, 0, 0.5, 0.5, 0}, 0.4
	want, sum, squares := 0.0, 0.0, 0.0
	up := func(x float64) float64 { // to a power of 2^(1/4)
		return math.Exp2(math.Ceil(4*math.Log2(x)-1e-9) / 4)
	}
	for i, x := range xs {
		n, c := float64(i), least[i]
		mean := (sum + 0.5) / (n + 1)
		bet := min(math.Sqrt(2*math.Log(40)/(100*(squares+0.25)/(n+1))), 0.75/(mean+c))
		l := up(bet / (1 - bet*(mean+c)))
		want += math.Log((1 + l*(x+c)) / (1 + l*(v+c)))
		b.Add(x, c)
		sum += x
		squares = 0
		for _, y := range xs[:i+1] {
			squares += (y - sum/(n+1)) * (y - sum/(n+1))
		}
	}
	if got := b.LogWealth(v); math.Abs(got-want) > 1e-9 {
		t.Errorf("the logarithm of the wealth is %v, want %v", got, want)
	}
	if b.N() != 5 {
		t.Errorf("%d observations", b.N())
	}
}

// The wealth falls with the mean that is bet against, its expectation over the next observation is
// at most what it was, and Low is where it is 1/alpha.
func TestBettingIsASupermartingale(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rows := rapid.Int64Range(0, 500).Draw(r, "rows")
		points := rapid.SliceOfN(rapid.Float64Range(0, 5), 2, 4).Draw(r, "values")
		floor := rapid.SampledFrom([]float64{0, 0.3, 2}).Draw(r, "floor")
		mean := 0.0
		for i := range points {
			points[i] -= floor
			mean += points[i] / float64(len(points))
		}
		before := Betting{Rows: rows}
		for range rapid.IntRange(0, 60).Draw(r, "n") {
			before.Add(points[rapid.IntRange(0, len(points)-1).Draw(r, "x")], floor)
		}
		v := max(mean, 0)
		next := 0.0
		for _, x := range points {
			after := before
			after.books = slices.Clone(before.books)
			for i := range after.books {
				after.books[i].stakes = slices.Clone(after.books[i].stakes)
			}
			after.Add(x, floor)
			next += math.Exp(after.LogWealth(v)-before.LogWealth(v)) / float64(len(points))
		}
		if next > 1+1e-9 {
			r.Errorf("the wealth grows by the factor %v", next)
		}
		if before.LogWealth(v) < before.LogWealth(v+0.1) {
			r.Errorf("the wealth grows with the mean")
		}
		low := before.Low(0.05, 10)
		if w := before.LogWealth(low); low > 0 && low < 10 && math.Abs(w-math.Log(20)) > 1e-6 {
			r.Errorf("Low is %v, where the logarithm of the wealth is %v", low, w)
		}
	})
}

// The bounds miss the mean in at most a share alpha of the runs: at one number of observations, and
// ever; and of a coin they are about as wide as they can be.
func TestBettingCoverage(t *testing.T) {
	testsize.NoRace(t)
	const alpha, n = 0.1, 400
	runs := testsize.Of(2000, 300)
	for _, c := range []struct {
		name string
		draw func(r *random.Source) float64
		mean float64
	}{
		{"coin", func(r *random.Source) float64 { return math.Floor(r.Float64() + 0.3) }, 0.3},
		{"rare", func(r *random.Source) float64 { return math.Floor(r.Float64() + 0.01) }, 0.01},
		{"heavy", func(r *random.Source) float64 { return 20 * math.Floor(r.Float64()+0.02) }, 0.4},
		{"uniform", func(r *random.Source) float64 { return r.Float64() }, 0.5},
		{"constant", func(*random.Source) float64 { return 0.7 }, 0.7},
	} {
		one, ever, width := 0, 0, 0.0
		for run := range runs {
			r := random.New(uint64(run), "betting "+c.name)
			fixed, always, missed := Betting{Rows: n}, Betting{}, false
			for range n {
				x := c.draw(r)
				fixed.Add(x, 0)
				always.Add(x, 0)
				missed = missed || always.LogWealth(c.mean) >= -math.Log(alpha)
			}
			low := fixed.Low(alpha, 1)
			width += (c.mean - low) / float64(runs)
			if low > c.mean {
				one++
			}
			if missed {
				ever++
			}
		}
		most := int(alpha*float64(runs) + 3*math.Sqrt(alpha*float64(runs)))
		t.Logf("%s: %d and %d of %d runs miss; mean distance %.4f", c.name, one, ever, runs, width)
		if one > most || ever > most {
			t.Errorf("%s: %d and %d of %d runs miss, want at most %d", c.name, one, ever, runs, most)
		}
		if c.name == "coin" {
			// The bettors for all numbers lose little against one that knows the number.
			r := random.New(1, "betting for long")
			var always Betting
			for range 20_000 {
				always.Add(c.draw(r), 0)
			}
			if normal := 1.2816 * math.Sqrt(0.21/20_000); c.mean-always.Low(alpha, 1) > 4*normal {
				t.Errorf("after 20,000 observations the bound is %v, %v from the mean", always.Low(alpha, 1), normal)
			}
		}
		if normal := 1.2816 * math.Sqrt(0.21/n); c.name == "coin" && width > 1.9*normal {
			t.Errorf("the distance is %v, want at most 1.9 of the normal %v", width, normal)
		}
	}
}
