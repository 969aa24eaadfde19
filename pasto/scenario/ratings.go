package scenario

import (
	"math"
	"slices"
	"strings"

	"github.com/noregret/noregret/internal/linalg"
	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/random"
)

// ratings are positive events of users with items, split 70/30.
type ratings struct {
	users, items int
	train, test  [][]int // by user, ascending items
	genre        []bool  // of items: documentary
	genreTest    []int   // by user: documentaries in the test part
	data         string
}

type event struct{ user, item int }

// loadRatings reads ml-latest-small-2015 below dir, or generates ratings of the same shape. Ratings
// of at least 3 count. Users and items with fewer than 5 of them are dropped repeatedly until all
// have 5. If users and items are above 0, ratings of that size are generated.
func loadRatings(dir string, seed uint64, users, items int) (*ratings, error) {
	if users > 0 {
		dir = ""
	} else {
		users, items = 700, 1500
	}
	genres := map[int]bool{}
	integer := func(s string) (int, error) { v, err := number(s); return int(v), err }
	found, err := readCSV(dir, "ml-latest-small-2015/movies.csv.gz", func(_ int, f []string) error {
		id, err := integer(f[0])
		if len(f) == 3 && err == nil {
			genres[id] = slices.Contains(strings.Split(f[2], "|"), "Documentary")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var events []event
	if found {
		found, err = readCSV(dir, "ml-latest-small-2015/ratings.csv.gz", func(_ int, f []string) error {
			user, err := integer(f[0])
			if err != nil {
				return err
			}
			item, err := integer(f[1])
			if err != nil {
				return err
			}
			stars, err := number(f[2])
			if stars >= 3 {
				events = append(events, event{user, item})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	data := "file"
	if !found {
		data = "generated"
		events, genres = generateRatings(users, items, seed)
	}
	r := index(core(events), genres, seed)
	r.data = data
	if r.users < foldCount || r.items <= topItems {
		return nil, usage("data", "%d users and %d items have enough ratings: want at least %d and %d", r.users,
			r.items,
			foldCount, topItems+1)
	}
	return r, nil
}

// core drops users and items with fewer than 5 events until all have at least 5.
func core(events []event) []event {
	for {
		users, items := map[int]int{}, map[int]int{}
		for _, e := range events {
			users[e.user]++
			items[e.item]++
		}
		kept := slices.DeleteFunc(slices.Clone(events), func(e event) bool {
			return users[e.user] < 5 || items[e.item] < 5
		})
		if len(kept) == len(events) {
			return kept
		}
		events = kept
	}
}

// index numbers users and items in ascending order of their names and splits each user's events at
// random.
func index(events []event, genres map[int]bool, seed uint64) *ratings {
	number := func(of func(e event) int) map[int]int {
		var names []int
		for _, e := range events {
			names = append(names, of(e))
		}
		slices.Sort(names)
		out := map[int]int{}
		for i, n := range slices.Compact(names) {
			out[n] = i
		}
		return out
	}
	users, items := number(func(e event) int { return e.user }), number(func(e event) int { return e.item })
	r := &ratings{users: len(users), items: len(items)}
	r.train, r.test = make([][]int, r.users), make([][]int, r.users)
	r.genre, r.genreTest = make([]bool, r.items), make([]int, r.users)
	for name, i := range items {
		r.genre[i] = genres[name]
	}
	all := make([][]int, r.users)
	for _, e := range events {
		all[users[e.user]] = append(all[users[e.user]], items[e.item])
	}
	rnd := random.New(seed, "ranking split")
	for u, list := range all {
		slices.Sort(list)
		list = slices.Compact(list)
		rnd.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		cut := (7*len(list) + 9) / 10
		r.train[u], r.test[u] = list[:cut], list[cut:]
		slices.Sort(r.train[u])
		slices.Sort(r.test[u])
		for _, i := range r.test[u] {
			if r.genre[i] {
				r.genreTest[u]++
			}
		}
	}
	return r
}

// generateRatings generates events that resemble the real ones: popularity falls as 1/rank, taste
// is an inner product of eight factors, and one item in twenty is a documentary, which one user in
// four likes.
func generateRatings(users, items int, seed uint64) ([]event, map[int]bool) {
	r := random.New(seed, "ranking data")
	const d = 8
	genres := map[int]bool{}
	factors := make([][d]float64, items)
	for i := range factors {
		genres[i] = i%20 == 7
		for j := range d {
			factors[i][j] = normal(r)
		}
	}
	var events []event
	for u := range users {
		var taste [d]float64
		for j := range d {
			taste[j] = normal(r)
		}
		fan := r.IntN(4) == 0
		for i := range items {
			z := -portable.Log(float64(i)/12+1) - 0.8
			for j := range d {
				z += float64(0.35 * float64(taste[j]*factors[i][j]))
			}
			if genres[i] {
				z -= 1
				if fan {
					z += 3
				}
			}
			if r.Float64() < 1/(1+portable.Exp(-z)) {
				events = append(events, event{u, i})
			}
		}
	}
	return events, genres
}

// normal is the sum of 12 uniform numbers, less 6.
func normal(r *random.Source) float64 {
	s := -6.0
	for range 12 {
		s += float64(r.Float64())
	}
	return s
}

// itemToItem is p1: Σ over the user's training items j of the cosine of j and i, shrunk by 10
// common users (item-based neighbourhood).
func (r *ratings) itemToItem() [][]float64 {
	count := make([]float64, r.items)
	together := make([]float64, r.items*r.items)
	for _, list := range r.train {
		for _, i := range list {
			count[i]++
			for _, j := range list {
				together[i*r.items+j]++
			}
		}
	}
	for i := range r.items {
		for j := range r.items {
			c := &together[i*r.items+j]
			if i == j || *c == 0 {
				*c = 0
				continue
			}
			*c = *c / math.Sqrt(float64(count[i]*count[j])) * (*c / (*c + 10))
		}
	}
	out := make([][]float64, r.users)
	for u, list := range r.train {
		out[u] = make([]float64, r.items)
		for _, j := range list {
			for i, v := range together[j*r.items : (j+1)*r.items] {
				out[u][i] += v
			}
		}
	}
	return out
}

// factorize is p2, trained for documentaries: alternating least squares for implicit events (Hu,
// Koren and Volinsky 2008) with weight 40 on a user's documentaries, 4 on their other items and 1
// on all the rest, rank d.
func (r *ratings) factorize(d, sweeps int) [][]float64 {
	rnd := random.New(1, "ranking factors")
	users, items := make([]float64, r.users*d), make([]float64, r.items*d)
	for i := range items {
		items[i] = float64(0.1 * normal(rnd))
	}
	fans := make([][]int, r.items)
	for u, list := range r.train {
		for _, i := range list {
			fans[i] = append(fans[i], u)
		}
	}
	weight := func(i int) float64 {
		if r.genre[i] {
			return 40
		}
		return 4
	}
	for range sweeps {
		leastSquares(users, items, d, r.train, func(_, i int) float64 { return weight(i) })
		leastSquares(items, users, d, fans, func(i, _ int) float64 { return weight(i) })
	}
	out := make([][]float64, r.users)
	for u := range out {
		out[u] = make([]float64, r.items)
		for i := range out[u] {
			s := 0.0
			for j := range d {
				s += float64(users[u*d+j] * items[i*d+j])
			}
			if r.genre[i] {
				s += 1 // the target is documentaries
			}
			out[u][i] = max(s, 0)
		}
	}
	return out
}

// leastSquares solves (YᵀY + Σ(w−1)yyᵀ + λI)·x = Σ w·y for each row x of dst.
func leastSquares(dst, y []float64, d int, lists [][]int, weight func(row, col int) float64) {
	gram := make([]float64, d*d)
	for i := 0; i < len(y); i += d {
		for a := range d {
			for b := range d {
				gram[a*d+b] += float64(y[i+a] * y[i+b])
			}
		}
	}
	m, v := make([]float64, d*d), make([]float64, d)
	for row, list := range lists {
		copy(m, gram)
		clear(v)
		for a := range d {
			m[a*d+a] += 2
		}
		for _, col := range list {
			w := weight(row, col)
			x := y[col*d : (col+1)*d]
			for a := range d {
				v[a] += float64(w * x[a])
				for b := range d {
					m[a*d+b] += float64(float64((w-1)*x[a]) * x[b])
				}
			}
		}
		linalg.SolveDefinite(m, v, d)
		copy(dst[row*d:(row+1)*d], v)
	}
}

// logScores writes ln p for p = score/largest, at least 1e-4: the power blend is then linear.
func (r *ratings) logScores(dst []float64, p [][]float64, u int) {
	top := slices.Max(p[u])
	for i, v := range p[u] {
		x := 1e-4
		if top > 0 {
			x = max(v/top, x)
		}
		dst[i] = portable.Log(x)
	}
}

// best returns the 20 items of highest score that are not in the training part; ties go to lower
// numbers.
func (r *ratings) best(top []int, score []float64, u int) []int {
	top = top[:0]
	train := r.train[u]
	for i, s := range score {
		if len(train) > 0 && train[0] == i {
			train = train[1:]
			continue
		}
		if len(top) == topItems && !(s > score[top[topItems-1]]) {
			continue
		}
		j := len(top)
		if j < topItems {
			top = append(top, i)
		} else {
			j--
		}
		for ; j > 0 && s > score[top[j-1]]; j-- {
			top[j] = top[j-1]
		}
		top[j] = i
	}
	return top
}

// hits returns the recall at 20 on the user's test part, for all items and for documentaries:
// hits/min(20, size), 0 if the part is empty.
func (r *ratings) hits(top []int, u int) (all, genre float64) {
	for _, i := range top {
		if _, ok := slices.BinarySearch(r.test[u], i); ok {
			all++
			if r.genre[i] {
				genre++
			}
		}
	}
	if n := min(len(r.test[u]), topItems); n > 0 {
		all /= float64(n)
	}
	if n := min(r.genreTest[u], topItems); n > 0 {
		genre /= float64(n)
	}
	return all, genre
}

// documentaries counts the documentaries in the list that are in the user's test part.
func (r *ratings) documentaries(top []int, u int) (n int) {
	for _, i := range top {
		if _, ok := slices.BinarySearch(r.test[u], i); ok && r.genre[i] {
			n++
		}
	}
	return n
}
