package scenario

import (
	"github.com/noregret/noregret"
)

// measure trains the two scores and calls each for every user and blend α. Found and wanted are the
// numbers of documentaries in the list and in the user's test part; all and genre are the recall at
// 20 of all items and of documentaries.
func (r *ratings) measure(settings []float64, each func(u, a, found, wanted int, all, genre float64)) {
	p1 := r.itemToItem()
	p2 := r.factorize(16, 8)
	logs1, logs2, score := make([]float64, r.items), make([]float64, r.items), make([]float64, r.items)
	top := make([]int, 0, topItems)
	for u := range r.users {
		r.logScores(logs1, p1, u)
		r.logScores(logs2, p2, u)
		for a, alpha := range settings {
			blend(score, alpha, logs1, logs2)
			top = r.best(top, score, u)
			all, genre := r.hits(top, u)
			each(u, a, r.documentaries(top, u), r.genreTest[u], all, genre)
		}
	}
}

// blend writes ln s = α·ln p1 + (1−α)·ln p2.
func blend(dst []float64, alpha float64, logs1, logs2 []float64) {
	for i := range dst {
		dst[i] = float64(alpha*logs1[i]) + float64((1-alpha)*logs2[i])
	}
}

// Lists is the ranking scenario for one user at a time: the quality of a list of 20 items ranked by
// the blend s = p1^α·p2^(1−α) of two scores, for generated users. It is immutable and safe for
// concurrent use.
type Lists struct {
	users, items int
	settings     []float64
	shown        []Shown // user by setting
	means        []Shown
}

// Shown describes a list shown to a user. Recall is the share of the items the user likes that are
// in the list. Found is the number of documentaries the user likes in the list, Wanted their number
// in all. In [Lists.Mean] all three are means over users.
type Shown struct {
	Recall, Found, Wanted float64
}

// NewLists generates users and items from a seed, as scenario ranking does without the real
// ratings, trains the scores, and measures every user at every α of settings, each in [0, 1]. Users
// and items with fewer than five events are dropped. It takes about users·items·(settings + 50)
// steps.
func NewLists(users, items int, settings []float64, seed uint64) (*Lists, error) {
	switch {
	case users < 50 || users > 100_000:
		return nil, noregret.Errorf(noregret.Usage, "users", "%d: want 50 to 100,000", users)
	case items < 100 || items > 10_000:
		return nil, noregret.Errorf(noregret.Usage, "items", "%d: want 100 to 10,000", items)
	}
	for _, a := range settings {
		if !(a >= 0 && a <= 1) {
			return nil, noregret.Errorf(noregret.Usage, "settings", "%v: want values in [0, 1]", a)
		}
	}
	events, genres := generateRatings(users, items, seed)
	r := index(core(events), genres, seed)
	if r.users == 0 || r.items <= topItems {
		return nil, noregret.Errorf(noregret.Usage, "users",
			"only %d users and %d items have five events: want more users and items", r.users, r.items)
	}
	l := &Lists{
		users: r.users, items: r.items, settings: settings, shown: make([]Shown, r.users*len(settings)),
		means: make([]Shown, len(settings)),
	}
	r.measure(settings, func(u, a, found, wanted int, all, _ float64) {
		l.shown[u*len(settings)+a] = Shown{all, float64(found), float64(wanted)}
		l.means[a].Recall += all
		l.means[a].Found += float64(found)
		l.means[a].Wanted += float64(wanted)
	})
	n := float64(r.users)
	for a := range l.means {
		l.means[a] = Shown{l.means[a].Recall / n, l.means[a].Found / n, l.means[a].Wanted / n}
	}
	return l, nil
}

// Users is the number of users.
func (l *Lists) Users() int { return l.users }

// Items is the number of items.
func (l *Lists) Items() int { return l.items }

// Show describes the list for a user at a setting, given by its index.
func (l *Lists) Show(user, setting int) Shown { return l.shown[user*len(l.settings)+setting] }

// Mean is the exact mean over all users at a setting, given by its index.
func (l *Lists) Mean(setting int) Shown { return l.means[setting] }
