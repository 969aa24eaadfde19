package dataset

import (
	"math"
	"slices"
	"strconv"

	"github.com/noregret/noregret/internal/portable"
	"github.com/noregret/noregret/internal/words"
)

// textSlots is the number of slots into which the words and pairs of words of a Text column are
// hashed.
const textSlots = 1 << 18

// wordCounts counts in how many texts each slot occurs.
type wordCounts struct {
	texts int
	count map[int]int
	seen  map[int]bool // of the current text
}

// add counts a text.
func (w *wordCounts) add(text []byte) {
	if w.count == nil {
		w.count, w.seen = map[int]int{}, map[int]bool{}
	}
	clear(w.seen)
	w.texts++
	eachTerm(text, func(hash uint64) {
		slot, _ := words.Slot(hash, textSlots)
		if !w.seen[slot] {
			w.seen[slot] = true
			w.count[slot]++
		}
	})
}

// eachTerm yields the hashes of the words and of the pairs of neighbouring words of a text.
func eachTerm(text []byte, yield func(hash uint64)) {
	last := uint64(0)
	words.Each(text, func(hash uint64) bool {
		if yield(hash); last != 0 {
			yield(words.Pair(last, hash))
		}
		last = hash
		return true
	})
}

// keep writes the counts to a column. Slots of one text are left out: they weigh as those of none.
func (w *wordCounts) keep(c *Column) {
	c.Texts = w.texts
	for slot, n := range w.count {
		if n > 1 {
			c.Slots = append(c.Slots, slot)
		}
	}
	slices.Sort(c.Slots)
	for _, slot := range c.Slots {
		c.Counts = append(c.Counts, w.count[slot])
	}
}

// wordWeights returns the weight of each slot of a Text column, its inverse document frequency
// 1 + ln((1 + texts)/(1 + count)), and the weight of those that are not listed.
func (c *Column) wordWeights() (weight map[int]float64, rare float64) {
	idf := func(count int) float64 { return 1 + portable.Log(float64(1+c.Texts)/float64(1+count)) }
	weight = make(map[int]float64, len(c.Slots))
	for i, slot := range c.Slots {
		weight[slot] = idf(c.Counts[i])
	}
	return weight, idf(min(1, c.Texts))
}

// text adds the features of a text: each word and pair with sign · (1 + ln n) · idf for n
// occurrences, all scaled to the Euclidean length 1. Features that a schema lacks are left out, as
// new texts have new words.
func (p *columnParser) text(r *result, col *csvColumn, cell []byte) error {
	p.terms = p.terms[:0]
	eachTerm(cell, func(hash uint64) { p.terms = append(p.terms, hash) })
	slices.Sort(p.terms)
	p.termSlot, p.termValue = p.termSlot[:0], p.termValue[:0]
	sum := 0.0
	for i := 0; i < len(p.terms); {
		n := i + 1
		for n < len(p.terms) && p.terms[n] == p.terms[i] {
			n++
		}
		slot, sign := words.Slot(p.terms[i], textSlots)
		weight, ok := col.weight[slot]
		if !ok {
			weight = col.rare
		}
		v := float64(sign * float64((1+portable.Log(float64(n-i)))*weight))
		sum += float64(v * v)
		// Slots ascend with hashes.
		if last := len(p.termSlot) - 1; last >= 0 && p.termSlot[last] == slot {
			sum += float64(2 * float64(p.termValue[last]*v))
			p.termValue[last] += v
		} else {
			p.termSlot, p.termValue = append(p.termSlot, slot), append(p.termValue, v)
		}
		i = n
	}
	if sum <= 0 {
		return nil
	}
	for i, slot := range p.termSlot {
		p.table.buf = strconv.AppendInt(append(p.table.buf[:0], col.prefix...), int64(slot), 10)
		f, ok, err := p.table.feature(r, p.table.buf)
		if ok && err == nil {
			r.addNumber(f, p.termValue[i]/math.Sqrt(sum))
		}
	}
	return nil
}
