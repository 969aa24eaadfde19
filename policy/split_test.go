package policy

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/noregret/noregret/internal/random"
)

func mustSplit(t interface{ Fatal(...any) }, shares ...float64) *Split {
	s, err := NewSplit(shares)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawShares(t *rapid.T, name string, k int) []float64 {
	w := rapid.SliceOfN(rapid.Float64Range(0, 1), k, k).Draw(t, name)
	var sum float64
	for i := range w {
		if w[i] < .2 {
			w[i] = 0
		}
		sum += w[i]
	}
	if sum == 0 {
		w[len(w)-1], sum = 1, 1
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// TestSplitBounds checks the arms at both ends of every part, and that parts add up to 2^64
// exactly.
func TestSplitBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shares := drawShares(t, "shares", rapid.IntRange(1, 12).Draw(t, "arms"))
		s := mustSplit(t, shares...)
		var begin uint64
		var sum float64
		for k, p := range shares {
			if got := s.Propensity(k); math.Abs(got-p) > 0x1p-49 || (got == 0) != (p == 0) {
				t.Fatalf("arm %d of %v has propensity %v", k, shares, got)
			}
			sum += s.Propensity(k)
			if p == 0 {
				continue
			}
			end := s.upper[k] - 1
			if s.whole {
				end = math.MaxUint64
			}
			for _, h := range []uint64{begin, end, begin + (end-begin)/2} {
				if got := s.Arm(h); got != k {
					t.Fatalf("hash %d is of arm %d, want %d of %v", h, got, k, shares)
				}
			}
			if !s.whole && end-begin+1 != s.share[k] {
				t.Fatalf("arm %d has %d values, its share is %d", k, end-begin+1, s.share[k])
			}
			begin = end + 1
		}
		if begin != 0 {
			t.Fatalf("the parts end at %d, want 2^64", begin)
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Fatalf("the propensities sum to %v", sum)
		}
	})
}

func TestSplitRefuses(t *testing.T) {
	for _, shares := range [][]float64{nil, {}, {0}, {.5}, {.5, .6}, {-.1, 1.1}, {math.NaN(), 1}, {math.Inf(1), 0}} {
		if _, err := NewSplit(shares); err == nil {
			t.Errorf("%v was accepted", shares)
		}
	}
}

// TestHashIsAContract pins values of the hash that clients in other languages must reproduce.
func TestHashIsAContract(t *testing.T) {
	for _, c := range []struct {
		purpose, salt, unit string
	}{{"arm", "s", "u1"}, {"arm", "s", "u2"}, {"ar", "ms", "u1"}, {"arm", "", ""}} {
		got := Hash(c.purpose, c.salt, c.unit)
		if fmt.Sprintf("%016x", got) != contract[c.purpose+"|"+c.salt+"|"+c.unit] {
			t.Errorf("Hash(%q, %q, %q) = %016x, want %s", c.purpose, c.salt, c.unit, got,
				contract[c.purpose+"|"+c.salt+"|"+c.unit])
		}
	}
	if n := testing.AllocsPerRun(100, func() { Hash("arm", "salt", "user-12345") }); n != 0 {
		t.Errorf("Hash allocates %v times", n)
	}
}

// Made with: printf '\x00\x00\x00\x03arm\x00\x00\x00\x01s\x00\x00\x00\x02u1' | sha256sum | cut
// -c1-16
var contract = map[string]string{
	"arm|s|u1": "ec7b47b5c4722416", "arm|s|u2": "8642c553032dc112", "ar|ms|u1": "14a1e69f9106faf7",
	"arm||": "9ab940f1d07827ab",
}

// TestHashIsUniform tests with χ² that the arms are uniform and that two purposes are independent.
func TestHashIsUniform(t *testing.T) {
	const units = 40000
	s := mustSplit(t, .1, .2, .3, .4)
	var count [4]float64
	var pairs [4][4]float64
	for i := range units {
		unit := fmt.Sprint("user-", i)
		a, b := s.Arm(Hash("arm", "salt", unit)), s.Arm(Hash("other", "salt", unit))
		count[a]++
		pairs[a][b]++
	}
	var chi, both float64
	for k, n := range count {
		want := units * s.Propensity(k)
		chi += (n - want) * (n - want) / want
		for j := range count {
			want := units * s.Propensity(k) * s.Propensity(j)
			both += (pairs[k][j] - want) * (pairs[k][j] - want) / want
		}
	}
	if chi > 16.27 || both > 37.7 { // 3 and 15 degrees of freedom, p = .001
		t.Errorf("χ² = %v over arms, %v over pairs", chi, both)
	}
}

// TestMove checks that a move gives the new distribution and moves the least share of units, the
// total variation distance.
func TestMove(t *testing.T) {
	r := random.New(1, "move")
	for _, c := range [][2][]float64{
		{{.5, .5}, {.2, .8}},
		{{.25, .25, .5}, {.3, .3, .4}},
		{{1, 0}, {0, 1}},
		{{.2, .8}, {.2, .8}},
		{{0, .5, .5}, {.4, .6, 0}},
		{{1, 0, 0}, {0, .5, .5}},
		{{.5, .5, 0, 0}, {0, 0, .25, .75}}, // every unit leaves its arm: the growths sum to 2^64
	} {
		a, b := mustSplit(t, c[0]...), mustSplit(t, c[1]...)
		const units = 100000
		count := make([]float64, len(c[0]))
		moved := 0.0
		for range units {
			arm := a.Arm(r.Uint64())
			next := a.Move(b, arm, r.Uint64(), r.Uint64())
			count[next]++
			if next != arm {
				moved++
			}
		}
		var tv float64
		for k, p := range c[1] {
			tv += math.Abs(p-c[0][k]) / 2
			if math.Abs(count[k]/units-p) > 5*math.Sqrt(p*(1-p)/units) {
				t.Errorf("%v to %v: arm %d has share %v", c[0], c[1], k, count[k]/units)
			}
		}
		if math.Abs(moved/units-tv) > 5*math.Sqrt(tv*(1-tv)/units) {
			t.Errorf("%v to %v: %v of the units moved, want %v", c[0], c[1], moved/units, tv)
		}
	}
}

// scan is [Split.Move] as docs/formats/policy.md describes it, in arbitrary precision.
func scan(s, next *Split, arm int, coin, draw uint64) int {
	number := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	high := func(a uint64, b *big.Int) *big.Int { return new(big.Int).Rsh(new(big.Int).Mul(number(a), b), 64) }
	if next.share[arm] >= s.share[arm] || high(coin, number(s.share[arm])).Cmp(number(next.share[arm])) < 0 {
		return arm
	}
	total := new(big.Int)
	for k, p := range next.share {
		if p > s.share[k] {
			total.Add(total, number(p-s.share[k]))
		}
	}
	at, sum := high(draw, total), new(big.Int)
	for k, p := range next.share {
		if p > s.share[k] {
			if sum.Add(sum, number(p-s.share[k])); at.Cmp(sum) < 0 {
				return k
			}
		}
	}
	return arm
}

// TestMoveIsTheContract checks that moves are those of the document for all splits, coins and
// draws, also along a policy's chain of links.
func TestMoveIsTheContract(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 12).Draw(t, "arms")
		hash := rapid.OneOf(rapid.Uint64(),
			rapid.SampledFrom([]uint64{0, 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 63}))
		splits := []*Split{mustSplit(t, drawShares(t, "shares", k)...)}
		for i := range rapid.IntRange(1, 6).Draw(t, "links") {
			next := mustSplit(t, drawShares(t, fmt.Sprint("shares", i), k)...)
			for arm := range k {
				have := splits[len(splits)-1]
				coin, draw := hash.Draw(t, "coin"), hash.Draw(t, "draw")
				if got, want := have.Move(next, arm, coin, draw), scan(have, next, arm, coin, draw); got != want {
					t.Fatalf("from %v to %v: arm %d with coin %d and draw %d goes to %d, want %d", have.share,
						next.share, arm, coin, draw, got, want)
				}
			}
			splits = append(splits, next)
		}
		p := policyOf(t, 0, splits...)
		for i := range 50 {
			u := p.Unit(fmt.Sprint(i))
			arm := splits[0].Arm(draw(u, p.armKey))
			for i, s := range splits[1:] {
				v := fmt.Sprint(i + 2)
				arm = scan(splits[i], s, arm, draw(u, Hash("coin/"+v, p.Salt, "")),
					draw(u, Hash("move/"+v, p.Salt, "")))
			}
			if d := p.DecideHash(u); d.Arm != arm {
				t.Fatalf("unit %d has arm %d, want %d", i, d.Arm, arm)
			}
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	b.Run("arm", func(b *testing.B) {
		s := mustSplit(b, .1, .2, .3, .4)
		b.ReportAllocs()
		for b.Loop() {
			_ = s.Arm(Hash("arm", "salt", "user-12345"))
		}
	})
	b.Run("arms=97,links=340", func(b *testing.B) {
		r := random.New(1, "links")
		var splits []*Split
		for range 340 {
			p, sum := make([]float64, 97), 0.0
			for k := range p {
				p[k] = .1 + r.Float64()
				sum += p[k]
			}
			for k := range p {
				p[k] /= sum
			}
			splits = append(splits, mustSplit(b, p...))
		}
		p := policyOf(b, .01, splits...)
		units := make([]string, 1000)
		for i := range units {
			units[i] = fmt.Sprint("user-", i)
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			p.Decide(units[i%len(units)])
			i++
		}
	})
}
