package dataset

import (
	"slices"
	"strings"

	"github.com/noregret/noregret"
)

// LabelList splits the label of a row of multi-label data: a list of labels separated by commas,
// such as "1,3" in svmlight or "news,sports" in a CSV cell. Blanks around a label do not count, and
// numbers are renamed as in [Label]: "1.0" is the label 1. An empty list has no labels. A label
// that is empty, not finite or listed twice is a [noregret.BadInput] error.
func LabelList(name string) ([]string, error) {
	if strings.TrimSpace(name) == "" {
		return nil, nil
	}
	var list []string
	seen := map[string]bool{}
	for tok := range strings.SplitSeq(name, ",") {
		l, err := canonicalLabel([]byte(strings.TrimSpace(tok)))
		if err != nil {
			return nil, noregret.BadInputf("", "label list %s: %w", quote([]byte(name)), err)
		}
		if seen[l] {
			return nil, noregret.BadInputf("", "label list %s: the label %s is listed twice", quote([]byte(name)),
				quote([]byte(l)))
		}
		seen[l] = true
		list = append(list, l)
	}
	return list, nil
}

// usualLabels are the names of a label that need not be named, the more telling first.
var usualLabels = []string{"label", "target", "class", "y"}

// usualLabel returns the name of the label where none is said: of the names of columns or keys the
// one that is the first of usualLabels, as it is there or else in any case of letters, or else the
// second, and so on; "" if none is one.
func usualLabel(names []string) string {
	for _, usual := range usualLabels {
		if slices.Contains(names, usual) {
			return usual
		}
		for _, name := range names {
			if strings.EqualFold(name, usual) {
				return name
			}
		}
	}
	return ""
}

// listNames lists names for an error, at most 20 of them.
func listNames(names []string) string {
	const most = 20
	if len(names) > most {
		names = append(slices.Clone(names[:most]), "...")
	}
	return strings.Join(names, ", ")
}
