package dataset

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/named"
)

// jsonPlanner finds the keys of JSON lines whose values are read in a way of their own: numbers and
// dates in strings, numbers that must be centered, and categories that are named. The first file
// determines them unless a schema does.
type jsonPlanner struct {
	csvPlanner
	planned  bool
	counting map[string]bool // of the plan
}

// jsonGuess is the guess of one key.
type jsonGuess struct {
	key    string
	number bool    // the first value that is not null is a JSON number
	null   bool    // all values so far are null
	counts int     // the rows that its numbers count, or notCounting
	first  float64 // the first of these numbers, 0 or 1
	guess  guess
}

const notCounting = -1

// count follows numbers that count the rows from 0 or 1. Of all rows a census tells it; only the
// keys that it may be true of have one.
func (g *jsonGuess) count(text []byte, isNumber bool) {
	v, ok := number(text)
	switch {
	case !ok || !isNumber || g.counts == notCounting:
		g.counts = notCounting
	case g.counts == 0 && (v == 0 || v == 1):
		g.first, g.counts = v, 1
	case g.counts > 0 && v == g.first+float64(g.counts):
		g.counts++
	default:
		g.counts = notCounting
	}
}

// plan determines the keys from the first rows of a file, which head is all of unless partial is
// set. A key may be null or absent in any of them.
func (p *jsonPlanner) plan(file string, head []byte, partial bool) (*csvPlan, error) {
	if p.planned {
		return p.keyPlan(), nil
	}
	if partial && bytes.Count(head, []byte("\n")) < lookRows {
		return nil, errPlanLater // before any row is looked at: this is asked again for every piece
	}
	if err := p.findLabel(file, head, partial); err != nil {
		return nil, err
	}
	var guesses []jsonGuess
	placeOf := map[string]int{}
	texts := map[string]*wordCounts{}
	for _, key := range p.opt.TextColumns {
		texts[key] = new(wordCounts)
	}
	look := func(key, text []byte, number bool) {
		if slices.Contains(p.opt.Categorical, string(key)) || texts[string(key)] != nil {
			return
		}
		i, seen := placeOf[string(key)]
		if !seen {
			if len(guesses) == maxLooked {
				return
			}
			i = len(guesses)
			placeOf[string(key)] = i
			one := jsonGuess{key: string(key), null: true}
			one.guess.center = slices.Contains(p.opt.CenterColumns, one.key)
			one.guess.gaps = p.opt.Missing == MissingIndicator
			guesses = append(guesses, one)
		}
		if text != nil && guesses[i].null {
			guesses[i].null, guesses[i].number = false, number
		}
		guesses[i].count(text, number)
		if number && p.opt.missingNumber(text) {
			guesses[i].guess.missing = true
			return
		}
		if number {
			guesses[i].guess.number(text)
		} else {
			guesses[i].guess.see(text, p.opt, false)
		}
	}
	opt := *p.opt
	opt.only, opt.Bits = nil, 1 // no dictionary is needed
	parser := newJSONParser(&opt, nil)
	parser.look = look
	rows := 0
	for rest := head; rows < lookRows; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if !ended && partial {
			return nil, errPlanLater
		}
		if len(bytes.TrimSpace(line)) > 0 && utf8.Valid(line) {
			var r result
			parser.cur++
			_ = parser.line(&r, line) // parsing reports the bad lines
			rows++
		}
		if rest = after; !ended {
			break
		}
	}
	for _, g := range guesses {
		if g.guess.isText() {
			texts[g.key] = new(wordCounts)
		}
	}
	if len(texts) > 0 && partial {
		return nil, errPlanLater
	}
	if len(texts) > 0 {
		parser.look = func(key, text []byte, _ bool) {
			if w := texts[string(key)]; w != nil && text != nil {
				w.add(text)
			}
		}
		for line := range bytes.Lines(head) {
			if bytes.HasSuffix(line, []byte("\n")) && utf8.Valid(line) {
				var r result
				parser.cur++
				_ = parser.line(&r, line)
			}
		}
	}
	if err := p.choose(file, guesses, texts); err != nil {
		return nil, err
	}
	for _, g := range guesses {
		if g.counts == rows {
			if p.counting == nil {
				p.counting = map[string]bool{}
			}
			p.counting[g.key] = true
		}
	}
	return p.keyPlan(), nil
}

// maxLooked bounds the number of keys that are looked at.
const maxLooked = 1000

// choose sets the columns by what was seen.
func (p *jsonPlanner) choose(file string, guesses []jsonGuess, texts map[string]*wordCounts) error {
	var all []guess
	for _, g := range guesses {
		if !g.guess.plain { // a JSON number says nothing about the marks of strings
			all = append(all, g.guess)
		}
	}
	other := othersOf(all)
	columns := []Column{}
	p.named = map[string]bool{}
	for _, key := range p.opt.Categorical {
		columns = append(columns, Column{Name: key, Kind: Categorical})
		p.named[key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		c := Column{Name: key, Kind: Text}
		texts[key].keep(&c)
		columns = append(columns, c)
	}
	for _, c := range columns {
		if slices.Contains(p.opt.CenterColumns, c.Name) {
			return noregret.BadInputf(file, "%w", notCentered(&c))
		}
	}
	for _, key := range p.opt.CenterColumns {
		if !slices.ContainsFunc(guesses, func(g jsonGuess) bool { return g.key == key && g.guess.kind != "" }) {
			return noregret.BadInputf(file, "no number in the first %d rows has the key %q (--center): %stheir keys "+
				"are %s", lookRows, key, named.DidYouMean(key, p.opt.keys), listNames(p.opt.keys))
		}
	}
	for _, g := range guesses {
		if texts[g.key] != nil {
			continue
		}
		c := Column{Name: g.key}
		if err := g.guess.apply(&c, p.opt, other); err != nil {
			return noregret.BadInputf(file, "%w", err)
		}
		if g.guess.center && c.Kind != Numeric {
			return noregret.BadInputf(file, "%w", notCentered(&c))
		}
		if g.guess.kind != "" && c.Kind != Categorical && (!g.number || c.Center != 0 || c.Kind == Date) {
			columns = append(columns, c)
		}
	}
	if err := checkColumns(columns, p.opt.Missing); err != nil {
		return noregret.BadInputf(file, "%w", err)
	}
	p.setColumns(columns, false, nil)
	p.planned = true
	return nil
}

// keyPlan returns the plan of every file.
func (p *jsonPlanner) keyPlan() *csvPlan {
	plan := p.planOf(p.columns)
	plan.counting = p.counting
	if len(plan.columns) > 0 {
		plan.keys = map[string]*csvColumn{}
		for i := range plan.columns {
			plan.keys[plan.columns[i].name] = &plan.columns[i]
		}
	}
	return plan
}
