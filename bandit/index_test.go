package bandit

import (
	"math"
	"testing"

	"github.com/noregret/noregret/internal/random"
	"github.com/noregret/noregret/internal/testsize"
)

// With many arms the arm drawn has the lowest index, as a scan of all finds it up to rounding, and
// is the first of those with the same losses. A hundred arms soon have many different numbers of
// losses, a thousand have few.
func TestManyArms(t *testing.T) {
	testsize.NoRace(t)
	for seed := range uint64(6) {
		for _, p := range []*Player{
			made(NewPlayer(100, AlphaUCB{Alpha: 3, Sigma: .5})), made(NewPlayer(100, KLUCB{C: 3, Limit: 1})),
			made(NewPlayer(1000, AlphaUCB{Alpha: 3, Sigma: .05})), made(NewPlayer(300, KLUCB{Limit: 1})),
		} {
			r := random.New(seed, "many arms")
			for round := range 2000 {
				least := math.Inf(1)
				for k := range p.Arms() {
					least = min(least, p.Index(k))
				}
				arm := p.Draw(nil)
				if v := p.Index(arm); v > least+1e-15 {
					t.Fatalf("%v: arm %d of index %v in round %d, the lowest is %v", p, arm, v, round, least)
				}
				for k := range arm {
					if p.Pulls(k) == p.Pulls(arm) && p.Mean(k) == p.Mean(arm) {
						t.Fatalf("%v: arm %d in round %d, but arm %d is like it", p, arm, round, k)
					}
				}
				loss := float64(r.IntN(2)) // with many ties
				if seed%2 == 0 {
					loss = r.Float64() * (.5 + .5*float64(arm%10)/10)
				}
				if err := p.Update(arm, loss); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// The root of every group is the first arm of the lowest mean, whichever arms have losses.
func TestPeers(t *testing.T) {
	for seed := range uint64(20) {
		u, r := made(NewPlayer(80, AlphaUCB{Alpha: 3, Sigma: .5})), random.New(seed, "peers")
		for k := range 80 {
			u.s.Pulls[k], u.s.Means[k] = 1+r.IntN(3), float64(r.IntN(4))
		}
		h := &u.plan.method.(*indices).peers
		h.build(&u.s)
		for round := range 1000 {
			k := r.IntN(80)
			if round%3 == 0 {
				k = int(h.group[h.of[k]].root)
			}
			u.s.Pulls[k]++
			u.s.Means[k] = float64(r.IntN(4))
			h.move(k, u.s.Pulls[k])
			want := map[int]int{} // the root of each number of losses
			for i, n := range u.s.Pulls {
				if j, ok := want[n]; !ok || u.s.Means[i] < u.s.Means[j] {
					want[n] = i
				}
			}
			groups, last := 0, 0
			for g := h.first; g != nobody; g = h.group[g].next {
				n := h.group[g].pulls
				if root := int(h.group[g].root); n <= last || root != want[n] {
					t.Fatalf("seed %d, round %d: arm %d leads those with %d losses, want %d", seed, round, root, n,
						want[n])
				}
				groups, last = groups+1, n
			}
			if groups != len(want) || groups != h.groups {
				t.Fatalf("seed %d, round %d: %d groups, %d counted, want %d", seed, round, groups, h.groups, len(want))
			}
		}
	}
}
