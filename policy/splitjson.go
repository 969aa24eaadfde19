package policy

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/strictjson"
)

// wholeText is 2^64, the share of an arm that has the whole range.
const wholeText = "18446744073709551616"

// MarshalJSON writes the shares in 2^-64ths, as decimal strings, since JSON's numbers may lose
// digits.
func (s *Split) MarshalJSON() ([]byte, error) {
	shares := make([]string, s.Len())
	for k := range shares {
		shares[k] = strconv.FormatUint(s.share[k], 10)
		if s.whole {
			shares[k] = "0"
			if k == s.last {
				shares[k] = wholeText
			}
		}
	}
	return strictjson.Encode(shares)
}

// UnmarshalJSON reads what MarshalJSON writes. It refuses shares that do not sum to 2^64.
func (s *Split) UnmarshalJSON(data []byte) error {
	var shares []string
	if err := json.Unmarshal(data, &shares); err != nil {
		return noregret.BadInputf("split", "want a list of decimal strings: %w", err)
	}
	n := Split{upper: make([]uint64, len(shares)), share: make([]uint64, len(shares)), last: -1}
	total := new(big.Int)
	var at uint64
	for k, text := range shares {
		v, ok := new(big.Int).SetString(text, 10)
		if !ok || v.Sign() < 0 || v.BitLen() > 65 {
			return noregret.BadInputf("split", "[%d] is %.30q: want a whole number of 2^-64ths", k, text)
		}
		total.Add(total, v)
		if v.Sign() > 0 {
			n.last = k
		}
		if n.share[k] = v.Uint64(); v.BitLen() > 64 { // the sum allows no more than 2^64
			n.whole, n.share[k] = true, math.MaxUint64
		}
		at += v.Uint64()
		n.upper[k] = at
	}
	if total.String() != wholeText {
		return noregret.BadInputf("split", "the shares sum to %v: want %s", total, wholeText)
	}
	*s = n
	return nil
}
