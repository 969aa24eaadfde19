package dataset

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/noregret/noregret"
)

// Share is a share of the rows of a set, for training on several machines: the rows whose number,
// counted from 1, is Number modulo Of. So 1/3 has the rows 1, 4, 7 and so on, and 3/3, which is
// also 0/3, has the rows 3, 6, 9. The shares 1/N to N/N have every row once. The zero value is the
// whole set, as 1/1 is.
type Share struct {
	// Number is at least 0 and at most Of.
	Number int
	// Of is the number of shares, at least 1, or 0 in the zero value.
	Of int
}

// maxShares bounds the number of shares.
const maxShares = 1 << 20

// ParseShare reads "k/N". A text of another form, or with numbers out of range, is an error of code
// usage without a place.
func ParseShare(text string) (Share, error) {
	k, n, found := strings.Cut(text, "/")
	number, err := strconv.Atoi(k)
	of, err2 := strconv.Atoi(n)
	if s := (Share{number, of}); found && err == nil && err2 == nil && s.ok() && of > 0 {
		return s, nil
	}
	return Share{}, noregret.Errorf(noregret.Usage, "",
		"%q: want K/N with N from 1 to %d and K from 0 to N", text, maxShares)
}

// String returns "k/N".
func (s Share) String() string { return fmt.Sprintf("%d/%d", s.Number, max(1, s.Of)) }

func (s Share) ok() bool {
	return s.Of >= 0 && s.Of <= maxShares && s.Number >= 0 && s.Number <= max(1, s.Of)
}

// Overlaps reports whether a row may be in both shares.
func (s Share) Overlaps(other Share) bool {
	a, b := max(1, s.Of), max(1, other.Of)
	for b > 0 {
		a, b = b, a%b
	}
	return s.Number%a == other.Number%a
}

// MissingShares returns the shares of the rows that are in none of the given ones, which do not
// overlap: K/N with the largest N of them, or more where these do not divide one another. It
// returns nothing where that would be more than 2^20 shares.
func MissingShares(given []Share) []Share {
	n := 1
	for _, s := range given {
		a, b := n, max(1, s.Of)
		for b > 0 {
			a, b = b, a%b
		}
		if n = n / a * max(1, s.Of); n > maxShares {
			return nil
		}
	}
	there := make([]bool, n)
	for _, s := range given {
		of := max(1, s.Of)
		for k := s.Number % of; k < n; k += of {
			there[k] = true
		}
	}
	var out []Share
	for k := 1; k <= n; k++ {
		if !there[k%n] {
			out = append(out, Share{k, n})
		}
	}
	return out
}

// has reports whether the row of a number, from 0, is in the share.
func (s Share) has(row int64) bool {
	return s.Of <= 1 || (row+1)%int64(s.Of) == int64(s.Number%s.Of)
}

// checkShare returns an error for a share that does not exist, or one that a cache would be made
// of: the digest of a cache is that of all rows.
func (opt *Options) checkShare() error {
	switch {
	case !opt.Share.ok():
		return noregret.Errorf(noregret.Usage, "", "share %d of %d: the number must be 0 to the number of shares",
			opt.Share.Number, opt.Share.Of)
	case opt.Share.Of > 1 && opt.CachePath != "":
		return noregret.Errorf(noregret.Usage, "",
			"cache path %q and share %v exclude each other: a cache has all rows", opt.CachePath, opt.Share)
	}
	return nil
}

// sharer takes the rows of a share from the blocks of a stream, and counts them.
type sharer struct {
	share  Share
	counts Info // of the rows taken; only the counts are set
	taken  Block
	rows   int64 // seen so far
}

// take returns the rows of b that are in the share. labels is the number of labels so far. The
// result is valid until the next call.
func (s *sharer) take(b *Block, labels int) *Block {
	for len(s.counts.Labels) < labels {
		s.counts.Labels = append(s.counts.Labels, Label{})
	}
	s.taken.Reset()
	for i := range b.Len() {
		if s.share.has(s.rows + int64(i)) {
			s.taken.appendRows(b, i, i+1)
		}
	}
	s.rows += int64(b.Len())
	s.counts.count(&s.taken)
	return &s.taken
}

// info returns the summary of all rows with the counts of those taken.
func (s *sharer) info(all Info) Info {
	out := all.withoutCounts()
	c := &s.counts
	out.Rows, out.NonZeros, out.NoLabel, out.Weight, out.Weighted = c.Rows, c.NonZeros, c.NoLabel, c.Weight, c.Weighted
	for k, l := range c.Labels {
		out.Labels[k].Rows, out.Labels[k].Weight = l.Rows, l.Weight
	}
	return out
}

// Part returns the view of the rows of a share: what Load keeps with Options.Share. One pass, n/8
// bytes.
func (s *Set) Part(share Share) (*Set, error) {
	if !share.ok() {
		return nil, noregret.Errorf(noregret.Usage, "", "share %d of %d: the number must be 0 to the number of shares",
			share.Number, share.Of)
	}
	keep := newBits(s.info.Rows)
	for i := range s.info.Rows {
		if share.has(i) {
			keep.Set(i)
		}
	}
	return s.Select(keep)
}
